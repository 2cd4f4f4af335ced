//! The collective scopes of one object on one rank: who has entered what, and when an epoch is settled.
//!
//! Scopes are numbered by *epochs*. An epoch is **settled** here when nothing that belongs to it can still change our
//! block: of a ReadCache, when all ranks have announced (each says how many writes it made before); of a ReleaseC, when
//! our own scope and everyone's have ended and all batches that they announce are applied. A request tagged with epoch
//! `e` is served once `e` is settled. In an Accumulate *in order* a rank's batches are applied when the ranks before it have ended
//! theirs and all of those are. Pure: no messages, no memory.
//!
//! Scopes of different parts of the object have nothing to do with each other: an epoch may be settled *early*, before an earlier
//! one of another part, which may be open around it on every rank. Loads settle in their order among themselves: who enters one
//! waits for it there, so it never waits for anything that comes later in the program.

use crate::error::Claim;
use crate::message::{Collective, Epoch, Opening};
use crate::window::Window;
use aurora_net::Rank;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What has arrived from one rank for one epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrival {
    pub(crate) opening: Option<Opening>,
    /// It has announced its ReadCache or ended its scope of writes.
    pub(crate) complete: bool,
    /// ReadCache: the version of its block. It is in place if it differed from the last.
    pub(crate) version: u64,
    /// ReadCache: its block comes with its announcement, and has been let in.
    pub(crate) coming: bool,
    /// ReadCache: everything that its announcement brings is here.
    pub(crate) arrived: bool,
    /// ReadCache: its block came with its announcement.
    pub(crate) came: bool,
    /// ReadCache: its block lies in memory that its node shares: if we are on it, it was not sent.
    pub(crate) at_home: bool,
    /// ReadCache: writes of other ranks that its block contains.
    pub(crate) contains: u64,
    /// ReadCache: its correction, applied when the load completes: the version it makes, and a batch.
    pub(crate) correction: Option<(u64, Vec<u8>)>,
    /// ReadCache: it made too many writes for its announcement; their list comes by itself.
    pub(crate) list_follows: bool,
    /// ReadCache: that list has come.
    pub(crate) list_came: bool,
    /// Scopes of writes: batches that it says it sent us.
    pub(crate) batches: u64,
    /// Scopes of writes: batches of it that we have applied.
    pub(crate) applied: u64,
}

impl Arrival {
    /// ReadCache: the version of its block when the load is complete.
    pub(crate) fn final_version(&self) -> u64 {
        self.correction.as_ref().map_or(self.version, |(version, _)| *version)
    }
}

/// One epoch.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) mine: Option<Opening>,
    /// Our own part is done: announced, or ended.
    pub(crate) mine_complete: bool,
    pub(crate) from: Vec<Arrival>,
    /// ReadCache: writes made to each owner's block before, as announced so far.
    pub(crate) made: Vec<u64>,
}

/// So many HaloCaches are remembered that were settled without some ranks.
const REMEMBERED: usize = 64;

impl Record {
    /// Whether what ranks write is applied in the order of their numbers.
    fn is_in_order(&self) -> bool {
        self.mine.as_ref().is_some_and(|mine| mine.behaviour == Collective::AccumulateInOrder)
    }

    /// ReadCache: once all have announced, whether a rank's block contains all that was written before, as it comes or with the
    /// correction that is here.
    pub(crate) fn is_final(&self, rank: Rank) -> bool {
        self.from[rank.index()].contains == self.made[rank.index()]
    }
}

/// A rank whose opening is another, and that.
pub(crate) type Disagreement = (Rank, Box<Opening>);

/// All epochs that are not over.
#[derive(Debug)]
pub(crate) struct Ledger {
    me: Rank,
    size: usize,
    /// Scopes that this rank has entered.
    pub(crate) epoch: Epoch,
    /// All epochs up to this one are settled.
    pub(crate) settled: Epoch,
    /// Later ones that are.
    early: BTreeSet<Epoch>,
    records: BTreeMap<Epoch, Record>,
    /// HaloCaches, the latest last. A HaloCache is settled without the ranks that are no neighbours; what they open instead may
    /// come later.
    halos: VecDeque<(Epoch, Opening)>,
    /// The last opening of this rank, for messages.
    pub(crate) last: Option<Opening>,
}

