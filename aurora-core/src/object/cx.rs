//! What an object may use during a call of its kernel.

use crate::Error;
use crate::Site;
use crate::ids::{CallId, ObjectId};
use crate::kernel::asking::Asking;
use crate::kernel::message::to_object;
use crate::kernel::{Core, Loan, Reason};
use crate::memory::Shortage;
use crate::object::{Called, Frame};
use crate::stats::Kind;
use crate::window::Window;
use aurora_net::{Outbox, Payload, Rank, Token};
use serde::Serialize;

/// How a message goes out.
pub(crate) struct How<'a> {
    /// What it is for.
    pub(crate) kind: Kind,
    /// Nobody is to be woken for it who does not wait.
    pub(crate) lazy: bool,
    /// What the program does, and its line: the message is counted there.
    pub(crate) reason: Option<&'a Reason>,
}

/// The context of a call: the rank, its other ranks, and the frame of the object that is called.
pub(crate) struct Cx<'a> {
    pub(crate) core: &'a mut Core,
    pub(crate) frame: &'a mut Frame,
    pub(crate) out: &'a mut Outbox,
}

impl Cx<'_> {
    /// This rank.
    pub(crate) fn me(&self) -> Rank {
        self.core.me
    }

    /// Number of ranks.
    pub(crate) fn size(&self) -> usize {
        self.core.size
    }

    /// All ranks but this one, the next first.
    pub(crate) fn others(&self) -> impl Iterator<Item = Rank> + use<> {
        self.core.me.others(self.core.size)
    }

    /// The object that is called.
    pub(crate) fn id(&self) -> ObjectId {
        self.frame.id
    }

    /// What has ended the object, if anything has.
    pub(crate) fn sound(&self) -> Result<(), Error> {
        self.frame.sound()
    }

    /// Whether nothing has ended the object.
    pub(crate) fn is_sound(&self) -> bool {
        self.frame.fault.is_none()
    }

    /// Why a message about this object is sent.
    pub(crate) fn reason(&self, action: &'static str, site: Option<Site>) -> Reason {
        Reason { action, site }
    }

    /// Sends a message to the object on another rank.
    pub(crate) fn send(&mut self, to: Rank, message: &impl Serialize, payload: Payload, how: How<'_>) {
        let header = to_object(self.frame.id, message);
        self.core.mail.post(self.out, to, (header, true), payload, Some(self.frame.id), &how);
    }

    /// Sends a request to the object on another rank. Its answer is taken with [`Core::take_reply`].
    pub(crate) fn ask(&mut self, asking: Asking<'_>, request: &impl Serialize, payload: impl Into<Payload>) -> CallId {
        self.core.ask(self.frame.id, asking, request, payload.into(), self.out)
    }

    /// Answers a request.
    pub(crate) fn answer(&mut self, call: Called, answer: Result<Payload, Error>) {
        self.core.answer(call, self.frame.id, answer, self.out);
    }

    /// Lends memory to the transport.
    pub(crate) fn lend(&mut self, loan: Loan) -> Token {
        self.core.loans.add(loan)
    }

    /// What a token stood for, which it does no longer.
    pub(crate) fn end_loan(&mut self, token: Token) -> Option<Loan> {
        self.core.loans.end(token)
    }

    /// Something has happened that may end the wait of the calling thread.
    pub(crate) fn progress(&mut self) {
        self.core.watch.progress();
    }

    /// The object is faulty from now on, on all ranks. The first fault stays.
    pub(crate) fn fail(&mut self, error: Error) {
        if self.note_fault(&error) {
            self.core.report_fault(Some(self.frame.id), &error, self.out);
        }
    }

    /// The same on this rank alone. Whether the object was sound.
    pub(crate) fn note_fault(&mut self, error: &Error) -> bool {
        if self.frame.fault.is_some() {
            return false;
        }
        self.frame.fault = Some(error.clone());
        self.frame.is_failing = true;
        self.core.watch.progress();
        true
    }

    /// The job has failed, on all ranks.
    pub(crate) fn fail_job(&mut self, error: Error) {
        self.core.fail_job(error, self.out);
    }

    /// Keeps an error for the end of `run`, unless a call has returned it to the program.
    pub(crate) fn defer(&mut self, error: Error) {
        self.core.defer(self.frame.id, error);
    }

    /// A guard that was forgotten forbids to use a part of the object, for writing if `mutable`: while a guard lives
    /// the borrow checker keeps such a use from happening.
    pub(crate) fn usable(&mut self, mutable: bool, window: Window) -> Result<(), Error> {
        let forgotten = self.frame.open.iter().find(|guard| guard.forbids(mutable, window));
        if let Some(guard) = forgotten
            && self.is_sound()
        {
            let leak = self.frame.leak(self.core.me, guard);
            self.fail(leak);
        }
        self.sound()
    }

    /// Whether this rank may make a copy of so many bytes, so many of which the system has not given yet. If not, the
    /// object is at fault on all ranks.
    pub(crate) fn admit_copy(
        &mut self,
        purpose: &str,
        (bytes, untaken): (usize, usize),
        site: &Site,
    ) -> Result<(), Error> {
        self.core.budget.admit(bytes, untaken).map_err(|limit| {
            let (rank, object) = (self.core.me, Box::new(self.frame.name.clone()));
            let (purpose, site) = (purpose.into(), site.clone());
            let error = Error::CacheLimit { rank, purpose, object, asked: bytes, limit, site };
            self.fail(error.clone());
            error
        })
    }

    /// There is no memory for what this rank needs it for: the object is at fault on all ranks.
    pub(crate) fn no_memory(&mut self, shortage: Shortage, purpose: &str, site: &Site) -> Error {
        let error = shortage.error(self.core.me, purpose, self.frame.name.clone(), site);
        self.fail(error.clone());
        error
    }

    /// Whether this rank has waited in vain for one that is inside of one of its blocks; then the job has failed.
    pub(crate) fn none_given_up(&mut self) -> Result<(), Error> {
        self.core.none_given_up(self.out)
    }
}
