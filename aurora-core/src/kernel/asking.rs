//! Requests to other ranks, their answers, and memory of the caller that is lent for them.

use super::{Call, Core, Loan, Reason};
use crate::Error;
use crate::ids::{CallId, Epoch, ObjectId};
use crate::kernel::message::{Message, Request, encode_error};
use crate::memory::{Lent, LentMut};
use crate::object::Cx;
use aurora_net::{Outbox, Payload, Rank, Received, Token};

/// How a request goes out.
pub(crate) struct Asking<'a> {
    pub(crate) to: Rank,
    pub(crate) reason: &'a Reason,
    /// Behind how many scopes of the object it comes.
    pub(crate) epoch: Epoch,
    /// The memory of the caller to which its answer goes, if not into a buffer.
    pub(crate) landing: Option<Token>,
    pub(crate) when: When,
}

/// When its answer is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    Now,
    /// Another request to the same rank follows, for which that is woken.
    More,
    /// Nobody waits for it before [`Core::await_received`] is called.
    Ahead,
}

impl Cx<'_> {
    /// Sends a request. Its answer is taken with [`Core::take_reply`].
    pub(crate) fn ask(&mut self, asking: Asking<'_>, request: Request, payload: impl Into<Payload>) -> CallId {
        debug_assert_ne!(asking.to, self.core.me, "our own block needs no message");
        let core = &mut *self.core;
        core.next_call += 1;
        let id = CallId(core.next_call);
        let Asking { to, reason, epoch, landing, when } = asking;
        let writes = matches!(request, Request::Write { .. } | Request::WriteAt { .. }).then_some(self.frame.id);
        let ahead = when == When::Ahead;
        core.calls.insert(id, Call { to, landing, ahead, writes, reply: None });
        let message = Message::Call { id, object: self.frame.id, epoch, request };
        match when {
            When::More => core.mail.post_more_for(self.out, reason, to, &message, payload.into()),
            When::Now | When::Ahead => core.mail.post_for(self.out, reason, to, &message, payload.into()),
        }
        id
    }
}

impl Core {
    /// The answer to a request, once it is here.
    pub(crate) fn take_reply(&mut self, id: CallId) -> Option<Result<Vec<u8>, Error>> {
        self.take_received(id).map(|reply| reply.map(Received::into_vec))
    }

    /// The same, where it lies.
    pub(crate) fn take_received(&mut self, id: CallId) -> Option<Result<Received, Error>> {
        self.calls.get(&id)?.reply.as_ref()?;
        self.calls.remove(&id)?.reply
    }

    /// The same, for who waits for it.
    pub(crate) fn await_received(&mut self, id: CallId, out: &mut Outbox) -> Option<Result<Received, Error>> {
        let received = self.take_received(id);
        if received.is_none()
            && let Some(call) = self.calls.get_mut(&id)
        {
            call.ahead = false;
            out.call(call.to);
        }
        received
    }

    /// Gives up a request whose answer nobody waits for any more: it is thrown away when it comes.
    pub(crate) fn give_up(&mut self, id: CallId) {
        self.calls.remove(&id);
    }

    /// Answers a request about an object.
    pub(crate) fn answer(
        &mut self,
        to: Rank,
        object: ObjectId,
        id: CallId,
        answer: Result<Payload, Error>,
        out: &mut Outbox,
    ) {
        let refused = answer.is_err();
        let payload = answer.unwrap_or_else(|error| encode_error(&error).into());
        self.mail.answer(out, to, object, &Message::Reply { id, refused }, payload);
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
}
