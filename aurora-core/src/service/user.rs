//! What the calling thread asks of its own service.

use super::object::{Object, OpenGuard, Parked, Work};
use super::scope::Ledger;
use super::{Call, Loan, Reason, Service};
use crate::collective::{ObjectState, Summary};
use crate::element::OpId;
use crate::error::Claim;
use crate::memory::{Lent, LentMut, Storage};
use crate::message::{CallId, Collective, Epoch, Message, ObjectId, Opening, Request};
use crate::{Error, Site};
use aurora_net::bootstrap::Failure;
use aurora_net::{Outbox, Payload, Rank, Token};
use std::collections::BTreeMap;
use std::sync::Arc;

/// More writes in an announcement would not fit a header.
const ANNOUNCED_WRITES: usize = 32;

/// A rank may be so many scopes ahead of the slowest before it waits, so that what it sends ahead stays bounded.
pub(crate) const SCOPES_AHEAD: Epoch = 8;

/// A request on its way: to whom, on which object, at which line.
pub(crate) struct Asking<'a> {
    pub(crate) object: ObjectId,
    pub(crate) to: Rank,
    pub(crate) reason: &'a Reason,
}

impl Service {
    /// The control plane says that another rank has failed.
    pub(crate) fn job_failed(&mut self, failure: Failure, out: &mut Outbox) {
        self.note_fault(None, &Error::JobFailed { failure }, out);
    }

    /// Whether an object may be used now, for writing if `mutable`. A guard that was forgotten is found here: while a
    /// guard lives the borrow checker keeps such a use from happening.
    pub(crate) fn usable(&mut self, id: ObjectId, mutable: bool, out: &mut Outbox) -> Result<&mut Object, Error> {
        let Some(object) = self.objects.get(&id) else {
            unreachable!("an object lives as long as its handle");
        };
        let forgotten = object.open.iter().find(|guard| mutable || guard.mutable);
        if let Some(guard) = forgotten
            && object.fault.is_none()
        {
            let leak = object.leak(self.me, guard);
            self.fail(Some(id), leak, out);
        }
        let object = self.objects.get_mut(&id).expect("still there");
        match &object.fault {
            Some(fault) => Err(fault.clone()),
            None => Ok(object),
        }
    }

    /// As [`Service::usable`], once all earlier scopes of the object are over.
    pub(crate) fn settled(
        &mut self,
        id: ObjectId,
        mutable: bool,
        out: &mut Outbox,
    ) -> Option<Result<&mut Object, Error>> {
        match self.usable(id, mutable, out) {
            Err(error) => Some(Err(error)),
            Ok(object) if object.ledger.settled >= object.ledger.epoch => Some(Ok(object)),
            Ok(_) => None,
        }
    }

    /// As [`Service::settled`], once nothing is sent from the block any more: the gate in front of every write.
    pub(crate) fn gate(&mut self, id: ObjectId, out: &mut Outbox) -> Option<Result<&mut Object, Error>> {
        match self.settled(id, true, out)? {
            Ok(object) if object.block.in_flight > 0 => None,
            other => Some(other),
        }
    }

    /// Comes to the next rendezvous of all ranks.
    pub(crate) fn meet(&mut self, action: String, site: &Site, key: u64, refusal: Option<Error>, out: &mut Outbox) {
        let claim = Claim { rank: self.me, action, site: site.clone() };
        let objects = self.objects.iter().filter(|(_, object)| !object.dropped[self.me.index()]);
        let objects: BTreeMap<_, _> = objects
            .map(|(id, object)| {
                let awaited = object.open.iter().find(|guard| guard.awaited);
                let state = ObjectState {
                    rank: self.me,
                    epoch: object.ledger.epoch,
                    last: object.ledger.last_claim(&object.name),
                    open: awaited.map(|guard| Box::new(object.leak(self.me, guard))),
                    fault: object.fault.clone().map(Box::new),
                };
                (*id, state)
            })
            .collect();
        let mut told = Vec::new();
        self.rendezvous.start(Summary::new(claim, key, objects, refusal), &mut told);
        self.tell(told, out);
    }

    /// Sends a request. Its answer is taken with [`Service::take_reply`].
    pub(crate) fn ask(&mut self, asking: &Asking<'_>, request: Request, payload: Vec<u8>, out: &mut Outbox) -> CallId {
        let payload = if payload.is_empty() { Payload::Empty } else { Payload::Bytes(payload.into()) };
        self.ask_with(asking, request, payload, None, out)
    }

    /// Sends a read whose answer goes straight to a caller's memory.
    pub(crate) fn ask_into(
        &mut self,
        asking: &Asking<'_>,
        request: Request,
        landing: Token,
        out: &mut Outbox,
    ) -> CallId {
        self.ask_with(asking, request, Payload::Empty, Some(landing), out)
    }

