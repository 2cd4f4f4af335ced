//! Using an object on its own rank: may it be used now, who has it open, and the rendezvous of all ranks.

use super::{Reason, Service};
use crate::collective::{Came, ObjectState, Summary};
use crate::epoch::Ledger;
use crate::error::Claim;
use crate::ids::ObjectId;
use crate::kernel::message::Message;
use crate::memory::Storage;
use crate::vector::object::{Object, OpenGuard};
use crate::window::Window;
use crate::{Error, Site};
use aurora_net::bootstrap::Failure;
use aurora_net::{Outbox, Payload, Rank};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

impl Service {
    /// An object as it is at its construction.
    pub(crate) fn ledger(&self) -> Ledger {
        Ledger::new(self.me, self.size)
    }

    /// The control plane says that another rank has failed.
    pub(crate) fn job_failed(&mut self, failure: Failure, out: &mut Outbox) {
        self.note_fault(None, &Error::heard(failure), out);
    }

    /// Whether an object may be used now, for writing if `mutable`. A guard that was forgotten is found here: while a
    /// guard lives the borrow checker keeps such a use from happening.
    pub(crate) fn usable(&mut self, id: ObjectId, mutable: bool, out: &mut Outbox) -> Result<&mut Object, Error> {
        self.usable_in(id, mutable, Window::WHOLE, out)
    }

    /// As [`Service::usable`], of a part of it: guards of other parts are not in the way.
    pub(crate) fn usable_in(
        &mut self,
        id: ObjectId,
        mutable: bool,
        window: Window,
        out: &mut Outbox,
    ) -> Result<&mut Object, Error> {
        let Some(object) = self.objects.get(&id) else {
            unreachable!("an object lives as long as its handle");
        };
        let forgotten = object.open.iter().find(|guard| guard.forbids(mutable, window));
        if let Some(guard) = forgotten
            && object.fault.is_none()
        {
            let leak = object.leak(self.me, guard);
            self.fail(Some(id), leak, out);
        }
        let object = self.objects.get_mut(&id).expect("still there");
        object.sound().map(|()| object)
    }

    /// As [`Service::usable`], once all earlier scopes of the object are over.
    pub(crate) fn settled(
        &mut self,
        id: ObjectId,
        mutable: bool,
        out: &mut Outbox,
    ) -> Option<Result<&mut Object, Error>> {
        self.settled_in(id, mutable, Window::WHOLE, out)
    }

    /// As [`Service::usable_in`], once all earlier scopes of that part are over.
    pub(crate) fn settled_in(
        &mut self,
        id: ObjectId,
        mutable: bool,
        window: Window,
        out: &mut Outbox,
    ) -> Option<Result<&mut Object, Error>> {
        match self.usable_in(id, mutable, window, out) {
            Err(error) => Some(Err(error)),
            Ok(object) if object.ledger.pending(window, object.ledger.epoch).is_none() => Some(Ok(object)),
            Ok(object) => {
                object.behind = (window, object.ledger.epoch);
                None
            }
        }
    }

    /// As [`Service::settled`], once nothing is sent from the block any more: the gate in front of every write.
    pub(crate) fn gate(&mut self, id: ObjectId, out: &mut Outbox) -> Option<Result<&mut Object, Error>> {
        self.gate_in(id, Window::WHOLE, out)
    }

    /// The same, in front of writes to a part.
    pub(crate) fn gate_in(
        &mut self,
        id: ObjectId,
        window: Window,
        out: &mut Outbox,
    ) -> Option<Result<&mut Object, Error>> {
        match self.settled_in(id, true, window, out)? {
            Ok(object) if object.block.is_in_flight() => None,
            Ok(object) => {
                // Where it had to move away, and nobody shows its place any more, it is better written there.
                if !object.block.is_at_home() {
                    object.block.go_home();
                }
                Some(Ok(object))
            }
            other => Some(other),
        }
    }

