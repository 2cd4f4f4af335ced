//! The calling object's way to its rank's kernel.

mod inside;

use crate::ids::CallId;
use crate::kernel::asking::{Asking, When};
use crate::kernel::message::to_object;
use crate::kernel::{Core, Reason};
use crate::object::{Call, Frame, Loan, Malformed};
use crate::window::Window;
use crate::{Error, Kind, ObjectName, Site};
use aurora_net::{Buffer, Doorbell, Outbox, Payload, Rank, Source};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

/// The options of a message.
#[derive(Clone, Copy, Debug)]
pub struct How<'a> {
    pub(crate) kind: Kind,
    pub(crate) lazy: bool,
    /// The program's action and its line: the message is counted there.
    pub(crate) reason: Option<&'a Reason>,
}

impl Default for How<'_> {
    fn default() -> Self {
        How { kind: Kind::Object, lazy: false, reason: None }
    }
}

impl<'a> How<'a> {
    /// Wakes a receiver that shares memory with this rank only if one of its threads waits. Otherwise the receiver
    /// handles the message when it next looks, after about a second, or after [`Cx::nudge`].
    pub fn lazy(self) -> Self {
        How { lazy: true, ..self }
    }

    /// Counts the message at this line of the program ([`Cx::reason`]), for [`World::usage`](crate::World::usage).
    pub fn on(self, reason: &'a Reason) -> Self {
        How { reason: Some(reason), kind: reason.kind, ..self }
    }
}

/// Decodes a header.
///
/// # Errors
/// [`Malformed`] if the header is not a `T`: another build of the program has sent it.
pub fn decode<T: DeserializeOwned>(header: &[u8]) -> Result<T, Malformed> {
    match postcard::take_from_bytes(header) {
        Ok((header, [])) => Ok(header),
        _ => Err(Malformed),
    }
}

/// The functions of the kernel that an object may use during a call of the kernel.
pub struct Cx<'a> {
    pub(super) core: &'a mut Core,
    pub(super) frame: &'a mut Frame,
    pub(super) out: &'a mut Outbox,
}

impl std::fmt::Debug for Cx<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cx").field("object", &self.frame.name).finish_non_exhaustive()
    }
}

