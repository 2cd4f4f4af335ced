//! Using an object on its own rank: may it be used now, who has it open, and the rendezvous of all ranks.

use super::{Entry, Kernel, Reason};
use crate::collective::{Came, ObjectState, Summary};
use crate::error::Claim;
use crate::ids::ObjectId;
use crate::kernel::message::Message;
use crate::memory::Storage;
use crate::object::{Cx, OpenGuard};
use crate::vector::object::Object;
use crate::window::Window;
use crate::{Error, Site};
use aurora_net::bootstrap::Failure;
use aurora_net::{Outbox, Payload, Rank};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

impl Kernel {
    /// The control plane says that another rank has failed.
    pub(crate) fn job_failed(&mut self, failure: Failure) {
        self.note_job_fault(&Error::heard(failure));
    }

    /// Whether an object may be used now, for writing if `mutable`.
    pub(crate) fn usable(&mut self, id: ObjectId, mutable: bool, out: &mut Outbox) -> Result<(), Error> {
        let usable = self.with(id, out, |_, cx| cx.usable(mutable, Window::WHOLE));
        usable.expect("an object lives as long as its handle")
    }

    /// What has ended an object, if anything has, as the error of a call.
    pub(crate) fn sound(&self, id: ObjectId) -> Result<(), Error> {
        self.objects.get(&id).map_or(Ok(()), |entry| entry.frame.sound())
    }

    /// What this rank comes to a rendezvous with, as one number: equal on all ranks if there is nothing to tell.
    pub(crate) fn digest(&self, key: u64, mut to_tell: bool) -> u64 {
        let mut digest = key;
        let mut add = |value: u64| digest = crate::digest::add(digest, value);
        let me = self.core.me.index();
        let mine = self.objects.iter().filter(|(_, entry)| !entry.frame.dropped[me]);
        for (id, Entry { frame, machine: object }) in mine {
            add(id.0);
            add(object.ledger.epoch << 1 | u64::from(frame.open.iter().any(|guard| guard.awaited)));
            add(object.ledger.entered());
            to_tell |= frame.fault.is_some();
        }
        if to_tell {
            add(1 + me as u64);
        }
        digest
    }

    /// Tells all ranks what this one has come to a rendezvous for, and what it brings.
    pub(crate) fn meet(&mut self, came: &Came<'_>, word: Option<Bytes>, site: &Site, out: &mut Outbox) {
        let claim = Claim { rank: self.core.me, action: came.action.to_string(), site: site.clone() };
        let me = self.core.me;
        let objects = self.objects.iter().filter(|(_, entry)| !entry.frame.dropped[me.index()]);
        let objects: BTreeMap<_, _> = objects
            .map(|(id, Entry { frame, machine: object })| {
                let awaited = frame.open.iter().find(|guard| guard.awaited);
                let state = ObjectState {
                    rank: me,
                    epoch: object.ledger.epoch,
                    entered: object.ledger.entered(),
                    last: object.ledger.last_claim(&frame.name),
                    open: awaited.map(|guard| Box::new(frame.leak(me, guard))),
                    fault: frame.fault.clone().map(Box::new),
                };
                (*id, state)
            })
            .collect();
        let summary = Summary::new(claim, came.key, objects, came.refusal.clone());
        let mut told = Vec::new();
        self.core.rendezvous.start(summary.asking(came.demand.clone()).bringing(word), &mut told);
        self.core.tell(told, out);
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
        let message = Message::Piece { seq: self.core.rendezvous.seq(), step };
        for (to, piece) in pieces {
            self.core.mail.post_for(out, &reason, to, &message, Payload::Bytes(piece));
        }
    }
}

impl Object {
    /// Whether all earlier scopes of a part are over, so that it may be used, for writing if `mutable`. `None`: not yet.
    pub(crate) fn settled(&mut self, mutable: bool, window: Window, cx: &mut Cx<'_>) -> Option<Result<(), Error>> {
        if let Err(error) = cx.usable(mutable, window) {
            return Some(Err(error));
        }
        if self.ledger.pending(window, self.ledger.epoch).is_none() {
            return Some(Ok(()));
        }
        self.behind = (window, self.ledger.epoch);
        None
    }

    /// As [`Object::settled`], once nothing is sent from the block any more: the gate in front of every write.
    pub(crate) fn gate(&mut self, window: Window, cx: &mut Cx<'_>) -> Option<Result<(), Error>> {
        if let Err(error) = self.settled(true, window, cx)? {
            return Some(Err(error));
        }
        if self.block.is_in_flight() {
            return None;
        }
        // Where it had to move away, and nobody shows its place any more, it is better written there.
        if !self.block.is_at_home() {
            self.block.go_home();
        }
        Some(Ok(()))
    }

    /// Lends elements of our block to its owner for writing. Transfers that still read it go on from a copy.
    pub(crate) fn take_part(&mut self, elements: &Range<usize>, cx: &mut Cx<'_>) -> Option<Arc<dyn Storage>> {
        if self.block.is_in_flight() {
            let copy = self.block.take_from_transfers()?;
            cx.core.loans.detach_block(cx.frame.id, &copy);
        }
        let bytes = self.block.bytes_of(elements);
        self.block.take_part(&bytes)
    }
}

impl Object {
    /// Registers a guard, which borrows the object mutably or not, and whose end all ranks await or not.
    pub(crate) fn open_guard(
        &mut self,
        (behaviour, site): (&'static str, &Site),
        (mutable, awaited): (bool, bool),
        window: Window,
        cx: &mut Cx<'_>,
    ) -> u64 {
        cx.core.next_guard += 1;
        let id = cx.core.next_guard;
        let span = crate::trace::scope(behaviour, &cx.frame.name.what, site);
        cx.frame.open.push(OpenGuard { id, behaviour, site: site.clone(), mutable, awaited, window, _span: span });
        self.refresh(cx.frame, cx.core.is_usable());
        id
    }

    /// A guard ends, having given back what it was lent. One that ends by a panic poisons its object.
    pub(crate) fn close_guard(&mut self, guard: u64, panicking: bool, cx: &mut Cx<'_>) {
        let Some(at) = cx.frame.open.iter().position(|open| open.id == guard) else {
            return;
        };
        let guard = cx.frame.open.remove(at);
        if panicking && !cx.core.ended {
            let (behaviour, object) = (guard.behaviour.into(), cx.frame.name.clone());
            cx.fail(Error::Poisoned { rank: cx.core.me, behaviour, object, opened: guard.site });
        }
        self.advance(cx);
    }
}