impl Ledger {
    pub(crate) fn new(me: Rank, size: usize) -> Self {
        let (records, halos) = (BTreeMap::new(), VecDeque::new());
        Ledger { me, size, epoch: 0, settled: 0, early: BTreeSet::new(), records, halos, last: None }
    }

    /// This rank.
    pub(crate) fn me(&self) -> Rank {
        self.me
    }

    /// The record of an epoch, made if it is not there.
    pub(crate) fn record(&mut self, epoch: Epoch) -> &mut Record {
        let size = self.size;
        self.records.entry(epoch).or_insert_with(|| Record {
            mine: None,
            mine_complete: false,
            from: vec![Arrival::default(); size],
            made: vec![0; size],
        })
    }

    pub(crate) fn find(&self, epoch: Epoch) -> Option<&Record> {
        self.records.get(&epoch)
    }

    /// Enters the next scope; the ranks whose opening differs from ours come back as an error's material.
    pub(crate) fn enter(&mut self, opening: Opening) -> Result<Epoch, Disagreement> {
        self.epoch += 1;
        let epoch = self.epoch;
        self.last = Some(opening.clone());
        let record = self.record(epoch);
        record.mine = Some(opening.clone());
        let other = record.from.iter().enumerate().find_map(|(rank, arrival)| {
            arrival
                .opening
                .as_ref()
                .filter(|theirs| !theirs.agrees_with(&opening))
                .map(|o| (Rank::new(rank), Box::new(o.clone())))
        });
        other.map_or(Ok(epoch), Err)
    }

    /// Notes what another rank opened; an opening (ours or a third rank's) that disagrees comes back.
    pub(crate) fn opened(&mut self, from: Rank, epoch: Epoch, opening: &Opening) -> Result<(), Disagreement> {
        let me = self.me;
        if self.is_settled(epoch) {
            // Settled without that rank, so it was a HaloCache in which that one is no neighbour: it would not speak of it.
            let mut early = self.halos.iter();
            let mine = early.find(|(settled, _)| *settled >= epoch).map(|(_, mine)| mine).or(self.last.as_ref());
            return mine.map_or(Ok(()), |mine| Err((me, Box::new(mine.clone()))));
        }
        let record = self.record(epoch);
        record.from[from.index()].opening = Some(opening.clone());
        if let Some(mine) = &record.mine
            && !mine.agrees_with(opening)
        {
            return Err((me, Box::new(mine.clone())));
        }
        let other = record.from.iter().enumerate().find_map(|(rank, arrival)| {
            arrival
                .opening
                .as_ref()
                .filter(|theirs| !theirs.agrees_with(opening))
                .map(|o| (Rank::new(rank), Box::new(o.clone())))
        });
        other.map_or(Ok(()), Err)
    }

    /// Settles an epoch to which nothing is missing; returns its behaviour.
    pub(crate) fn try_settle(&mut self) -> Option<(Epoch, Collective)> {
        let epoch = self.unsettled(self.epoch).find(|epoch| self.is_ripe(*epoch))?;
        let mine = self.records[&epoch].mine.clone().expect("it is ripe");
        let behaviour = mine.behaviour;
        if matches!(behaviour, Collective::HaloCache { .. }) {
            self.halos.push_back((epoch, mine));
            if self.halos.len() > REMEMBERED {
                self.halos.pop_front();
            }
        }
        self.set_settled(epoch);
        Some((epoch, behaviour))
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
        while self.early.remove(&(self.settled + 1)) {
            self.settled += 1;
        }
    }

    /// Whether an epoch is settled.
    pub(crate) fn is_settled(&self, epoch: Epoch) -> bool {
        epoch <= self.settled || self.early.contains(&epoch)
    }