    /// Registers a guard of a whole object.
    pub(crate) fn open_guard(
        &mut self,
        id: ObjectId,
        behaviour: &'static str,
        site: &Site,
        mutable: bool,
        awaited: bool,
    ) -> u64 {
        self.open_guard_in(id, behaviour, site, (mutable, awaited), Window::WHOLE)
    }

    /// Registers a guard of a part.
    pub(crate) fn open_guard_in(
        &mut self,
        id: ObjectId,
        behaviour: &'static str,
        site: &Site,
        (mutable, awaited): (bool, bool),
        window: Window,
    ) -> u64 {
        self.next_guard += 1;
        let object = self.objects.get_mut(&id).expect("an object lives as long as its handle");
        let span = crate::trace::scope(behaviour, &object.name.what, site);
        let guard =
            OpenGuard { id: self.next_guard, behaviour, site: site.clone(), mutable, awaited, window, _span: span };
        object.open.push(guard);
        self.refresh(id);
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

    /// Lends elements of our block to its owner for writing. Transfers that still read it go on from a copy.
    pub(crate) fn take_part(&mut self, id: ObjectId, elements: &Range<usize>) -> Option<Arc<dyn Storage>> {
        let object = self.objects.get_mut(&id)?;
        if object.block.is_in_flight() {
            let copy = object.block.take_from_transfers()?;
            self.loans.detach_block(id, &copy);
        }
        let bytes = object.block.bytes_of(elements);
        object.block.take_part(&bytes)
    }

    /// What this rank comes to a rendezvous with, as one number: equal on all ranks if there is nothing to tell.
    pub(crate) fn digest(&self, key: u64, mut to_tell: bool) -> u64 {
        let mut digest = key;
        let mut add = |value: u64| digest = crate::digest::add(digest, value);
        for (id, object) in self.objects.iter().filter(|(_, object)| !object.dropped[self.me.index()]) {
            add(id.0);
            add(object.ledger.epoch << 1 | u64::from(object.open.iter().any(|guard| guard.awaited)));
            add(object.ledger.entered());
            to_tell |= object.fault.is_some();
        }
        if to_tell {
            add(1 + self.me.index() as u64);
        }
        digest
    }

    /// Tells all ranks what this one has come to a rendezvous for, and what it brings.
    pub(crate) fn meet(&mut self, came: &Came<'_>, word: Option<Bytes>, site: &Site, out: &mut Outbox) {
        let claim = Claim { rank: self.me, action: came.action.to_string(), site: site.clone() };
        let objects = self.objects.iter().filter(|(_, object)| !object.dropped[self.me.index()]);
        let objects: BTreeMap<_, _> = objects
            .map(|(id, object)| {
                let awaited = object.open.iter().find(|guard| guard.awaited);
                let state = ObjectState {
                    rank: self.me,
                    epoch: object.ledger.epoch,
                    entered: object.ledger.entered(),
                    last: object.ledger.last_claim(&object.name),
                    open: awaited.map(|guard| Box::new(object.leak(self.me, guard))),
                    fault: object.fault.clone().map(Box::new),
                };
                (*id, state)
            })
            .collect();
        let summary = Summary::new(claim, came.key, objects, came.refusal.clone());
        let mut told = Vec::new();
        self.rendezvous.start(summary.asking(came.demand.clone()).bringing(word), &mut told);
        self.tell(told, out);
    }

    /// Gives pieces to other ranks, in a step of the rendezvous to which this rank has come last.
    pub(crate) fn give(
        &mut self,
        (what, step): (&'static str, u32),
        pieces: Vec<(Rank, Bytes)>,
        site: &Site,
        out: &mut Outbox,
    ) {
        let reason = Reason { object: None, action: what, site: Some(site.clone()) };
        let message = Message::Piece { seq: self.rendezvous.seq(), step };
        for (to, piece) in pieces {
            self.mail.post_for(out, &reason, to, &message, Payload::Bytes(piece));
        }
    }
}
