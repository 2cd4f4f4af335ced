//! The work of a rank's block: requests and batches, and the scopes that become `settled`.

use super::message::Message;
use crate::Error;
use crate::behaviour::read_cache::arrival::Loading;
use crate::behaviour::release::message::Written;
use crate::ids::Epoch;
use crate::object::{Cx, Malformed};
use crate::ops::OpId;
use crate::scope::{self, Opening, Outcome, Rule, ScopeMessage, Scopes, Served, Work};
use crate::vector::machine::{Vector, VectorWork};
use aurora_net::{Payload, Rank};
use serde::Serialize;

impl Served for Vector {
    type Work = VectorWork;
    type Batch = Written;
    type Arrival = Loading;

    const CALLS: &'static str = super::check::ALONE;

    fn scopes(&self) -> &Scopes<Self> {
        &self.scopes
    }

    fn scopes_mut(&mut self) -> &mut Scopes<Self> {
        &mut self.scopes
    }

    fn attempt(&mut self, work: &mut Work<VectorWork>, payload: &[u8], cx: &mut Cx<'_>) -> Outcome {
        let done = self.try_work(work, payload, cx);
        // A block that is lent now was sound before.
        if !matches!(done, Ok(Outcome::Done(Ok(Payload::Lent { .. }))))
            && let Err(error) = cx.core.none_given_up(cx.out)
        {
            return Outcome::Done(Err(*error));
        }
        done.unwrap_or_else(|error| Outcome::Done(Err(error)))
    }

    fn batch(&self, from: Rank, opening: &Opening, batch: Written) -> Result<VectorWork, Malformed> {
        match batch {
            Written::Values => Ok(VectorWork::Batch(None)),
            Written::Operands(op) => Ok(VectorWork::Batch(Some(op))),
            Written::Partial => {
                let op = opening.op.filter(|_| self.may_fold(from, opening.window)).ok_or(Malformed)?;
                Ok(VectorWork::Partial { op, folded: 0 })
            }
        }
    }

    fn header(message: ScopeMessage<Written>) -> impl Serialize {
        Message::Flush(message)
    }

    fn fits(&self, opening: &Opening) -> bool {
        opening.window.is_of(self.dist.len())
    }

    fn enter(&mut self, opening: Opening, cx: &mut Cx<'_>) -> Result<Epoch, Error> {
        // Announcements that other ranks have sent before; perhaps only their first packets are here.
        self.take_announcements(cx);
        let entered = self.scopes.enter(opening, cx);
        self.refresh_permit(cx);
        entered
    }

    fn settled(&mut self, epoch: Epoch, rule: Rule, cx: &mut Cx<'_>) {
        if self.load_marks(epoch) > self.writes.applied {
            // Other ranks have seen more writes than this rank has applied: that is impossible.
            return cx.fail(cx.frame.nonsense());
        }
        match rule {
            Rule::Announced => self.settle_load(epoch, cx),
            Rule::Neighbours | Rule::Ended | Rule::EndedInOrder | Rule::EndedInSteps | Rule::Met => {
                self.scopes.ledger.forget(epoch)
            }
        }
        self.pages.take_if(|pages| pages.epoch() == epoch);
    }

    fn is_lent(&self) -> bool {
        self.block.is_lent()
    }
}

impl Vector {
    /// Settles epochs and does parked work, as far as possible.
    pub(super) fn advance_scopes(&mut self, cx: &mut Cx<'_>) {
        scope::advance(self, cx);
        self.advance_stream(cx);
        self.refresh_permit(cx);
        let _ = cx.core.none_given_up(cx.out);
    }

    /// Does a piece of work on our block, or returns that it must be parked.
    fn try_work(&mut self, work: &mut Work<VectorWork>, payload: &[u8], cx: &mut Cx<'_>) -> Result<Outcome, Error> {
        let from = work.from;
        match &mut work.what {
            VectorWork::Call(asked) => self.serve(from, asked, payload, cx),
            VectorWork::Batch(op) => {
                let epoch = work.due.scope().unwrap_or_default();
                self.apply_batch((from, epoch), *op, payload, cx)
            }
            VectorWork::Partial { op, folded } => self.fold_some(from, *op, folded, cx),
            VectorWork::Flush { sync } => self.apply_flush(from, *sync, payload, cx),
        }
    }

    fn apply_batch(
        &mut self,
        (from, epoch): (Rank, Epoch),
        op: Option<OpId>,
        payload: &[u8],
        cx: &mut Cx<'_>,
    ) -> Result<Outcome, Error> {
        if !self.write(op, payload, cx)? {
            return Ok(Outcome::Park);
        }
        self.note_batch((from, epoch), None, op, payload, cx).map(|()| Outcome::applied(Ok(())))
    }

    /// True if a parked write waits for the block.
    pub(super) fn has_parked_write(&self) -> bool {
        self.scopes.parked().any(|work| match work {
            VectorWork::Call(asked) => asked.request.writes(),
            VectorWork::Batch(_) | VectorWork::Partial { .. } | VectorWork::Flush { .. } => true,
        })
    }
}