    /// The epochs up to this one that are not settled, in their order.
    fn unsettled(&self, upto: Epoch) -> impl Iterator<Item = Epoch> + '_ {
        (self.settled + 1..=upto).filter(|epoch| !self.early.contains(epoch))
    }

    /// How many scopes that this rank is through with are not settled.
    pub(crate) fn ahead(&self) -> usize {
        self.unsettled(self.epoch).filter(|epoch| self.is_complete(*epoch)).count()
    }

    /// Whether this rank's own part of an epoch is done.
    fn is_complete(&self, epoch: Epoch) -> bool {
        self.records.get(&epoch).is_some_and(|record| record.mine_complete)
    }

    /// The first epoch up to this one that is not settled and may have to do with a part of the object.
    pub(crate) fn pending(&self, window: Window, upto: Epoch) -> Option<Epoch> {
        let mut unsettled = self.unsettled(upto);
        unsettled.find(|epoch| self.opening(*epoch).is_none_or(|opening| opening.window.overlaps(window)))
    }

    /// All of those that this rank is through with, and the loads among the others if it is a load that waits.
    pub(crate) fn in_the_way(&self, window: Window, upto: Epoch) -> impl Iterator<Item = Epoch> + '_ {
        let load = self.opening(upto).is_some_and(Opening::is_load);
        let holds_up = move |opening: &Opening| opening.window.overlaps(window) || load && opening.is_load();
        let holds_up = move |epoch: &Epoch| self.opening(*epoch).is_none_or(holds_up);
        self.unsettled(upto).filter(|epoch| self.is_complete(*epoch)).filter(holds_up)
    }

    /// The part that a scope is about, and itself.
    pub(crate) fn scope_of(&self, epoch: Epoch) -> (Window, Epoch) {
        (self.opening(epoch).map_or(Window::WHOLE, |opening| opening.window), epoch)
    }

    /// What an access of this rank to a part of the object comes behind, now that nothing of that part is pending here: so every
    /// rank has been there.
    pub(crate) fn behind(&self) -> Epoch {
        self.early.last().copied().unwrap_or(self.settled)
    }

    /// Whether batches of an epoch may be applied.
    pub(crate) fn may_apply(&self, epoch: Epoch) -> bool {
        let mine = self.records.get(&epoch).and_then(|record| record.mine.as_ref());
        !self.is_settled(epoch) && mine.is_some_and(|mine| self.pending(mine.window, epoch - 1).is_none())
    }

    /// What some rank has opened as an epoch that is not over.
    pub(crate) fn opening(&self, epoch: Epoch) -> Option<&Opening> {
        let record = self.records.get(&epoch)?;
        record.mine.as_ref().or_else(|| record.from.iter().find_map(|arrival| arrival.opening.as_ref()))
    }

    /// The other ranks without whom an epoch cannot be settled.
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

    /// Whether this rank has ended a scope of writes that is not settled.
    pub(crate) fn has_ended_writes(&self) -> bool {
        self.records
            .values()
            .any(|record| record.mine_complete && record.mine.as_ref().is_some_and(|mine| mine.behaviour.has_writes()))
    }

    /// Who decides that has said that all epochs up to this one are over.
    pub(crate) fn conclude(&mut self, epoch: Epoch) {
        self.settled = self.settled.max(epoch);
        self.early.retain(|of| *of > epoch);
        self.records.retain(|of, _| *of > epoch);
    }

    /// Forgets an epoch that is over.
    pub(crate) fn forget(&mut self, epoch: Epoch) {
        self.records.remove(&epoch);
    }

    /// What this rank has entered last, as a number: equal on all ranks that agree.
    pub(crate) fn entered(&self) -> u64 {
        self.last.as_ref().map_or(0, Opening::digest)
    }

    /// What this rank did last, in words.
    pub(crate) fn last_claim(&self, object: &crate::error::ObjectName) -> Claim {
        Self::claim_of(self.me, self.last.as_ref(), object)
    }

    /// What a rank did last, in words.
    pub(crate) fn claim_of(rank: Rank, last: Option<&Opening>, object: &crate::error::ObjectName) -> Claim {
        match last {
            Some(opening) => opening.claim(rank, object),
            None => Claim {
                rank,
                action: format!("has opened no collective scope of {object}"),
                site: object.made_at.clone(),
            },
        }
    }
}

impl Opening {
    /// Whether it is a load, which its rank waits for.
    pub(crate) fn is_load(&self) -> bool {
        matches!(self.behaviour, Collective::ReadCache | Collective::Combined)
    }

