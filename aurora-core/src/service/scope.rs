//! The collective scopes of one object on one rank: who has entered what, and when an epoch is settled.
//!
//! Scopes are numbered by *epochs*. An epoch is **settled** here when nothing that belongs to it can still change our
//! block: of a ReadCache, when all ranks have announced (each says how many writes it made before); of a ReleaseC, when
//! our own scope and everyone's have ended and all batches that they announce are applied. A request tagged with epoch
//! `e` is served once `e` is settled. In an Accumulate *in order* a rank's batches are applied when the ranks before it have ended
//! theirs and all of those are. Pure: no messages, no memory.

use crate::error::Claim;
use crate::message::{Collective, Epoch, Opening};
use aurora_net::Rank;
use std::collections::{BTreeMap, VecDeque};

/// What has arrived from one rank for one epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrival {
    pub(crate) opening: Option<Opening>,
    /// It has announced its ReadCache or ended its scope of writes.
    pub(crate) complete: bool,
    /// ReadCache: the version of its block. It is in place if it differed from the last.
    pub(crate) version: u64,
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
}

/// All epochs that are not over.
#[derive(Debug)]
pub(crate) struct Ledger {
    me: Rank,
    size: usize,
    /// Scopes that this rank has entered.
    pub(crate) epoch: Epoch,
    /// Epochs that are settled.
    pub(crate) settled: Epoch,
    records: BTreeMap<Epoch, Record>,
    /// HaloCaches, the latest last. A HaloCache is settled without the ranks that are no neighbours; what they open instead may
    /// come later.
    settled_early: VecDeque<(Epoch, Opening)>,
    /// The last opening of this rank, for messages.
    pub(crate) last: Option<Opening>,
}

impl Ledger {
    pub(crate) fn new(me: Rank, size: usize) -> Self {
        let (records, settled_early) = (BTreeMap::new(), VecDeque::new());
        Ledger { me, size, epoch: 0, settled: 0, records, settled_early, last: None }
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
    pub(crate) fn enter(&mut self, opening: Opening) -> Result<Epoch, (Rank, Opening)> {
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
                .map(|o| (Rank::new(rank), o.clone()))
        });
        other.map_or(Ok(epoch), Err)
    }

    /// Notes what another rank opened; an opening (ours or a third rank's) that disagrees comes back.
    pub(crate) fn opened(&mut self, from: Rank, epoch: Epoch, opening: &Opening) -> Result<(), (Rank, Opening)> {
        let me = self.me;
        if epoch <= self.settled {
            // Settled without that rank, so it was a HaloCache in which that one is no neighbour: it would not speak of it.
            let mut early = self.settled_early.iter();
            let mine = early.find(|(settled, _)| *settled >= epoch).map(|(_, mine)| mine).or(self.last.as_ref());
            return mine.map_or(Ok(()), |mine| Err((me, mine.clone())));
        }
        let record = self.record(epoch);
        record.from[from.index()].opening = Some(opening.clone());
        if let Some(mine) = &record.mine
            && !mine.agrees_with(opening)
        {
            return Err((me, mine.clone()));
        }
        let other = record.from.iter().enumerate().find_map(|(rank, arrival)| {
            arrival.opening.as_ref().filter(|theirs| !theirs.agrees_with(opening)).map(|o| (Rank::new(rank), o.clone()))
        });
        other.map_or(Ok(()), Err)
    }

    /// Settles the next epoch if nothing is missing; returns its behaviour.
    pub(crate) fn try_settle(&mut self) -> Option<(Epoch, Collective)> {
        let epoch = self.settled + 1;
        let record = self.records.get(&epoch)?;
        let mine = record.mine.as_ref()?;
        if self.missing(epoch).next().is_some() || !record.mine_complete {
            return None;
        }
        let behaviour = mine.behaviour;
        if matches!(behaviour, Collective::HaloCache { .. }) {
            let mine = mine.clone();
            self.settled_early.push_back((epoch, mine));
            if self.settled_early.len() > REMEMBERED {
                self.settled_early.pop_front();
            }
        }
        self.settled = epoch;
        Some((epoch, behaviour))
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
        let record = self.records.get(&epoch);
        self.me.others(self.size).filter(move |rank| {
            record.is_none_or(|record| {
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

    /// The ranks whose blocks, as pushed so far, lack writes that were made before the scope.
    pub(crate) fn incomplete_blocks(&self, epoch: Epoch) -> impl Iterator<Item = Rank> + '_ {
        let record = self.records.get(&epoch);
        (0..self.size).map(Rank::new).filter(move |rank| {
            *rank != self.me && record.is_none_or(|r| r.from[rank.index()].contains != r.made[rank.index()])
        })
    }

    /// Whether this rank has ended a scope of writes that is not settled.
    pub(crate) fn has_ended_writes(&self) -> bool {
        self.records
            .values()
            .any(|record| record.mine_complete && record.mine.as_ref().is_some_and(|mine| mine.behaviour.has_writes()))
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
    /// The opening as another rank quotes it.
    pub(crate) fn claim(&self, rank: Rank, object: &crate::error::ObjectName) -> Claim {
        let action = match self.behaviour {
            Collective::ReadCache => format!("opened a ReadCache of {object}"),
            Collective::Combined => format!("opened a ReadCache + ReleaseC of {object}"),
            Collective::ReleaseC if self.op.is_some() => {
                format!("opened a ReleaseC with operation {} of {object}", self.op_name)
            }
            Collective::ReleaseC => format!("opened a ReleaseC of {object}"),
            Collective::Fill => format!("filled {object}"),
            Collective::Accumulate => format!("opened an Accumulate with operation {} of {object}", self.op_name),
            Collective::AccumulateInOrder => {
                format!("opened an Accumulate in order with operation {} of {object}", self.op_name)
            }
            Collective::HaloCache { halo, writes } => {
                let writes = if writes { ", for writing" } else { "" };
                format!("opened a HaloCache ({halo}{writes}) of {object}")
            }
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

    fn entered(behaviour: Collective) -> Ledger {
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
        let mut ledger = entered(Collective::AccumulateInOrder);
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
        let ledger = entered(Collective::Accumulate);
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
        assert!(ledger.settled_early.len() <= REMEMBERED && ledger.records.is_empty());
        let release = Opening::new(Collective::ReleaseC, &Site::here());
        let (_, mine) = ledger.opened(Rank::new(1), 3, &release).expect_err("a disagreement");
        assert!(matches!(mine.behaviour, Collective::HaloCache { .. }));
    }
}
