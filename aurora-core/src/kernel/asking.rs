//! Requests to other ranks, their answers, and memory of the caller that is lent for them.

use super::loans::{CallerLoan, KERNEL};
use super::{Core, OpenCall, message};
use crate::ids::{CallId, ObjectId};
use crate::kernel::message::{BadHeader, encode_error};
use crate::memory::{Lent, LentMut};
use crate::object::{Call, How, Loan};
use crate::{Error, Kind};
use aurora_net::{Outbox, Payload, Rank, Received, Token};
use serde::Serialize;

/// A request to send.
pub(crate) struct Asking<'a> {
    pub(crate) to: Rank,
    pub(crate) how: How<'a>,
    /// The caller's memory for the answer; `None`: a buffer.
    pub(crate) landing: Option<Token>,
    pub(crate) when: When,
    /// The object gets the answer, too ([`SharedObject::reply`](crate::object::SharedObject::reply)).
    pub(crate) shown: bool,
    /// Discard the answer when it arrives.
    pub(crate) forgotten: bool,
}

/// The time at which the answer is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    Now,
    /// Another request to the same rank follows, so that rank is not woken for this one.
    More,
    /// No thread waits for it before [`Core::await_received`] is called.
    Ahead,
}

impl Core {
    pub(crate) fn ask(
        &mut self,
        object: ObjectId,
        Asking { to, how, landing, when, shown, forgotten }: Asking<'_>,
        request: &impl Serialize,
        payload: Payload,
        out: &mut Outbox,
    ) -> Result<CallId, BadHeader> {
        let (id, ahead) = (CallId(self.next_call + 1), when == When::Ahead);
        let lent = matches!(payload, Payload::Lent { .. });
        let header = message::request(object, id, lent, request)?;
        self.next_call = id.0;
        self.calls.insert(id, OpenCall { to, landing, ahead, object, shown, forgotten, reply: None });
        let how = How { lazy: when == When::More, ..how };
        self.mail.post(out, to, (header, !lent), payload, Some(object), &how);
        Ok(id)
    }

    /// The requests for whose answers the calling thread waits.
    pub(crate) fn awaited_calls(&self) -> impl Iterator<Item = &OpenCall> {
        self.calls.values().filter(|call| call.reply.is_none() && !call.ahead)
    }

    /// The answer to a request, if it is here.
    pub(crate) fn take_reply(&mut self, id: CallId) -> Option<Result<Vec<u8>, Error>> {
        self.take_received(id).map(|reply| reply.map(Received::into_vec))
    }

    /// The answer to a request, in the buffer in which it arrived.
    pub(crate) fn take_received(&mut self, id: CallId) -> Option<Result<Received, Error>> {
        self.calls.get(&id)?.reply.as_ref()?;
        self.calls.remove(&id)?.reply
    }

    /// The answer to a request, for a thread that waits for it.
    pub(crate) fn await_received(&mut self, id: CallId, out: &mut Outbox) -> Option<Result<Received, Error>> {
        let received = self.take_received(id);
        if received.is_none()
            && let Some(call) = self.calls.get_mut(&id)
        {
            call.ahead = false;
            out.nudge(call.to);
        }
        received
    }

    /// Gives a request up: its answer is discarded when it arrives.
    pub(crate) fn give_up(&mut self, id: CallId) {
        self.calls.remove(&id);
    }

    pub(crate) fn answer(
        &mut self,
        Call { from, id }: Call,
        object: ObjectId,
        answer: Result<Payload, Error>,
        out: &mut Outbox,
    ) {
        let header = message::reply(id, answer.is_err());
        let payload = answer.unwrap_or_else(|error| encode_error(&error).into());
        let how = How { kind: Kind::Answer, lazy: true, reason: None };
        self.mail.post(out, from, (header, true), payload, Some(object), &how);
    }

    /// Lends memory of the caller to the transport, to be written.
    pub(crate) fn lend_mut(&mut self, lent: LentMut) -> Token {
        self.loans.add(CallerLoan::Write(lent)).token(KERNEL)
    }

    /// Lends memory of the caller to the transport, to be read.
    pub(crate) fn lend(&mut self, lent: Lent) -> Token {
        self.loans.add(CallerLoan::Read(lent)).token(KERNEL)
    }

    pub(crate) fn withdraw(&mut self, token: Token) {
        self.loans.end(Loan::of(token));
    }
}
