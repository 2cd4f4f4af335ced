//! When an epoch is settled, and who is missing until then.

use super::{Ledger, REMEMBERED};
use crate::epoch::{Opening, Rule};
use crate::ids::Epoch;
use crate::window::Window;
use aurora_net::Rank;

impl Ledger {
    /// Settles an epoch to which nothing is missing; returns its rule.
    pub(crate) fn try_settle(&mut self) -> Option<(Epoch, Rule)> {
        let epoch = self.unsettled(self.epoch).find(|epoch| self.is_ripe(*epoch))?;
        let mine = self.records[&epoch].mine.clone().expect("it is ripe");
        let rule = mine.rule;
        if rule == Rule::Neighbours {
            self.without_some.push_back((epoch, mine));
            if self.without_some.len() > REMEMBERED {
                self.without_some.pop_front();
            }
        }
        self.set_settled(epoch);
        Some((epoch, rule))
    }

    /// Whether an epoch can be settled now.
    fn is_ripe(&self, epoch: Epoch) -> bool {
        let Some(record) = self.records.get(&epoch) else {
            return false;
        };
        let Some(mine) = record.mine.as_ref().filter(|_| record.mine_complete) else {
            return false;
        };
        let holds_up = |other: &Opening| other.window.overlaps(mine.window) || mine.is_load() && other.is_load();
        let behind = self.unsettled(epoch - 1).any(|earlier| self.opening(earlier).is_none_or(holds_up));
        !behind && self.missing(epoch).next().is_none()
    }

    /// Notes that an epoch is settled.
    pub(crate) fn set_settled(&mut self, epoch: Epoch) {
        self.early.insert(epoch);
        self.settled = self.early.take_up_to(self.settled);
    }

    /// Whether an epoch is settled.
    pub(crate) fn is_settled(&self, epoch: Epoch) -> bool {
        epoch <= self.settled || self.early.contains(epoch)
    }

