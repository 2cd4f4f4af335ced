//! The functions of the kernel for the objects of this crate.

use super::Cx;
use crate::error::Done;
use crate::ids::{CallId, ObjectId};
use crate::kernel::asking::Asking;
use crate::memory::{Budget, Shortage};
use crate::object::{GuardId, OpenGuard, Until, Wait};
use crate::operation::SameNumber;
use crate::race::{Clock, Time};
use crate::window::Window;
use crate::{Error, Site};
use aurora_net::{Outbox, Payload, Rank};
use serde::Serialize;
use std::any::type_name;

impl Cx<'_> {
    pub(crate) fn id(&self) -> ObjectId {
        self.frame.id
    }

    /// As `ask`, with all options. An answer that the program waits for is taken with [`Core::take_reply`].
    pub(crate) fn ask_as(
        &mut self,
        asking: Asking<'_>,
        request: &impl Serialize,
        payload: impl Into<Payload>,
    ) -> Result<CallId, Error> {
        self.existing(asking.to)?;
        let asked = self.core.ask(self.frame.id, asking, request, payload.into(), self.out);
        asked.map_err(|bad| self.error(bad))
    }

    /// Makes the object faulty on this rank alone. False if it was faulty already.
    pub(crate) fn note_fault(&mut self, error: &Error) -> bool {
        if self.frame.fault.is_some() {
            return false;
        }
        self.frame.fault = Some(error.clone());
        self.frame.is_failing = true;
        self.core.watch.progress();
        true
    }

    /// The rank has panicked in `behaviour`, opened at this line: the object may be half changed. Returns its fault.
    pub(crate) fn poison(&mut self, behaviour: &str, opened: Option<Site>) -> Error {
        let object = self.frame.name.clone();
        let opened = opened.unwrap_or_else(|| object.made_at.clone());
        let error = Error::Poisoned { rank: self.core.me, behaviour: behaviour.into(), object, opened };
        self.fail(error.clone());
        error
    }

    /// Checking mode: the time of this rank's accesses so far, for ranks whose accesses come after them.
    pub(crate) fn release(&mut self) -> Option<Time> {
        self.core.modes.check.then(|| self.core.order.release().short())
    }

    /// As [`usable`](Cx::usable), for a use of a part of the object.
    pub(crate) fn usable_in(&mut self, mutable: bool, window: Window) -> Result<(), Error> {
        let forgotten = self.frame.open.iter().find(|guard| guard.forbids(mutable, window));
        if let Some(guard) = forgotten
            && self.is_sound()
        {
            let leak = self.frame.leak(self.core.me, guard);
            self.fail(leak);
        }
        self.sound()
    }

    /// The limit of copies on this rank.
    pub(crate) fn budget(&self) -> Budget {
        self.core.budget
    }

    /// Checks that this rank may make a copy of `bytes`, `untaken` of which the system has not given yet. If it may
    /// not, the object fails.
    pub(crate) fn admit_copy(
        &mut self,
        purpose: &str,
        (bytes, untaken): (usize, usize),
        site: &Site,
    ) -> Result<(), Error> {
        self.core.budget.admit(bytes, untaken).map_err(|limit| {
            let error = limit.error(self.core.me, (purpose, bytes), self.frame.name.clone(), site);
            self.fail(error.clone());
            error
        })
    }

    /// There is no memory for `purpose` on this rank: the object is faulty on all ranks.
    pub(crate) fn no_memory(&mut self, shortage: Shortage, purpose: &str, site: &Site) -> Error {
        let error = shortage.error(self.core.me, purpose, self.frame.name.clone(), site);
        self.fail(error.clone());
        error
    }

    /// Registers a guard. `mutable`: it borrows the object mutably. `awaited`: all ranks await its end.
    pub(crate) fn open_guard(
        &mut self,
        (behaviour, site): (&'static str, &Site),
        (mutable, awaited): (bool, bool),
        window: Window,
    ) -> GuardId {
        self.core.next_guard += 1;
        let id = self.core.next_guard;
        let span = crate::trace::scope(behaviour, &self.frame.name.what, site);
        self.frame.open.push(OpenGuard { id, behaviour, site: site.clone(), mutable, awaited, window, _span: span });
        GuardId::new(id)
    }

    /// A guard ends. A guard that ends by a panic poisons its object.
    pub(crate) fn close_guard(&mut self, guard: GuardId, panicking: bool) {
        let Some(at) = self.frame.open.iter().position(|open| open.id == guard.id) else {
            return;
        };
        let guard = self.frame.open.remove(at);
        if panicking && !self.core.ended {
            let (behaviour, object) = (guard.behaviour.into(), self.frame.name.clone());
            self.fail(Error::Poisoned { rank: self.core.me, behaviour, object, opened: guard.site });
        }
    }

    /// The guards that the program has open.
    pub(crate) fn open_guards(&self) -> &[OpenGuard] {
        &self.frame.open
    }

    /// True while nothing has ended the object or the job.
    pub(crate) fn is_live(&self) -> bool {
        self.core.is_usable() && self.is_sound()
    }

    /// The outcome of a wait that ends when `done`, or when an error has ended the object.
    pub(crate) fn sound_if(&self, done: bool) -> Option<Result<(), Error>> {
        (done || !self.is_sound()).then(|| self.sound())
    }

    /// True if a rank has dropped its handle.
    pub(crate) fn has_dropped(&self, rank: Rank) -> bool {
        self.frame.dropped[rank.index()]
    }

    /// True if the program's thread waits with this number.
    pub(crate) fn waits_with(&self, number: u64) -> bool {
        self.waiting().is_some_and(|wait| wait.number == number)
    }

    /// True if the program's thread waits for the end of scopes: that wait returns the error of a write.
    pub(crate) fn waits_for_ends(&self) -> bool {
        self.waiting().is_some_and(|wait| wait.until == Until::Ended)
    }

    fn waiting(&self) -> Option<Wait> {
        let wait = self.core.watch.waiting().and_then(|waiting| waiting.wait.wait());
        wait.filter(|(of, _)| *of == self.frame.id).map(|(_, wait)| wait)
    }

    /// The times of this rank's accesses, in checking mode.
    pub(crate) fn order(&self) -> &Clock {
        &self.core.order
    }

    pub(crate) fn order_mut(&mut self) -> &mut Clock {
        &mut self.core.order
    }

    /// True in the strict checking mode.
    pub(crate) fn is_strict(&self) -> bool {
        self.core.modes.strict
    }

    /// Fails the job if a node peer has held a latch for too long.
    pub(crate) fn none_given_up(&mut self) -> Done {
        self.core.none_given_up(self.out)
    }

    /// Memory of the transport, and mailboxes.
    pub(crate) fn outbox(&self) -> &Outbox {
        self.out
    }

    /// Gives the buffer of a payload back.
    pub(crate) fn recycle(&mut self, buffer: Vec<u8>) {
        self.out.recycle(buffer);
    }

    /// The fault of a request that does not fit: another build of the program, or a bug of ours.
    pub(crate) fn nonsense(&self) -> Error {
        Error::Start(format!("a request does not fit {}: do all ranks run the same build of the program?", self.name()))
    }

    pub(crate) fn unknown_op(&self) -> Error {
        Error::UnknownOp { op: "of that name".into(), object: self.name().clone(), site: self.made_at().clone() }
    }

    /// Two operations of the program have one number: the one whose function is known, and `O`.
    pub(crate) fn same_number<O>(&self, SameNumber(first): SameNumber, site: &Site) -> Error {
        let object = Box::new(self.name().clone());
        Error::SameNumber { first: first.into(), second: type_name::<O>().into(), object, site: site.clone() }
    }
}
