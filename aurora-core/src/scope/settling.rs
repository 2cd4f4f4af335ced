//! The time at which an epoch is `settled`, and the ranks that it waits for until then.

use super::ledger::REMEMBERED;
use super::{Ledger, Opening, Rule};
use crate::ids::Epoch;
use crate::window::Window;
use aurora_net::Rank;

impl<A: Clone + Default> Ledger<A> {
    /// Settles an epoch to which nothing is missing; returns its rule.
    pub(crate) fn try_settle(&mut self) -> Option<(Epoch, Rule)> {
        let epoch = self.unsettled(self.epoch).find(|epoch| self.is_ripe(*epoch))?;
        let mine = self.records[&epoch].mine.clone().expect("only an epoch that this rank has entered is ripe");
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

    pub(crate) fn set_settled(&mut self, epoch: Epoch) {
        self.early.insert(epoch);
        self.settled = self.early.take_up_to(self.settled);
    }

    pub(crate) fn is_settled(&self, epoch: Epoch) -> bool {
        epoch <= self.settled || self.early.contains(epoch)
    }

    /// The epochs up to this one that are not `settled`, in their order.
    fn unsettled(&self, upto: Epoch) -> impl Iterator<Item = Epoch> + '_ {
        self.early.lacking(self.settled + 1, upto)
    }

    /// The number of scopes that count against [`SCOPES_AHEAD`](super::SCOPES_AHEAD). Scopes that all awaited ranks
    /// are known to have entered do not count: those ranks may need this rank to go on before they end them.
    pub(crate) fn ahead(&self) -> usize {
        self.scopes_ahead().count()
    }

    fn scopes_ahead(&self) -> impl Iterator<Item = Epoch> + '_ {
        let counts = |epoch: &Epoch| self.awaited(*epoch).next().is_none() || self.late(*epoch).next().is_some();
        self.unsettled(self.epoch).filter(|epoch| self.is_complete(*epoch)).filter(counts)
    }

    /// The ranks that are awaited in a scope and not known to have entered it.
    fn late(&self, epoch: Epoch) -> impl Iterator<Item = Rank> + '_ {
        self.awaited(epoch).filter(move |rank| self.entered[rank.index()] < epoch)
    }

    /// The ranks to wait for when [too far ahead](Self::ahead): a rank that is late in the first of these scopes is
    /// late in all of them.
    pub(crate) fn late_ranks(&self) -> Vec<Rank> {
        if self.scopes_ahead().any(|epoch| self.awaited(epoch).next().is_none()) {
            // No rank has to enter that scope.
            return Vec::new();
        }
        self.scopes_ahead().next().map_or(Vec::new(), |first| self.late(first).collect())
    }

    /// True if this rank has announced or ended its part of an epoch.
    fn is_complete(&self, epoch: Epoch) -> bool {
        self.records.get(&epoch).is_some_and(|record| record.mine_complete)
    }

    /// The first unsettled epoch up to this one that may overlap a window.
    pub(crate) fn pending(&self, window: Window, upto: Epoch) -> Option<Epoch> {
        let mut unsettled = self.unsettled(upto);
        unsettled.find(|epoch| self.opening(*epoch).is_none_or(|opening| opening.window.overlaps(window)))
    }

    /// All such epochs that this rank has completed; if `upto` is a load, also other loads.
    pub(crate) fn in_the_way(&self, window: Window, upto: Epoch) -> impl Iterator<Item = Epoch> + '_ {
        let load = self.opening(upto).is_some_and(Opening::is_load);
        let holds_up = move |opening: &Opening| opening.window.overlaps(window) || load && opening.is_load();
        let holds_up = move |epoch: &Epoch| self.opening(*epoch).is_none_or(holds_up);
        self.unsettled(upto).filter(|epoch| self.is_complete(*epoch)).filter(holds_up)
    }

    /// The ranks that have to act in the first of these epochs.
    pub(crate) fn first_awaited(&self, (window, upto): (Window, Epoch)) -> Option<Vec<Rank>> {
        self.in_the_way(window, upto).find_map(|epoch| {
            let awaited: Vec<_> = self.awaited(epoch).collect();
            (!awaited.is_empty()).then_some(awaited)
        })
    }

    /// The epoch after which an access comes, once nothing of its part is pending: all ranks have entered it.
    pub(crate) fn predecessor(&self) -> Epoch {
        self.early.last().unwrap_or(self.settled)
    }

    /// True if batches of an epoch may be applied.
    pub(crate) fn may_apply(&self, epoch: Epoch) -> bool {
        let mine = self.records.get(&epoch).and_then(|record| record.mine.as_ref());
        !self.is_settled(epoch) && mine.is_some_and(|mine| self.pending(mine.window, epoch - 1).is_none())
    }

    /// The ranks without which an epoch cannot be `settled`.
    pub(crate) fn missing(&self, epoch: Epoch) -> impl Iterator<Item = Rank> + '_ {
        let record = self.records.get(&epoch);
        (0..self.size).map(Rank::new).filter(move |rank| match record {
            None => *rank != self.me,
            Some(record) => {
                let arrival = &record.from[rank.index()];
                let applied = arrival.applied == arrival.batches;
                if *rank == self.me {
                    // Batches to itself, which may be parked behind another scope's guard.
                    record.mine_complete && !applied
                } else {
                    !arrival.complete || !applied
                }
            }
        })
    }

    /// The other ranks that have not announced or ended their part of an epoch. Parked batches are no reason to wait.
    pub(crate) fn awaited(&self, epoch: Epoch) -> impl Iterator<Item = Rank> + '_ {
        let (record, over) = (self.records.get(&epoch), self.is_settled(epoch));
        self.me
            .others(self.size)
            .filter(move |rank| !over && record.is_none_or(|record| !record.from[rank.index()].complete))
    }

    /// True if the batches of a rank may be applied. In an ordered scope the batches of all ranks before it come first.
    pub(crate) fn may_apply_from(&self, epoch: Epoch, of: Rank) -> bool {
        let Some(record) = self.records.get(&epoch).filter(|record| record.is_in_order()) else {
            return true;
        };
        record.from[..of.index()].iter().enumerate().all(|(rank, arrival)| {
            let complete = if self.me == rank { record.mine_complete } else { arrival.complete };
            complete && arrival.applied == arrival.batches
        })
    }

    /// The ranks that have to end their part of an epoch before the batches of `of` may be applied.
    pub(crate) fn awaited_before(&self, epoch: Epoch, of: Rank) -> impl Iterator<Item = Rank> + '_ {
        let record = self.records.get(&epoch).filter(|record| record.is_in_order());
        let mine = record.filter(|record| !record.mine_complete).map(|_| self.me);
        let others = record.into_iter().flat_map(move |_| self.awaited(epoch));
        others.chain(mine).filter(move |rank| *rank < of)
    }
}