    /// Sends a write whose payload is read from a caller's memory.
    pub(crate) fn ask_from(
        &mut self,
        asking: &Asking<'_>,
        request: Request,
        token: Token,
        len: usize,
        out: &mut Outbox,
    ) -> CallId {
        self.ask_with(asking, request, Payload::Lent { token, len }, None, out)
    }

    fn ask_with(
        &mut self,
        asking: &Asking<'_>,
        request: Request,
        payload: Payload,
        landing: Option<Token>,
        out: &mut Outbox,
    ) -> CallId {
        debug_assert_ne!(asking.to, self.me, "our own block needs no message");
        self.next_call += 1;
        let id = CallId(self.next_call);
        self.calls.insert(id, Call { to: asking.to, landing, reply: None });
        let object = self.objects.get_mut(&asking.object).expect("an object lives as long as its handle");
        if matches!(request, Request::Write { .. } | Request::WriteAt { .. }) {
            object.made[asking.to.index()] += 1;
        }
        let message = Message::Call { id, object: asking.object, epoch: object.ledger.epoch, request };
        self.mail.post_for(out, asking.reason, asking.to, &message, payload);
        id
    }

    /// The answer to a request, once it is here.
    pub(crate) fn take_reply(&mut self, id: CallId) -> Option<Result<Vec<u8>, Error>> {
        self.calls.get(&id)?.reply.as_ref()?;
        self.calls.remove(&id)?.reply
    }

    /// Gives up a request whose answer nobody waits for any more.
    pub(crate) fn give_up(&mut self, id: CallId) {
        self.calls.remove(&id);
    }

    /// Lends memory of the caller to the transport, to be written.
    pub(crate) fn lend_mut(&mut self, lent: LentMut) -> Token {
        self.loans.add(Loan::CallerMut(lent))
    }

    /// Lends memory of the caller to the transport, to be read.
    pub(crate) fn lend(&mut self, lent: Lent) -> Token {
        self.loans.add(Loan::Caller(lent))
    }

    /// Takes it back.
    pub(crate) fn withdraw(&mut self, token: Token) {
        self.loans.end(token);
    }

    /// Registers a guard.
    pub(crate) fn open_guard(
        &mut self,
        id: ObjectId,
        behaviour: &'static str,
        site: &Site,
        mutable: bool,
        awaited: bool,
    ) -> u64 {
        self.next_guard += 1;
        let guard = OpenGuard { id: self.next_guard, behaviour, site: site.clone(), mutable, awaited };
        self.objects.get_mut(&id).expect("an object lives as long as its handle").open.push(guard);
        self.next_guard
    }

    /// A guard ends, having given back what it was lent. One that ends by a panic poisons its object.
    pub(crate) fn close_guard(&mut self, id: ObjectId, guard: u64, panicking: bool, out: &mut Outbox) {
        let Some(object) = self.objects.get_mut(&id) else {
            return;
        };
        let Some(at) = object.open.iter().position(|open| open.id == guard) else {
            return;
        };
        let guard = object.open.remove(at);
        if panicking && !self.ended {
            let error = Error::Poisoned {
                rank: self.me,
                behaviour: guard.behaviour.into(),
                object: object.name.clone(),
                opened: guard.site,
            };
            self.fail(Some(id), error, out);
        }
        self.advance(id, out);
    }

    /// Lends our block to its owner for writing. Transfers that still read it go on from a copy.
    pub(crate) fn take_block(&mut self, id: ObjectId) -> Option<Arc<dyn Storage>> {
        let object = self.objects.get_mut(&id)?;
        if object.block.in_flight > 0 {
            let copy = object.block.share()?.duplicate();
            self.loans.detach_block(id, &copy);
            object.block.in_flight = 0;
        }
        object.block.take()
    }

