//! Doing what was asked for: at once, or later if its time has not come.

use super::{Loan, Service};
use crate::Error;
use crate::ids::{CallId, ObjectId};
use crate::kernel::message::{Message, encode_error};
use crate::vector::object::{Object, Outcome, Parked, Work};
use aurora_net::bootstrap::capture;
use aurora_net::{Buffer, Outbox, Payload, Rank, Received};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

impl Service {
    /// Settles what can be settled and does the parked work whose time has come.
    pub(crate) fn advance(&mut self, id: ObjectId, out: &mut Outbox) {
        loop {
            let settled = self.settle(id, out);
            let worked = self.retry_parked(id, out);
            if !settled && !worked {
                break;
            }
            self.watch.progress();
        }
        self.spread(id, out);
        self.carry_on(id, out);
        self.refresh(id);
        let _ = self.none_given_up(out);
    }

    /// Whether this rank has waited in vain for one that is inside of one of its blocks; then the job has failed.
    pub(crate) fn none_given_up(&mut self, out: &mut Outbox) -> Result<(), Error> {
        let Some((rank, silent_for)) = self.patience.given_up() else {
            return Ok(());
        };
        if self.fault.is_none() {
            self.fail(None, Error::PeerLost { rank, silent_for }, out);
        }
        self.fault.clone().map_or(Ok(()), Err)
    }

    fn retry_parked(&mut self, id: ObjectId, out: &mut Outbox) -> bool {
        let mut progress = false;
        // One by one: an operation of the user's may panic, and what waits behind it has to be answered all the same.
        for _ in 0..self.objects.get(&id).map_or(0, |object| object.parked.len()) {
            let Some(parked) = self.objects.get_mut(&id).and_then(|object| object.parked.pop_front()) else {
                break;
            };
            progress |= self.work(id, parked, out);
        }
        progress
    }

    /// Does a piece of work or parks it; true if it is done.
    pub(crate) fn work(&mut self, id: ObjectId, mut work: Parked, out: &mut Outbox) -> bool {
        let Some(outcome) = self.attempt(id, work.from, &work.work, work.payload.bytes(), out) else {
            return true;
        };
        let object = self.objects.get_mut(&id).expect("just used");
        match (outcome, &work.work) {
            (Outcome::Park, _) => {
                // It may wait for long, and its sender for the memory.
                work.payload.detach();
                object.parked.push_back(work);
                return false;
            }
            (Outcome::Applied, applied) => self.batch_done(id, work.from, applied, out),
            (Outcome::Refuse(error), refused @ Work::Batch { .. }) => {
                self.batch_done(id, work.from, refused, out);
                self.fail(Some(id), error, out);
            }
            (Outcome::Refuse(error), Work::Call { id: call, .. }) => {
                self.answer(work.from, id, *call, Err(error), out);
            }
            (Outcome::Reply(bytes), Work::Call { id: call, .. }) => {
                self.answer(work.from, id, *call, Ok(Buffer::own(bytes)), out);
            }
            (Outcome::Gather { width, len }, Work::Call { id: call, .. }) => {
                let mut answer = out.buffer(work.from, len);
                object.gather(width, work.payload.bytes(), &mut answer);
                self.answer(work.from, id, *call, Ok(answer), out);
            }
            (Outcome::ReplyFromBlock(range), Work::Call { id: call, .. }) => {
                object.block.lend_to_transfer();
                let token = self.loans.add(Loan::Block { object: id, base: range.start });
                let payload = Payload::Lent { token, len: range.len() };
                self.mail.answer(out, work.from, id, &Message::Reply { id: *call, refused: false }, payload);
            }
            (Outcome::Reply(_) | Outcome::Gather { .. } | Outcome::ReplyFromBlock(_), Work::Batch { .. }) => {
                unreachable!("a batch is applied, not answered")
            }
        }
        if let Received::Bytes(buffer) = work.payload {
            out.recycle(buffer);
        }
        true
    }

    /// Does a piece of work, if its time has come. `None`: there is no such object any more, so nobody can ever see what this would write;
    /// or an operation of the user's has panicked amid it, and the object is poisoned.
    ///
    /// # Panics
    /// If the work is the program's own, of this rank: then it is in a call on that object. In what others have sent an operation
    /// may panic amid any call, or with nobody there but the daemon.
    pub(crate) fn attempt(
        &mut self,
        id: ObjectId,
        from: Rank,
        work: &Work,
        payload: &[u8],
        out: &mut Outbox,
    ) -> Option<Outcome> {
        if from == self.me {
            let outcome = self.by_itself(id, work, out, |object| object.attempt(from, work, payload))?;
            return Some(self.none_given_up(out).map_or_else(Outcome::Refuse, |()| outcome));
        }
        let object = self.objects.get_mut(&id)?;
        let failure = match capture(self.me, || object.attempt(from, work, payload)) {
            Ok(outcome) => return Some(self.none_given_up(out).map_or_else(Outcome::Refuse, |()| outcome)),
            Err(failure) => failure,
        };
        let error = self.break_off(id, work, false, out)?;
        crate::notice::operation_panicked(&failure, &error);
        if let Work::Call { id: call, .. } = work {
            self.answer(from, id, *call, Err(error.clone()), out);
        }
        self.defer(id, error);
        None
    }

    /// Does a piece of the program's own work, amid its own call. `None`: there is no such object.
    ///
    /// # Panics
    /// If an operation of the user's does; the object is poisoned by then.
    pub(crate) fn by_itself<R>(
        &mut self,
        id: ObjectId,
        work: &Work,
        out: &mut Outbox,
        act: impl FnOnce(&mut Object) -> R,
    ) -> Option<R> {
        let object = self.objects.get_mut(&id)?;
        match catch_unwind(AssertUnwindSafe(|| act(object))) {
            Ok(outcome) => Some(outcome),
            Err(panic) => {
                self.break_off(id, work, true, out);
                resume_unwind(panic)
            }
        }
    }

    /// An operation of the user's has left an object half written.
    fn break_off(&mut self, id: ObjectId, work: &Work, own: bool, out: &mut Outbox) -> Option<Error> {
        let error = self.objects.get(&id)?.broken_off(work, own);
        self.fail(Some(id), error.clone(), out);
        Some(error)
    }

    /// Makes room at the sender of a batch, if it waits for that.
    fn batch_done(&mut self, id: ObjectId, from: Rank, batch: &Work, out: &mut Outbox) {
        if !matches!(batch, Work::Batch { acknowledge: true, .. }) {
            return;
        }
        if from == self.me {
            if let Some(object) = self.objects.get_mut(&id) {
                object.outstanding[from.index()] -= 1;
            }
        } else {
            let kind = self.writing(id);
            self.mail.batch_done(out, from, id, kind);
        }
    }

    fn answer(&mut self, to: Rank, object: ObjectId, id: CallId, answer: Result<Buffer, Error>, out: &mut Outbox) {
        if to == self.me {
            if let Some(call) = self.calls.get_mut(&id) {
                call.reply = Some(answer.map(|bytes| Received::Bytes(bytes.into())));
            }
            return;
        }
        let (refused, payload) = match answer {
            Ok(bytes) => (false, bytes.into()),
            Err(error) => (true, encode_error(&error).into()),
        };
        self.mail.answer(out, to, object, &Message::Reply { id, refused }, payload);
    }
}