impl Cx<'_> {
    /// Returns this rank.
    pub fn me(&self) -> Rank {
        self.core.me
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> usize {
        self.core.size
    }

    /// Returns the name of the object, and the line that has made it.
    pub fn name(&self) -> &ObjectName {
        &self.frame.name
    }

    /// Returns the line that has made the object.
    pub fn made_at(&self) -> &Site {
        &self.frame.name.made_at
    }

    /// True in checking mode (`AURORA_CHECK=1`): the library looks for races.
    pub fn checks(&self) -> bool {
        self.core.modes.check
    }

    /// Checks that this rank may make a copy of shared data of `bytes` bytes: `AURORA_CACHE_LIMIT`, or half of the free
    /// memory. `purpose` names the copy in errors. [`Shared::zeros`](crate::object::Shared::zeros) also takes the
    /// memory.
    ///
    /// # Errors
    /// [`Error::CacheLimit`], which makes the object faulty.
    pub fn admit(&mut self, purpose: &str, bytes: usize) -> Result<(), Error> {
        let site = self.made_at().clone();
        self.admit_copy(purpose, (bytes, bytes), &site)
    }

    /// Returns the present time.
    pub fn now(&self) -> Instant {
        self.core.clock.now()
    }

    /// Returns all ranks except this one, the next rank first.
    pub fn others(&self) -> impl Iterator<Item = Rank> + use<> {
        self.core.me.others(self.core.size)
    }

    /// Returns the error that has ended the object, if any.
    pub fn sound(&self) -> Result<(), Error> {
        self.frame.sound()
    }

    /// True while no error has ended the object.
    pub fn is_sound(&self) -> bool {
        self.frame.fault.is_none()
    }

    /// Fails if a forgotten guard forbids this use of the object, for writing if `mutable`. While a guard is in scope,
    /// the borrow checker prevents such a use.
    ///
    /// # Errors
    /// `Leaked`, which makes the object faulty; the error that has ended the object.
    pub fn usable(&mut self, mutable: bool) -> Result<(), Error> {
        self.usable_in(mutable, Window::WHOLE)
    }

    /// Makes the reason of a message about this object, for [`How::on`]: the program's action and its line.
    pub fn reason(&self, action: &'static str, site: Option<Site>) -> Reason {
        Reason { action, site, kind: Kind::Object }
    }

    /// Sends a message to the object on a rank, this one or another. Each arrives once; the order is not fixed.
    pub fn send(&mut self, to: Rank, message: &impl Serialize, payload: impl Into<Payload>, how: How<'_>) {
        let header = self.existing(to).and_then(|()| to_object(self.frame.id, message).map_err(|bad| self.error(bad)));
        let header = match header {
            Ok(header) => header,
            Err(error) => return self.fail(error),
        };
        self.core.mail.post(self.out, to, (header, true), payload.into(), Some(self.frame.id), &how);
    }

    /// Sends a request to the object on a rank, this one or another. The answer comes to
    /// [`reply`](crate::object::SharedObject::reply). A call of the program that waits for an answer uses
    /// [`Shared::ask`](crate::object::Shared::ask).
    pub fn ask(&mut self, to: Rank, request: &impl Serialize, payload: impl Into<Payload>, how: How<'_>) -> CallId {
        let asking = Asking { to, how, landing: None, when: When::Ahead, shown: true, forgotten: true };
        self.ask_as(asking, request, payload).unwrap_or_else(|error| {
            self.fail(error);
            CallId(0)
        })
    }

    fn existing(&self, rank: Rank) -> Result<(), Error> {
        let (size, site) = (self.size(), &self.frame.name.made_at);
        if rank.index() < size { Ok(()) } else { Err(Error::NoSuchRank { rank, size, site: site.clone() }) }
    }

    /// Gives up a request: its answer is discarded when it arrives.
    pub fn give_up(&mut self, id: CallId) {
        self.core.give_up(id);
    }

    /// Wakes rank `to` for the messages that were sent to it [lazily](How::lazy), before the calling thread sleeps.
    pub fn nudge(&mut self, to: Rank) {
        self.out.nudge(to);
    }

    /// Returns memory for a payload of `len` bytes to `to`. A rank of the same node reads it there, without a copy.
    pub fn buffer(&self, to: Rank, len: usize) -> Buffer {
        self.out.buffer(to, len)
    }

    /// Watches a descriptor, for threads and devices of the object's own:
    /// [`ready`](crate::object::SharedObject::ready) is called while it is readable. It should be non-blocking.
    ///
    /// # Errors
    /// [`Error::Object`] if Linux cannot watch it, or has reached a limit.
    pub fn watch(&mut self, descriptor: impl Into<Arc<OwnedFd>>) -> Result<Source, Error> {
        let source = self.out.watch(descriptor).map_err(|error| self.error(error))?;
        self.core.sources.insert(source, self.frame.id);
        Ok(source)
    }

    /// Makes a doorbell that any thread of this process may ring: then
    /// [`ready`](crate::object::SharedObject::ready) is called.
    ///
    /// # Errors
    /// As [`watch`](Self::watch).
    pub fn doorbell(&mut self) -> Result<(Source, Doorbell), Error> {
        let (source, doorbell) = self.out.doorbell().map_err(|error| self.error(error))?;
        self.core.sources.insert(source, self.frame.id);
        Ok((source, doorbell))
    }

    /// Stops watching a source.
    pub fn unwatch(&mut self, source: Source) {
        self.core.sources.remove(&source);
        self.out.unwatch(source);
    }

    /// Makes an error of this object on this rank. `cause` describes the problem, and how to solve it.
    pub fn error(&self, cause: impl std::fmt::Display) -> Error {
        let (rank, object) = (self.me(), self.frame.name.clone());
        Error::Object { rank, object, name: String::new(), cause: cause.to_string() }
    }

    /// Answers a request.
    pub fn answer(&mut self, call: Call, answer: Result<Payload, Error>) {
        self.core.answer(call, self.frame.id, answer, self.out);
    }

    /// Returns `len` bytes of the object's memory as a payload. The transport reads them with
    /// [`read`](crate::object::SharedObject::read) until it calls [`released`](crate::object::SharedObject::released).
    pub fn lent(&self, loan: Loan, len: usize) -> Payload {
        Payload::Lent { token: loan.token(self.frame.id), len }
    }

    /// Tells the kernel that a wait of the program's thread may have ended.
    pub fn progress(&mut self) {
        self.core.watch.progress();
    }

    /// Makes the object faulty on all ranks, for good. The first fault stays.
    pub fn fail(&mut self, error: Error) {
        if self.note_fault(&error) {
            self.core.report_fault(Some(self.frame.id), &error, self.out);
        }
    }

    /// Fails the job, on all ranks.
    pub fn fail_job(&mut self, error: Error) {
        self.core.fail_job(error, self.out);
    }

    /// Keeps an error for the end of `run`, unless a call has returned it to the program.
    pub fn defer(&mut self, error: Error) {
        self.core.defer(self.frame.id, error);
    }
}