    /// Enters a ReadCache: announces it to all, each announcement with our block if it has changed.
    pub(crate) fn enter_read_cache(&mut self, id: ObjectId, site: &Site, out: &mut Outbox) -> Result<Epoch, Error> {
        let (me, size) = (self.me, self.size);
        let opening = Opening { behaviour: Collective::ReadCache, op: None, site: site.clone().clipped() };
        let epoch = self.enter(id, opening.clone(), out)?;
        let object = self.objects.get_mut(&id).expect("just entered");
        let element = object.block.element;
        let range = object.dist.range(me);
        let bytes = object.block.bytes().expect("no write guard is open");
        let fresh = object.fresh.clone();
        let replica = object.cache.loading(epoch, size, || fresh());
        if replica.have[me.index()] != object.block.version {
            replica.bytes_mut()[range.start * element..range.end * element].copy_from_slice(bytes);
            replica.have[me.index()] = object.block.version;
        }
        object.touched = Some(Vec::new());
        let mut made: Vec<(u32, u64)> = std::mem::replace(&mut object.made, vec![0; size])
            .into_iter()
            .enumerate()
            .filter(|(_, writes)| *writes > 0)
            .map(|(owner, writes)| (owner as u32, writes))
            .collect();
        let version = object.block.version;
        let changed = version != object.pushed && !range.is_empty();
        let contains = object.applied;
        let record = object.ledger.record(epoch);
        for (owner, writes) in &made {
            record.made[*owner as usize] += writes;
        }
        record.mine_complete = true;
        let reason = Reason { object: Some(id), action: "ReadCache", site: Some(site.clone()) };
        let list_follows = made.len() > ANNOUNCED_WRITES;
        let list = list_follows.then(|| std::mem::take(&mut made));
        let message = Message::Enter { object: id, epoch, opening, version, contains, made, list_follows };
        for rank in me.others(size) {
            let payload = if changed {
                let object = self.objects.get_mut(&id).expect("just entered");
                let serial = object.cache.begin_send(epoch);
                let token = self.loans.add(Loan::CacheOut { object: id, serial, base: range.start * element });
                Payload::Lent { token, len: range.len() * element }
            } else {
                Payload::Empty
            };
            self.mail.post_for(out, &reason, rank, &message, payload);
            if let Some(list) = &list {
                let list = postcard::to_allocvec(list).expect("pairs of numbers");
                let message = Message::Made { object: id, epoch };
                self.mail.post_for(out, &reason, rank, &message, Payload::Bytes(list.into()));
            }
        }
        self.advance(id, out);
        Ok(epoch)
    }

    /// Enters a collective scope.
    pub(crate) fn enter(&mut self, id: ObjectId, opening: Opening, out: &mut Outbox) -> Result<Epoch, Error> {
        let me = self.me;
        let object = self.objects.get_mut(&id).expect("an object lives as long as its handle");
        let name = object.name.clone();
        let entered = object.ledger.enter(opening.clone());
        entered.map_err(|(other, theirs)| {
            let error = crate::collective::mismatch(opening.claim(me, &name), theirs.claim(other, &name));
            self.fail(Some(id), error.clone(), out);
            error
        })
    }

    /// All who have dropped an object must have entered the same scopes of it. Ranks that drop it amid a failure have not:
    /// so this is told only at the end of `run`, if it ends well otherwise; who waits for such a rank hears of it at once.
    pub(crate) fn compare_ends(&mut self, id: ObjectId) {
        let Some(object) = self.objects.get(&id).filter(|o| o.fault.is_none()) else {
            return;
        };
        let (mine, gone) = (&object.ledger, object.dropped[self.me.index()]);
        let error = object.ends.iter().enumerate().find_map(|(rank, end)| {
            let (epoch, last) = end.as_ref()?;
            let differs = match (&mine.last, last) {
                (Some(mine), Some(theirs)) if *epoch == object.ledger.epoch => !mine.agrees_with(theirs),
                _ => false,
            };
            let fewer = *epoch < mine.epoch;
            if !(fewer || differs || gone && *epoch > mine.epoch) {
                return None;
            }
            let mut theirs = Ledger::claim_of(Rank::new(rank), last.as_ref(), &object.name);
            if fewer {
                theirs.action.insert_str(0, "has dropped it since it ");
            }
            Some(crate::collective::mismatch(mine.last_claim(&object.name), theirs))
        });
        if let Some(error) = error {
            self.deferred.get_or_insert(error);
        }
    }

    /// Sends a batch of a ReleaseC scope to an owner, ourselves included.
    pub(crate) fn send_batch(
        &mut self,
        scope: &ReleaseScope<'_>,
        owner: Rank,
        op: Option<OpId>,
        bytes: Vec<u8>,
        out: &mut Outbox,
    ) {
        let (id, epoch) = (scope.object, scope.epoch);
        let me = self.me;
        let Some(object) = self.objects.get_mut(&id) else {
            return;
        };
        object.outstanding[owner.index()] += 1;
        if owner == me {
            let work = Work::Batch { epoch, seq: scope.sent, op, acknowledge: true };
            self.work(id, Parked { from: me, work, payload: bytes }, out);
            self.advance(id, out);
        } else {
            let opening = scope.opening.clone();
            let message = Message::Batch { object: id, epoch, seq: scope.sent, opening, op };
            self.mail.post_for(out, scope.reason, owner, &message, Payload::Bytes(bytes.into()));
        }
    }

