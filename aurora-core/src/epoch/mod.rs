//! The collective scopes of one object on one rank: which ranks have entered which scope, and when an epoch is settled.
//!
//! Scopes are numbered by *epochs*. An epoch is **settled** here when nothing that belongs to it can still change our
//! block: of a load, when all ranks have announced it (with their write marks); of a scope of writes, when all ranks
//! have ended it and all batches that they announce are applied. Which of these holds is the [`Rule`] of the scope. A
//! request tagged with epoch `e` is served once `e` is settled. In a scope that is ended *in order* a rank's batches
//! are applied when the ranks before it have ended it and all batches of those are applied. Pure: no messages, no
//! memory.
//!
//! This module names no behaviour. Each behaviour makes its own [`Opening`], with its name, its rule, and what all
//! ranks must agree on.
//!
//! Scopes of different parts of the object have nothing to do with each other: an epoch may be settled *early*, before
//! an earlier one of another part, which may be open around it on every rank. Loads settle in their order among
//! themselves: a rank that enters a load waits for it there, so a load never waits for what comes later in the program.

mod early;
mod ends;
mod opening;
mod record;
mod settling;
#[cfg(test)]
mod tests;

pub(crate) use ends::{Ends, defer_lost_writes};
pub(crate) use opening::{Opening, Rule};
pub(crate) use record::{Arrival, Record};

use crate::Error;
use crate::error::{Claim, ObjectName};
use crate::ids::Epoch;
use crate::window::Window;
use aurora_net::Rank;
use early::Early;
use std::collections::{BTreeMap, VecDeque};

/// A rank may have ended so many scopes of one object that the slowest has not, of all of its parts together, before it
/// waits in the next, so that what it sends ahead stays bounded. Those that it has open do not count, nor those that
/// all others are known to have entered, who may hold them open for long: how many of these there are is what the
/// program has written down.
pub(crate) const SCOPES_AHEAD: usize = 8;

/// How many scopes are remembered that were settled without some ranks.
const REMEMBERED: usize = 64;

/// A rank whose opening differs from ours, and its opening.
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
    /// Later epochs that are settled.
    early: Early,
    records: BTreeMap<Epoch, Record>,
    /// By ranks: the last scope that the rank is known to have entered.
    entered: Vec<Epoch>,
    /// Scopes that were settled under [`Rule::Neighbours`], the latest last: without the ranks that are no neighbours.
    /// What those open instead may come later.
    without_some: VecDeque<(Epoch, Opening)>,
    /// The last opening of this rank, for messages.
    pub(crate) last: Option<Opening>,
}

impl Ledger {
    pub(crate) fn new(me: Rank, size: usize) -> Self {
        let (records, without_some) = (BTreeMap::new(), VecDeque::new());
        let (early, entered) = (Early::default(), vec![0; size]);
        Ledger { me, size, epoch: 0, settled: 0, early, records, entered, without_some, last: None }
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
            marks: vec![0; size],
        })
    }

    pub(crate) fn find(&self, epoch: Epoch) -> Option<&Record> {
        self.records.get(&epoch)
    }

    /// The same, to be changed.
    pub(crate) fn find_mut(&mut self, epoch: Epoch) -> Option<&mut Record> {
        self.records.get_mut(&epoch)
    }

    /// In how many loads the list of a rank's writes is here before its announcement.
    pub(crate) fn lists_ahead(&self, of: Rank) -> usize {
        let ahead = |record: &&Record| {
            let arrival = &record.from[of.index()];
            arrival.list_came && !arrival.complete
        };
        self.records.values().filter(ahead).count()
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
        self.has_entered(from, epoch);
        if self.is_settled(epoch) {
            // Settled without that rank, which would not speak of it as it is no neighbour in it.
            let mut early = self.without_some.iter();
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

    /// The same; `name`: the object's.
    pub(crate) fn opened_by(
        &mut self,
        from: Rank,
        epoch: Epoch,
        opening: &Opening,
        name: &ObjectName,
    ) -> Result<(), Error> {
        let opened = self.opened(from, epoch, opening);
        opened.map_err(|(other, theirs)| {
            crate::collective::mismatch(opening.claim(from, name), theirs.claim(other, name))
        })
    }

    /// This rank enters the next scope; `name`: the object's.
    pub(crate) fn enter_as(&mut self, opening: Opening, name: &ObjectName) -> Result<Epoch, Error> {
        let entered = self.enter(opening.clone());
        entered.map_err(|(other, theirs)| {
            crate::collective::mismatch(opening.claim(self.me, name), theirs.claim(other, name))
        })
    }

    /// Another rank has come as far as this scope.
    pub(crate) fn has_entered(&mut self, rank: Rank, epoch: Epoch) {
        let entered = &mut self.entered[rank.index()];
        *entered = epoch.max(*entered);
    }

    /// The part that a scope is about, and itself.
    pub(crate) fn scope_of(&self, epoch: Epoch) -> (Window, Epoch) {
        (self.opening(epoch).map_or(Window::WHOLE, |opening| opening.window), epoch)
    }

    /// What some rank has opened as an epoch that is not over.
    pub(crate) fn opening(&self, epoch: Epoch) -> Option<&Opening> {
        let record = self.records.get(&epoch)?;
        record.mine.as_ref().or_else(|| record.from.iter().find_map(|arrival| arrival.opening.as_ref()))
    }

    /// Whether this rank has ended a scope of writes that is not settled.
    pub(crate) fn has_ended_writes(&self) -> bool {
        self.records
            .values()
            .any(|record| record.mine_complete && record.mine.as_ref().is_some_and(|mine| mine.has_writes()))
    }

    /// The rank that decides it has said that all epochs up to this one are over.
    pub(crate) fn conclude(&mut self, epoch: Epoch) {
        self.settled = self.early.take_up_to(self.settled.max(epoch));
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
    pub(crate) fn last_claim(&self, object: &ObjectName) -> Claim {
        Self::claim_of(self.me, self.last.as_ref(), object)
    }

    /// What a rank did last, in words.
    pub(crate) fn claim_of(rank: Rank, last: Option<&Opening>, object: &ObjectName) -> Claim {
        match last {
            Some(opening) => opening.claim(rank, object),
            None => Claim {
                rank,
                action: format!("has opened no collective scope since it made the {}", object.what),
                site: object.made_at.clone(),
            },
        }
    }
}
