//! The collective scopes of one object on one rank: which ranks have entered which scope, and when it is `settled`.
//!
//! Scopes are numbered by *epochs*. An epoch is **`settled`** here when nothing that belongs to it can still change
//! this rank's block: a load, when all ranks have announced it (with their write marks); a scope of writes, when all
//! ranks have ended it and all announced batches are applied. Its [`Rule`] tells which. A request with the number `e`
//! is served once epoch `e` is `settled`. In a scope that is ended *in order*, a rank's batches are applied after the
//! batches of all ranks before it. Each behaviour makes its own [`Opening`]: this module names none, sends no messages
//! and takes no memory.
//!
//! Scopes of different parts of the object are independent: an epoch may be `settled` *early*, before an earlier epoch
//! of another part, which may be open around it on every rank. Loads are `settled` in their order: a rank that enters
//! a load waits for it, so a load never waits for something later in the program.

use super::early::EpochSet;
use super::{Opening, Record};
use crate::ids::Epoch;
use crate::window::Window;
use crate::{Claim, Error, ObjectName};
use aurora_net::Rank;
use std::collections::{BTreeMap, VecDeque};

/// A rank that has ended this number of scopes of one object, of all parts together, that are not `settled`, waits in
/// the next scope. This bounds the messages that it sends ahead. Scopes that the rank itself has open do not count. Nor
/// do scopes that all other ranks are known to have entered: ranks may hold such scopes open for long, and the
/// program's text limits their number.
pub(crate) const SCOPES_AHEAD: usize = 8;

/// The number of openings under [`Rule::Neighbours`] that are remembered after their end.
pub(super) const REMEMBERED: usize = 64;

pub(super) type Disagreement = (Rank, Box<Opening>);

/// The state of all epochs that are not `settled`.
#[derive(Debug)]
pub(crate) struct Ledger<A = ()> {
    pub(super) me: Rank,
    pub(super) size: usize,
    /// Scopes that this rank has entered.
    pub(crate) epoch: Epoch,
    /// All epochs up to this one are complete.
    pub(crate) settled: Epoch,
    /// Later epochs that are complete.
    pub(super) early: EpochSet,
    pub(super) records: BTreeMap<Epoch, Record<A>>,
    /// By ranks: the last scope that the rank is known to have entered.
    pub(super) entered: Vec<Epoch>,
    /// Ended scopes under [`Rule::Neighbours`]: a rank that is no neighbour may name another opening later.
    pub(super) without_some: VecDeque<(Epoch, Opening)>,
    /// The last opening of this rank, for messages.
    pub(crate) last: Option<Opening>,
}

impl<A: Clone + Default> Ledger<A> {
    pub(crate) fn new(me: Rank, size: usize) -> Self {
        let (records, without_some) = (BTreeMap::new(), VecDeque::new());
        let (early, entered) = (EpochSet::default(), vec![0; size]);
        Ledger { me, size, epoch: 0, settled: 0, early, records, entered, without_some, last: None }
    }

    pub(crate) fn me(&self) -> Rank {
        self.me
    }

    /// The record of an epoch, made on first mention.
    pub(crate) fn record(&mut self, epoch: Epoch) -> &mut Record<A> {
        let size = self.size;
        self.records.entry(epoch).or_insert_with(|| Record::new(size))
    }

    pub(crate) fn others(&self) -> impl Iterator<Item = Rank> + use<A> {
        self.me.others(self.size)
    }

    pub(crate) fn find(&self, epoch: Epoch) -> Option<&Record<A>> {
        self.records.get(&epoch)
    }

    /// Enters the next scope. Fails with a rank whose opening differs.
    pub(super) fn enter(&mut self, opening: Opening) -> Result<Epoch, Disagreement> {
        self.epoch += 1;
        let epoch = self.epoch;
        self.last = Some(opening.clone());
        let record = self.record(epoch);
        record.mine = Some(opening.clone());
        record.all_agree_with(&opening).map(|()| epoch)
    }

