//! Using an object on its own rank: may it be used now, who has it open, and the barrier.

use super::{Entry, Kernel, Reason};
use crate::collective::{Came, ObjectState, Summary};
use crate::error::Claim;
use crate::ids::ObjectId;
use crate::kernel::message::Message;
use crate::object::{Cx, OpenGuard};
use crate::window::Window;
use crate::{Error, Site};
use aurora_net::bootstrap::Failure;
use aurora_net::{Outbox, Payload, Rank};
use bytes::Bytes;
use std::collections::BTreeMap;

impl Kernel {
    /// The control plane says that another rank has failed.
    pub(crate) fn job_failed(&mut self, failure: Failure) {
        self.note_job_fault(&Error::heard(failure));
    }

    /// What has ended an object, if anything has, as the error of a call.
    pub(crate) fn sound(&self, id: ObjectId) -> Result<(), Error> {
        self.objects.get(&id).map_or(Ok(()), |entry| entry.frame.sound())
    }

    /// What this rank brings to a barrier, as one number: equal on all ranks if there is nothing to tell.
    pub(crate) fn digest(&self, key: u64, mut to_tell: bool) -> u64 {
        let mut digest = key;
        let mut add = |value: u64| digest = crate::digest::add(digest, value);
        let me = self.core.me.index();
        let mine = self.objects.iter().filter(|(_, entry)| !entry.frame.dropped[me]);
        for (id, Entry { frame, machine: object }) in mine {
            add(id.0);
            add(object.entered() << 1 | u64::from(frame.open.iter().any(|guard| guard.awaited)));
            add(object.digest());
            to_tell |= frame.fault.is_some();
        }
        if to_tell {
            add(1 + me as u64);
        }
        digest
    }

    /// Tells all ranks what this one has arrived at a barrier for, and what it brings.
    pub(crate) fn start_barrier(&mut self, came: &Came<'_>, word: Option<Bytes>, site: &Site, out: &mut Outbox) {
        let claim = Claim { rank: self.core.me, action: came.action.to_string(), site: site.clone() };
        let me = self.core.me;
        let objects = self.objects.iter().filter(|(_, entry)| !entry.frame.dropped[me.index()]);
        let objects: BTreeMap<_, _> = objects
            .map(|(id, Entry { frame, machine: object })| {
                let awaited = frame.open.iter().find(|guard| guard.awaited);
                let state = ObjectState {
                    rank: me,
                    epoch: object.entered(),
                    entered: object.digest(),
                    last: object.claim(&frame.name),
                    open: awaited.map(|guard| Box::new(frame.leak(me, guard))),
                    fault: frame.fault.clone().map(Box::new),
                };
                (*id, state)
            })
            .collect();
        let summary = Summary::new(claim, came.key, objects, came.refusal.clone());
        let mut told = Vec::new();
        self.core.barrier.start(summary.asking(came.demand.clone()).bringing(word), &mut told);
        self.core.tell(told, out);
    }

    /// Gives pieces to other ranks, in a step of the barrier at which this rank has arrived last.
    pub(crate) fn give(
        &mut self,
        (what, step): (&'static str, u32),
        pieces: Vec<(Rank, Bytes)>,
        site: &Site,
        out: &mut Outbox,
    ) {
        let reason = Reason { action: what, site: Some(site.clone()) };
        let message = Message::Piece { seq: self.core.barrier.seq(), step };
        for (to, piece) in pieces {
            self.core.mail.say_for(out, to, &message, Payload::Bytes(piece), Some(&reason));
        }
    }
}

impl Cx<'_> {
    /// Registers a guard, which borrows the object mutably or not, and whose end all ranks await or not.
    pub(crate) fn open_guard(
        &mut self,
        (behaviour, site): (&'static str, &Site),
        (mutable, awaited): (bool, bool),
        window: Window,
    ) -> u64 {
        self.core.next_guard += 1;
        let id = self.core.next_guard;
        let span = crate::trace::scope(behaviour, &self.frame.name.what, site);
        self.frame.open.push(OpenGuard { id, behaviour, site: site.clone(), mutable, awaited, window, _span: span });
        id
    }

    /// A guard ends, having given back what it was lent. One that ends by a panic poisons its object.
    pub(crate) fn close_guard(&mut self, guard: u64, panicking: bool) {
        let Some(at) = self.frame.open.iter().position(|open| open.id == guard) else {
            return;
        };
        let guard = self.frame.open.remove(at);
        if panicking && !self.core.ended {
            let (behaviour, object) = (guard.behaviour.into(), self.frame.name.clone());
            self.fail(Error::Poisoned { rank: self.core.me, behaviour, object, opened: guard.site });
        }
    }
}