    /// Ends a ReleaseC scope: `sent` says how many batches went to each owner, `last` what is still to go. That goes with
    /// the word of the end, and nobody waits for room: how many scopes a rank may be ahead is bounded.
    pub(crate) fn end_release(
        &mut self,
        scope: &ReleaseScope<'_>,
        sent: &[u64],
        mut last: Vec<Option<LastBatch>>,
        out: &mut Outbox,
    ) {
        let (id, epoch, me) = (scope.object, scope.epoch, self.me);
        let Some(object) = self.objects.get_mut(&id) else {
            return;
        };
        let record = object.ledger.record(epoch);
        record.mine_complete = true;
        record.from[me.index()].batches = sent[me.index()] + u64::from(last[me.index()].is_some());
        for rank in me.others(self.size) {
            let last = last[rank.index()].take();
            let message = Message::End {
                object: id,
                epoch,
                opening: scope.opening.clone(),
                batches: sent[rank.index()] + u64::from(last.is_some()),
                op: last.as_ref().and_then(|last| last.op),
            };
            let payload = last.map_or(Payload::Empty, |last| Payload::Bytes(last.bytes.into()));
            self.mail.post_for(out, scope.reason, rank, &message, payload);
        }
        if let Some(LastBatch { op, bytes }) = last[me.index()].take() {
            let work = Work::Batch { epoch, seq: sent[me.index()], op, acknowledge: false };
            self.work(id, Parked { from: me, work, payload: bytes }, out);
        }
        self.advance(id, out);
    }

    /// `fill` is over on this rank: its epoch needs nothing of the others, who have all come before.
    pub(crate) fn end_fill(&mut self, id: ObjectId, epoch: Epoch, out: &mut Outbox) {
        if let Some(object) = self.objects.get_mut(&id) {
            object.ledger.settled = epoch;
            object.ledger.forget(epoch);
        }
        self.advance(id, out);
    }

    /// The handle of an object is gone.
    pub(crate) fn drop_object(&mut self, id: ObjectId, panicking: bool, out: &mut Outbox) {
        let Some(object) = self.objects.get_mut(&id) else {
            return;
        };
        object.dropped[self.me.index()] = true;
        if let Some(guard) = object.open.first()
            && object.fault.is_none()
            && !panicking
        {
            let leak = object.leak(self.me, guard);
            self.deferred.get_or_insert(leak.clone());
            self.fail(Some(id), leak, out);
        }
        if self.ended || self.fault.is_some() {
            return;
        }
        self.farewells[self.me.index()] += 1;
        self.compare_ends(id);
        let object = self.objects.get(&id).expect("still there");
        let sound = object.fault.is_none() && !panicking;
        let scopes = sound.then(|| (object.ledger.epoch, object.ledger.last.clone()));
        for rank in self.others() {
            let message = Message::Dropped { object: id, scopes: scopes.clone() };
            self.mail.post(out, rank, &message, Payload::Empty);
        }
        self.bury(id);
    }

    /// This rank has left the closure. A guard that is still open was forgotten.
    pub(crate) fn leave(&mut self, out: &mut Outbox) -> Result<(), Error> {
        let leak = self.objects.values().find_map(|o| o.open.first().map(|guard| o.leak(self.me, guard)));
        if let Some(leak) = leak {
            self.fail(None, leak.clone(), out);
            return Err(leak);
        }
        self.leaving = true;
        for rank in self.others() {
            let dropped = self.farewells[self.me.index()];
            self.mail.post(out, rank, &Message::Left { dropped }, Payload::Empty);
        }
        Ok(())
    }

    /// Whether every rank has left, and all its farewells to objects, which come in any order, are here: they may tell
    /// of scopes that not all ranks have entered.
    pub(crate) fn all_left(&self) -> bool {
        self.others().all(|rank| self.has_left(rank))
    }

    pub(crate) fn has_left(&self, rank: Rank) -> bool {
        self.left[rank.index()] == Some(self.farewells[rank.index()])
    }

    /// An object as it is at its construction.
    pub(crate) fn ledger(&self) -> Ledger {
        Ledger::new(self.me, self.size)
    }
}

/// What is left of a ReleaseC scope for one owner at its end.
pub(crate) struct LastBatch {
    pub(crate) op: Option<OpId>,
    pub(crate) bytes: Vec<u8>,
}

/// A ReleaseC scope under way.
pub(crate) struct ReleaseScope<'a> {
    pub(crate) object: ObjectId,
    pub(crate) epoch: Epoch,
    pub(crate) opening: &'a Opening,
    pub(crate) reason: &'a Reason,
    /// Batches sent to this owner before.
    pub(crate) sent: u64,
}
