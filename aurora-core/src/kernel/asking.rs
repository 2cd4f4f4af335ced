//! Requests to other ranks, their answers, and memory of the caller that is lent for them.

use super::{Call, Loan, Reason, Service};
use crate::Error;
use crate::ids::{CallId, ObjectId};
use crate::kernel::message::{Message, Request};
use crate::memory::{Lent, LentMut};
use aurora_net::{Outbox, Payload, Rank, Received, Token};

/// A request on its way: to whom, on which object, at which line.
pub(crate) struct Asking<'a> {
    pub(crate) object: ObjectId,
    pub(crate) to: Rank,
    pub(crate) reason: &'a Reason,
}

impl Service {
    /// Sends a request. Its answer is taken with [`Service::take_reply`].
    pub(crate) fn ask(
        &mut self,
        asking: &Asking<'_>,
        request: Request,
        payload: impl Into<Payload>,
        out: &mut Outbox,
    ) -> CallId {
        let (id, message) = self.request(asking, request, None);
        self.mail.post_for(out, asking.reason, asking.to, &message, payload.into());
        id
    }

    /// The same, for a request after which there will be another to the same rank.
    pub(crate) fn ask_and_go_on(
        &mut self,
        asking: &Asking<'_>,
        request: Request,
        payload: impl Into<Payload>,
        out: &mut Outbox,
    ) -> CallId {
        let (id, message) = self.request(asking, request, None);
        self.mail.post_more_for(out, asking.reason, asking.to, &message, payload.into());
        id
    }

    /// The same, for a request whose answer is of use later: until [it is waited for](Service::await_received), nobody waits for it.
    pub(crate) fn ask_ahead(
        &mut self,
        asking: &Asking<'_>,
        request: Request,
        payload: impl Into<Payload>,
        out: &mut Outbox,
    ) -> CallId {
        let id = self.ask(asking, request, payload, out);
        if let Some(call) = self.calls.get_mut(&id) {
            call.ahead = true;
        }
        id
    }

    /// Sends a read whose answer goes straight to a caller's memory.
    pub(crate) fn ask_into(
        &mut self,
        asking: &Asking<'_>,
        request: Request,
        landing: Token,
        out: &mut Outbox,
    ) -> CallId {
        let (id, message) = self.request(asking, request, Some(landing));
        self.mail.post_for(out, asking.reason, asking.to, &message, Payload::Empty);
        id
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
        self.ask(asking, request, Payload::Lent { token, len }, out)
    }

    fn request(&mut self, asking: &Asking<'_>, request: Request, landing: Option<Token>) -> (CallId, Message) {
        debug_assert_ne!(asking.to, self.me, "our own block needs no message");
        self.next_call += 1;
        let id = CallId(self.next_call);
        let writes = matches!(request, Request::Write { .. } | Request::WriteAt { .. }).then_some(asking.object);
        self.calls.insert(id, Call { to: asking.to, landing, ahead: false, writes, reply: None });
        let object = self.objects.get_mut(&asking.object).expect("an object lives as long as its handle");
        let window = request.window();
        let epoch = match &object.scalar_scopes {
            Some(_) => object.asking_epoch(),
            None if window.is_whole() => object.ledger.epoch,
            // Scopes of other parts may be open around this one.
            None => object.ledger.behind(),
        };
        (id, Message::Call { id, object: asking.object, epoch, request })
    }

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
            out.nudge(call.to);
        }
        received
    }

    /// Gives up a request whose answer nobody waits for any more: it is thrown away when it comes.
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
}