    /// The epochs up to this one that are not settled, in their order.
    fn unsettled(&self, upto: Epoch) -> impl Iterator<Item = Epoch> + '_ {
        self.early.lacking(self.settled + 1, upto)
    }

    /// How many scopes that this rank is through with are not settled, but for those that all who are awaited are known
    /// to have open: they may want this rank to go on before they end them.
    pub(crate) fn ahead(&self) -> usize {
        self.left_behind().count()
    }

    /// These scopes.
    fn left_behind(&self) -> impl Iterator<Item = Epoch> + '_ {
        let counts = |epoch: &Epoch| self.awaited(*epoch).next().is_none() || self.late(*epoch).next().is_some();
        self.unsettled(self.epoch).filter(|epoch| self.is_complete(*epoch)).filter(counts)
    }

    /// The ranks that are awaited in a scope and not known to have entered it.
    fn late(&self, epoch: Epoch) -> impl Iterator<Item = Rank> + '_ {
        self.awaited(epoch).filter(move |rank| self.entered[rank.index()] < epoch)
    }

    /// The ranks that this rank waits for if it is [too far ahead](Self::ahead): a rank that is late in the first of
    /// these scopes is late in all of them.
    pub(crate) fn laggards(&self) -> Vec<Rank> {
        if self.left_behind().any(|epoch| self.awaited(epoch).next().is_none()) {
            // No rank has to enter that scope.
            return Vec::new();
        }
        self.left_behind().next().map_or(Vec::new(), |first| self.late(first).collect())
    }

    /// Whether this rank's own part of an epoch is done.
    fn is_complete(&self, epoch: Epoch) -> bool {
        self.records.get(&epoch).is_some_and(|record| record.mine_complete)
    }

    /// The first epoch up to this one that is not settled and may concern a part of the object.
    pub(crate) fn pending(&self, window: Window, upto: Epoch) -> Option<Epoch> {
        let mut unsettled = self.unsettled(upto);
        unsettled.find(|epoch| self.opening(*epoch).is_none_or(|opening| opening.window.overlaps(window)))
    }

    /// All such epochs that this rank has completed, and other loads among them if a load waits.
    pub(crate) fn in_the_way(&self, window: Window, upto: Epoch) -> impl Iterator<Item = Epoch> + '_ {
        let load = self.opening(upto).is_some_and(Opening::is_load);
        let holds_up = move |opening: &Opening| opening.window.overlaps(window) || load && opening.is_load();
        let holds_up = move |epoch: &Epoch| self.opening(*epoch).is_none_or(holds_up);
        self.unsettled(upto).filter(|epoch| self.is_complete(*epoch)).filter(holds_up)
    }

    /// The ranks that have to act in the first of the scopes that are in the way of a part up to an epoch.
    pub(crate) fn first_awaited(&self, (window, upto): (Window, Epoch)) -> Option<Vec<Rank>> {
        self.in_the_way(window, upto).find_map(|epoch| {
            let awaited: Vec<_> = self.awaited(epoch).collect();
            (!awaited.is_empty()).then_some(awaited)
        })
    }

    /// The epoch that an access of this rank to a part of the object comes behind, now that nothing of that part is
    /// pending here: every rank has entered it.
    pub(crate) fn behind(&self) -> Epoch {
        self.early.last().unwrap_or(self.settled)
    }

    /// Whether batches of an epoch may be applied.
    pub(crate) fn may_apply(&self, epoch: Epoch) -> bool {
        let mine = self.records.get(&epoch).and_then(|record| record.mine.as_ref());
        !self.is_settled(epoch) && mine.is_some_and(|mine| self.pending(mine.window, epoch - 1).is_none())
    }

    /// The other ranks without which an epoch cannot be settled.
    pub(crate) fn missing(&self, epoch: Epoch) -> impl Iterator<Item = Rank> + '_ {
        let record = self.records.get(&epoch);
        (0..self.size).map(Rank::new).filter(move |rank| match record {
            None => *rank != self.me,
            Some(record) => {
                let arrival = &record.from[rank.index()];
                let applied = arrival.applied == arrival.batches;
                if *rank == self.me {
                    // Batches to ourselves, which may be parked behind someone else's scope.
                    record.mine_complete && !applied
                } else {
                    !arrival.complete || arrival.list_follows != arrival.list_came || !applied
                }
            }
        })
    }

    /// The other ranks that have not announced or ended their part of an epoch. Of those who have, batches may still be
    /// parked here: that is no reason to wait for *them*.
    pub(crate) fn awaited(&self, epoch: Epoch) -> impl Iterator<Item = Rank> + '_ {
        let (record, over) = (self.records.get(&epoch), self.is_settled(epoch));
        self.me.others(self.size).filter(move |rank| {
            !over
                && record.is_none_or(|record| {
                    let arrival = &record.from[rank.index()];
                    !arrival.complete || arrival.list_follows != arrival.list_came
                })
        })
    }

    /// Whether what a rank has written in an epoch may be applied: in order, once all is that ranks before it have.
    pub(crate) fn is_turn(&self, epoch: Epoch, of: Rank) -> bool {
        let Some(record) = self.records.get(&epoch).filter(|record| record.is_in_order()) else {
            return true;
        };
        record.from[..of.index()].iter().enumerate().all(|(rank, arrival)| {
            let complete = if self.me == rank { record.mine_complete } else { arrival.complete };
            complete && arrival.applied == arrival.batches
        })
    }

    /// The ranks that have to end their part of an epoch before what `of` has written in it may be applied.
    pub(crate) fn awaited_before(&self, epoch: Epoch, of: Rank) -> impl Iterator<Item = Rank> + '_ {
        let record = self.records.get(&epoch).filter(|record| record.is_in_order());
        let mine = record.filter(|record| !record.mine_complete).map(|_| self.me);
        let others = record.into_iter().flat_map(move |_| self.awaited(epoch));
        others.chain(mine).filter(move |rank| *rank < of)
    }

    /// The ranks whose blocks have not come whole, or lack writes that were made before the scope.
    pub(crate) fn incomplete_blocks(&self, epoch: Epoch) -> impl Iterator<Item = Rank> + '_ {
        let record = self.records.get(&epoch);
        self.me.others(self.size).filter(move |rank| {
            record.is_none_or(|record| !record.from[rank.index()].arrived || !record.is_final(*rank))
        })
    }
}