    /// Records the opening of another rank. Fails with an opening that differs: this rank's or a third rank's.
    pub(super) fn opened(&mut self, from: Rank, epoch: Epoch, opening: &Opening) -> Result<(), Disagreement> {
        let me = self.me;
        self.has_entered(from, epoch);
        if self.is_settled(epoch) {
            // The epoch has ended without that rank, which was no neighbour in it.
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
        record.all_agree_with(opening)
    }

    /// As [`opened`](Self::opened), with an error for users. `name`: the object's.
    pub(crate) fn opened_by(
        &mut self,
        from: Rank,
        epoch: Epoch,
        opening: &Opening,
        name: &ObjectName,
    ) -> Result<(), Error> {
        let opened = self.opened(from, epoch, opening);
        opened.map_err(|other| mismatch((from, opening), other, name))
    }

    /// As [`enter`](Self::enter), with an error for users. `name`: the object's.
    pub(crate) fn enter_as(&mut self, opening: Opening, name: &ObjectName) -> Result<Epoch, Error> {
        let entered = self.enter(opening.clone());
        entered.map_err(|other| mismatch((self.me, &opening), other, name))
    }

    /// This rank has reached a later step of a scope: its opening contains the step from now on. Fails if another
    /// rank has ended the scope with a different opening.
    pub(crate) fn come_further(&mut self, epoch: Epoch, opening: Opening, name: &ObjectName) -> Result<(), Error> {
        self.last = Some(opening.clone());
        let record = self.record(epoch);
        record.mine = Some(opening.clone());
        let agreed = record.all_agree_with(&opening);
        agreed.map_err(|other| mismatch((self.me, &opening), other, name))
    }

    pub(crate) fn has_entered(&mut self, rank: Rank, epoch: Epoch) {
        let entered = &mut self.entered[rank.index()];
        *entered = epoch.max(*entered);
    }

    /// The window of an epoch, and the epoch.
    pub(crate) fn scope_of(&self, epoch: Epoch) -> (Window, Epoch) {
        (self.opening(epoch).map_or(Window::WHOLE, |opening| opening.window), epoch)
    }

    /// The opening of some rank for an epoch that is not `settled`.
    pub(crate) fn opening(&self, epoch: Epoch) -> Option<&Opening> {
        let record = self.records.get(&epoch)?;
        record.mine.as_ref().or_else(|| record.from.iter().find_map(|arrival| arrival.opening.as_ref()))
    }

    /// The opening of a rank in an epoch that is not `settled`, or else of this rank.
    pub(crate) fn opening_of(&self, rank: Rank, epoch: Epoch) -> Option<&Opening> {
        let record = self.records.get(&epoch)?;
        record.from[rank.index()].opening.as_ref().or(record.mine.as_ref())
    }

    /// True if this rank has ended a scope of writes that is not `settled`.
    pub(crate) fn has_ended_writes(&self) -> bool {
        self.records
            .values()
            .any(|record| record.mine_complete && record.mine.as_ref().is_some_and(|mine| mine.has_writes()))
    }

    /// The rank that decides about epochs reports that all epochs up to this one are complete.
    pub(crate) fn conclude(&mut self, epoch: Epoch) {
        self.settled = self.early.take_up_to(self.settled.max(epoch));
        self.records.retain(|of, _| *of > epoch);
    }

    pub(crate) fn forget(&mut self, epoch: Epoch) {
        self.records.remove(&epoch);
    }

    /// A digest of the last opening of this rank: equal on all ranks that agree.
    pub(crate) fn digest(&self) -> u64 {
        self.last.as_ref().map_or(0, Opening::digest)
    }

    pub(crate) fn last_claim(&self, object: &ObjectName) -> Claim {
        claim_of(self.me, self.last.as_ref(), object)
    }
}

/// The last action of a rank, in words.
pub(super) fn claim_of(rank: Rank, last: Option<&Opening>, object: &ObjectName) -> Claim {
    match last {
        Some(opening) => opening.claim(rank, object),
        None => Claim {
            rank,
            action: format!("has opened no collective scope since it made the {}", object.what),
            site: object.made_at.clone(),
        },
    }
}

fn mismatch((rank, opening): (Rank, &Opening), (other, theirs): Disagreement, name: &ObjectName) -> Error {
    crate::collective::mismatch(opening.claim(rank, name), theirs.claim(other, name))
}
