//! Doing requests and batches: at once, or later if they must wait.

use super::loans::VectorLoan;
use super::message::Message;
use crate::Error;
use crate::behaviour::release::message::FlushMessage;
use crate::epoch::Rule;
use crate::object::{Call, Cx, How};
use crate::vector::machine::{Outcome, Parked, Vector, Work};
use aurora_net::bootstrap::capture;
use aurora_net::{Buffer, Payload, Rank, Received};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

impl Vector {
    /// Settles epochs and does parked work for as long as possible.
    pub(super) fn settle_and_retry(&mut self, cx: &mut Cx<'_>) {
        loop {
            let settled = self.settle(cx);
            let mut worked = false;
            // One by one: if a user's operation panics, the work behind it must be answered all the same.
            for _ in 0..self.parked.len() {
                if let Some(parked) = self.parked.pop_front() {
                    worked |= self.work(parked, cx);
                }
            }
            if !settled && !worked {
                break;
            }
            cx.progress();
        }
        self.advance_stream(cx);
        self.refresh_permit(cx);
        let _ = cx.core.none_given_up(cx.out);
    }

    /// Settles the next epoch, if possible.
    fn settle(&mut self, cx: &mut Cx<'_>) -> bool {
        let me = cx.me();
        let Some((epoch, rule)) = self.ledger.try_settle() else {
            return false;
        };
        let marks = self.ledger.find(epoch).map_or(0, |record| record.marks[me.index()]);
        if marks > self.load.write_marks.applied {
            // Other ranks have seen more writes than this rank has applied: that is impossible.
            cx.fail(cx.frame.nonsense());
            return true;
        }
        match rule {
            Rule::Announced => self.settle_load(epoch, cx),
            Rule::Neighbours | Rule::Ended | Rule::EndedInOrder | Rule::EndedInSteps | Rule::Met => {
                self.ledger.forget(epoch)
            }
        }
        self.pages.take_if(|pages| pages.epoch() == epoch);
        true
    }

    /// Does a piece of work or parks it; true if it is done.
    pub(crate) fn work(&mut self, mut work: Parked, cx: &mut Cx<'_>) -> bool {
        let Some(outcome) = self.attempt(work.from, &work.work, work.payload.bytes(), cx) else {
            return true;
        };
        let from = work.from;
        let answer = match outcome {
            Outcome::Park => {
                // The work may stay parked for long, and its sender needs the memory back.
                work.payload.detach();
                self.parked.push_back(work);
                return false;
            }
            Outcome::Folded(now) => {
                if let Work::Partial { folded, .. } = &mut work.work {
                    *folded = now;
                }
                self.parked.push_back(work);
                self.next_fold = Some(cx.now());
                return false;
            }
            Outcome::Refuse(error) => Err(error),
            Outcome::Applied => Ok(Payload::Empty),
            Outcome::Reply(bytes) => Ok(Buffer::own(bytes).into()),
            Outcome::Gather { width, len } => {
                let mut answer = cx.out.buffer(from, len);
                self.gather(width, work.payload.bytes(), &mut answer);
                Ok(answer.into())
            }
            Outcome::Pages { len } => {
                let mut answer = cx.out.buffer(from, len);
                self.copy_pages(work.payload.bytes(), &mut answer);
                Ok(answer.into())
            }
            Outcome::ReplyFromBlock(range) => {
                self.block.lend_to_transfer();
                Ok(self.lend(VectorLoan::Block { base: range.start }, range.len(), cx))
            }
        };
        match &work.work {
            Work::Call { id, .. } => cx.answer(Call { from, id: *id }, answer),
            batch @ (Work::Batch { .. } | Work::Partial { .. } | Work::Flush { .. }) => {
                self.batch_done(from, batch, cx);
                answer.map_or_else(|error| cx.fail(error), drop);
            }
        }
        if let Received::Bytes(buffer) = work.payload {
            cx.out.recycle(buffer);
        }
        true
    }

    /// Does a piece of work, or returns that it must be parked. `None`: a user's operation has panicked in it, and the
    /// object is poisoned. In this rank's own work the panic continues, because the program is in a call on that
    /// object. In work of other ranks the panic is caught, because any call, or the daemon, may do that work.
    pub(crate) fn attempt(&mut self, from: Rank, work: &Work, payload: &[u8], cx: &mut Cx<'_>) -> Option<Outcome> {
        let attempted = if from == cx.me() {
            Ok(self.by_itself(work, cx, |object, cx| object.try_work(from, work, payload, cx)))
        } else {
            capture(cx.me(), || self.try_work(from, work, payload, cx))
        };
        let failure = match attempted {
            Ok(outcome) => {
                return Some(cx.core.none_given_up(cx.out).map_or_else(|error| Outcome::Refuse(*error), |()| outcome));
            }
            Err(failure) => failure,
        };
        let error = self.poison(work, false, cx);
        crate::notice::operation_panicked(&failure, &error);
        if let Work::Call { id, .. } = work {
            cx.answer(Call { from, id: *id }, Err(error.clone()));
        }
        cx.defer(error);
        None
    }

    /// Does work of this rank's own call. If a user's operation panics, the object is poisoned and the panic continues.
    pub(crate) fn by_itself<R>(
        &mut self,
        work: &Work,
        cx: &mut Cx<'_>,
        act: impl FnOnce(&mut Self, &mut Cx<'_>) -> R,
    ) -> R {
        catch_unwind(AssertUnwindSafe(|| act(self, cx))).unwrap_or_else(|panic| {
            self.poison(work, true, cx);
            resume_unwind(panic)
        })
    }

    /// Poisons the object, because a user's operation in this piece of work has left it half written. `own`: the work
    /// is this rank's own.
    fn poison(&self, work: &Work, own: bool, cx: &mut Cx<'_>) -> Error {
        let mine = match work {
            Work::Batch { epoch, .. } | Work::Partial { epoch, .. } => {
                self.ledger.find(*epoch).and_then(|record| record.mine.as_ref())
            }
            Work::Call { .. } | Work::Flush { .. } => None,
        };
        match (mine, cx.frame.open.last()) {
            (Some(mine), _) => cx.poison(&mine.name, Some(mine.site.clone())),
            (None, Some(guard)) if own => cx.poison(guard.behaviour, Some(guard.site.clone())),
            // A scope that another rank has opened.
            _ => cx.poison("ReleaseC alone", None),
        }
    }

    /// Tells the sender of a batch that there is room again, if the sender waits for that.
    fn batch_done(&mut self, from: Rank, batch: &Work, cx: &mut Cx<'_>) {
        if !matches!(batch, Work::Batch { acknowledge: true, .. }) {
            return;
        }
        if from == cx.me() {
            self.flush.has_room(from);
        } else {
            cx.send(
                from,
                &Message::Flush(FlushMessage::BatchDone),
                Payload::Empty,
                How { kind: self.writing(), lazy: true, reason: None },
            );
        }
    }
}