    /// The opening as another rank quotes it.
    pub(crate) fn claim(&self, rank: Rank, object: &crate::error::ObjectName) -> Claim {
        let part = self.window;
        let action = match self.behaviour {
            Collective::ReadCache => format!("opened a ReadCache of {part}{object}"),
            Collective::Combined => format!("opened a ReadCache + ReleaseC of {part}{object}"),
            Collective::ReleaseC if self.op.is_some() => {
                format!("opened a ReleaseC with operation {} of {part}{object}", self.op_name)
            }
            Collective::ReleaseC => format!("opened a ReleaseC of {part}{object}"),
            Collective::Fill => format!("filled {object}"),
            Collective::Accumulate => format!("opened an Accumulate with operation {} of {object}", self.op_name),
            Collective::AccumulateInOrder => {
                format!("opened an Accumulate in order with operation {} of {object}", self.op_name)
            }
            Collective::HaloCache { halo, writes } => {
                let writes = if writes { ", for writing" } else { "" };
                format!("opened a HaloCache ({halo}{writes}) of {object}")
            }
            Collective::ReadMostly if self.op.is_some() => {
                format!("opened a ReadMostly with operation {} of {object}", self.op_name)
            }
            Collective::ReadMostly => format!("opened a ReadMostly of {object}"),
        };
        Claim { rank, action, site: self.site.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Site;
    use crate::halo::Halo;

    const FIRST: Epoch = 1;

    fn of_four(behaviour: Collective) -> Ledger {
        let mut ledger = Ledger::new(Rank::new(1), 4);
        let opening = Opening::new(behaviour, &Site::here());
        assert_eq!(ledger.enter(opening).ok(), Some(FIRST));
        ledger
    }

    /// Whose turn it is, and whom the last rank waits for.
    fn state(ledger: &Ledger) -> (Vec<usize>, Vec<usize>) {
        let ranks = (0..4).map(Rank::new);
        let turns = ranks.filter(|rank| ledger.is_turn(FIRST, *rank)).map(Rank::index).collect();
        let mut awaited: Vec<_> = ledger.awaited_before(FIRST, Rank::new(3)).map(Rank::index).collect();
        awaited.sort_unstable();
        (turns, awaited)
    }

    #[test]
    fn in_order_each_rank_waits_for_those_before_it() {
        let mut ledger = of_four(Collective::AccumulateInOrder);
        assert_eq!(state(&ledger), (vec![0], vec![0, 1, 2]));
        // What a rank has ended is awaited no longer, but has to be applied.
        let record = ledger.record(FIRST);
        (record.from[0].complete, record.from[0].batches) = (true, 2);
        assert_eq!(state(&ledger), (vec![0], vec![1, 2]));
        ledger.record(FIRST).from[0].applied = 2;
        assert_eq!(state(&ledger), (vec![0, 1], vec![1, 2]));
        ledger.record(FIRST).from[2].complete = true;
        assert_eq!(state(&ledger), (vec![0, 1], vec![1]));
        ledger.record(FIRST).mine_complete = true;
        assert_eq!(state(&ledger), (vec![0, 1, 2, 3], vec![]));
    }

    #[test]
    fn else_nobody_waits_for_a_turn() {
        let ledger = of_four(Collective::Accumulate);
        assert_eq!(state(&ledger), (vec![0, 1, 2, 3], vec![]));
        assert!(ledger.is_turn(FIRST + 1, Rank::new(3)), "no such scope is known yet");
    }

    fn halo(width: usize) -> Opening {
        Opening::new(Collective::HaloCache { halo: Halo::fixed(width), writes: false }, &Site::here())
    }

    /// Of a rank that has entered HaloCaches of these widths, without a neighbour.
    fn alone(widths: impl IntoIterator<Item = usize>) -> Ledger {
        let mut ledger = Ledger::new(Rank::new(0), 3);
        for width in widths {
            let epoch = ledger.enter(halo(width)).expect("nobody has said anything else");
            let record = ledger.record(epoch);
            record.mine_complete = true;
            record.from.iter_mut().for_each(|arrival| arrival.complete = true);
            assert_eq!(ledger.try_settle().map(|(settled, _)| settled), Some(epoch));
            ledger.forget(epoch);
        }
        ledger
    }

    #[test]
    fn what_others_open_instead_of_a_halo_that_is_over_disagrees() {
        let mut ledger = alone([1, 2, 3]);
        let release = Opening::new(Collective::ReleaseC, &Site::here());
        for (epoch, width) in [(1, 1), (2, 2), (3, 3)] {
            let (rank, mine) = ledger.opened(Rank::new(2), epoch, &release).expect_err("a disagreement");
            assert!(rank == 0 && mine.agrees_with(&halo(width)), "{mine:?}");
        }
        assert!(ledger.opened(Rank::new(2), 4, &release).is_ok());
    }

    #[test]
    fn few_of_them_are_remembered() {
        let mut ledger = alone((0..500).map(|width| width % 7));
        assert!(ledger.halos.len() <= REMEMBERED && ledger.records.is_empty());
        let release = Opening::new(Collective::ReleaseC, &Site::here());
        let (_, mine) = ledger.opened(Rank::new(1), 3, &release).expect_err("a disagreement");
        assert!(matches!(mine.behaviour, Collective::HaloCache { .. }));
    }

    fn opening(behaviour: Collective, start: usize, end: usize) -> Opening {
        Opening::new(behaviour, &Site::here()).of(Window::of(&(start..end), 10))
    }

    /// Rank 0 of two enters these, in their order.
    fn entered(openings: &[Opening]) -> Ledger {
        let mut ledger = Ledger::new(Rank::new(0), 2);
        openings.iter().for_each(|opening| drop(ledger.enter(opening.clone())));
        ledger
    }

    /// All have done their part of an epoch.
    fn complete(ledger: &mut Ledger, epoch: Epoch) {
        let record = ledger.record(epoch);
        record.mine_complete = true;
        record.from[1].complete = true;
    }

    #[test]
    fn a_scope_of_another_part_is_settled_while_one_is_open() {
        let (left, right) = (opening(Collective::ReleaseC, 0, 5), opening(Collective::ReadCache, 5, 10));
        let mut ledger = entered(&[left.clone(), right, opening(Collective::ReleaseC, 4, 6)]);
        assert!(ledger.try_settle().is_none());
        complete(&mut ledger, 3);
        assert!(ledger.try_settle().is_none(), "it overlaps both");
        complete(&mut ledger, 2);
        assert_eq!(ledger.try_settle(), Some((2, Collective::ReadCache)));
        assert!(ledger.is_settled(2) && !ledger.is_settled(1) && ledger.settled == 0 && ledger.ahead() == 1);
        assert_eq!((ledger.pending(left.window, 2), ledger.pending(Window::of(&(5..7), 10), 2)), (Some(1), None));
        assert_eq!(ledger.behind(), 2);
        assert!(ledger.may_apply(1) && !ledger.may_apply(2) && !ledger.may_apply(3));
        complete(&mut ledger, 1);
        assert_eq!(ledger.try_settle(), Some((1, Collective::ReleaseC)));
        assert_eq!((ledger.settled, ledger.ahead()), (2, 1));
        assert_eq!(ledger.in_the_way(Window::WHOLE, 3).collect::<Vec<_>>(), [3]);
        assert_eq!(ledger.try_settle(), Some((3, Collective::ReleaseC)));
    }

    #[test]
    fn loads_are_settled_in_their_order() {
        let mut ledger = entered(&[opening(Collective::ReadCache, 0, 5), opening(Collective::Combined, 5, 10)]);
        complete(&mut ledger, 2);
        assert!(ledger.try_settle().is_none());
        complete(&mut ledger, 1);
        assert_eq!(ledger.try_settle().map(|settled| settled.0), Some(1));
        assert_eq!(ledger.try_settle().map(|settled| settled.0), Some(2));
    }

    #[test]
    fn a_scope_that_nobody_has_named_may_be_of_any_part() {
        let mut ledger = entered(&[]);
        assert_eq!(ledger.pending(Window::of(&(0..1), 10), 1), Some(1));
        let theirs = opening(Collective::ReleaseC, 5, 10);
        ledger.opened(Rank::new(1), 1, &theirs).expect("we have opened nothing");
        assert_eq!(ledger.pending(Window::of(&(0..1), 10), 1), None);
        assert_eq!(ledger.pending(Window::of(&(0..6), 10), 1), Some(1));
    }
}
