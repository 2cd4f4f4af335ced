//! The collective scopes of one object on one rank: who has entered what, and when an epoch is settled.
//!
//! Scopes are numbered by *epochs*. An epoch is **settled** here when nothing that belongs to it can still change our
//! block: of a ReadCache, when all ranks have announced (each says how many writes it made before); of a ReleaseC, when
//! our own scope and everyone's have ended and all batches that they announce are applied. A request tagged with epoch
//! `e` is served once `e` is settled. Pure: no messages, no memory.

use crate::error::Claim;
use crate::message::{Collective, Epoch, Opening};
use aurora_net::Rank;
use std::collections::BTreeMap;

/// What has arrived from one rank for one epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrival {
    pub(crate) opening: Option<Opening>,
    /// It has announced its ReadCache or ended its ReleaseC.
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
    /// ReleaseC: batches that it says it sent us.
    pub(crate) batches: u64,
    /// ReleaseC: batches of it that we have applied.
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

impl Record {
    /// ReadCache: once all have announced, whether a rank's block contains all that was written before, as it comes or with the
    /// correction that is here.
    pub(crate) fn is_final(&self, rank: Rank) -> bool {
        self.from[rank.index()].contains == self.made[rank.index()]
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
    /// The last opening of this rank, for messages.
    pub(crate) last: Option<Opening>,
}

impl Ledger {
    pub(crate) fn new(me: Rank, size: usize) -> Self {
        Ledger { me, size, epoch: 0, settled: 0, records: BTreeMap::new(), last: None }
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
        let behaviour = record.mine.as_ref()?.behaviour;
        if self.missing(epoch).next().is_some() || !record.mine_complete {
            return None;
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

    /// The ranks whose blocks have not come whole, or lack writes that were made before the scope.
    pub(crate) fn incomplete_blocks(&self, epoch: Epoch) -> impl Iterator<Item = Rank> + '_ {
        let record = self.records.get(&epoch);
        self.me.others(self.size).filter(move |rank| {
            record.is_none_or(|record| !record.from[rank.index()].arrived || !record.is_final(*rank))
        })
    }

    /// Whether this rank has ended a ReleaseC that is not settled.
    pub(crate) fn has_ended_writes(&self) -> bool {
        self.records.values().any(|record| {
            record.mine_complete && record.mine.as_ref().is_some_and(|mine| mine.behaviour == Collective::ReleaseC)
        })
    }

    /// Forgets an epoch that is over.
    pub(crate) fn forget(&mut self, epoch: Epoch) {
        self.records.remove(&epoch);
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
        };
        Claim { rank, action, site: self.site.clone() }
    }
}
