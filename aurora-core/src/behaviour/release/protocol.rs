//! The state of the protocol of buffered writes: batches are sent and applied; the end of a scope.

use super::message::FlushMessage;
use crate::Error;
use crate::epoch::Opening;
use crate::epoch::SCOPES_AHEAD;
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::object::Cx;
use crate::ops::OpId;
use crate::vector::machine::{Outcome, Parked, Vector, Work};
use crate::vector::message::Message;
use crate::window::Window;
use aurora_net::{Buffer, Payload, Rank, Received};

pub(crate) struct ReleaseScope {
    pub(crate) epoch: Epoch,
    pub(crate) opening: Opening,
    pub(crate) reason: Reason,
    /// The owners of this node fold this rank's partial copy at the end.
    pub(crate) partial: bool,
}

pub(crate) struct LastBatch {
    pub(crate) op: Option<OpId>,
    pub(crate) bytes: Buffer,
}

/// The state of the buffered writes to one vector on this rank.
pub(crate) struct Flush {
    /// By owners: batches that the owner has not yet applied.
    pub(super) outstanding: Vec<usize>,
}

impl Flush {
    pub(crate) fn new(ranks: usize) -> Self {
        Flush { outstanding: vec![0; ranks] }
    }

    pub(crate) fn has_room(&mut self, owner: Rank) {
        let outstanding = &mut self.outstanding[owner.index()];
        *outstanding = outstanding.saturating_sub(1);
    }
}

impl Vector {
    /// `seq`: the number of batches already sent to the owner.
    pub(crate) fn send_batch(
        &mut self,
        (scope, seq): (&ReleaseScope, u64),
        owner: Rank,
        op: Option<OpId>,
        bytes: Buffer,
        cx: &mut Cx<'_>,
    ) {
        self.flush.outstanding[owner.index()] += 1;
        let (epoch, opening) = (scope.epoch, scope.opening.clone());
        let message = Message::Flush(FlushMessage::Batch { epoch, seq, opening, op });
        message.send(&scope.reason, owner, bytes.into(), cx);
    }

    /// Applies a batch to this rank's own block, or keeps a copy until that is possible.
    pub(crate) fn apply_own(&mut self, (epoch, seq): (Epoch, u64), op: Option<OpId>, bytes: &[u8], cx: &mut Cx<'_>) {
        let me = cx.me();
        let work = Work::Batch { epoch, seq, op, acknowledge: true };
        let Some(outcome) = self.attempt(me, &work, bytes, cx) else {
            return;
        };
        match outcome {
            Outcome::Park => {
                self.flush.outstanding[me.index()] += 1;
                self.parked.push_back(Parked { from: me, work, payload: Received::Bytes(bytes.to_vec()) });
            }
            Outcome::Refuse(error) => cx.fail(error),
            _ => {}
        }
        self.has_changed = true;
    }

    pub(crate) fn merge_own(
        &mut self,
        epoch: Epoch,
        merge: impl FnOnce(&mut [u8]) -> Result<(), Error>,
        cx: &mut Cx<'_>,
    ) -> Result<bool, Error> {
        cx.sound()?;
        let merged = if self.is_due(cx.me(), epoch) { self.block.write(merge) } else { None };
        self.refresh_permit(cx);
        merged.map_or(Ok(false), |merged| merged.map(|()| true))
    }

    /// Ends a ReleaseC scope. `sent`: batches sent to each owner; `last`: the batch left for each, which goes with
    /// the announcement of the end. No rank waits for room here: the scopes that a rank may be ahead are bounded.
    pub(crate) fn end_release(
        &mut self,
        scope: &ReleaseScope,
        sent: &[u64],
        mut last: Vec<Option<LastBatch>>,
        cx: &mut Cx<'_>,
    ) {
        let (epoch, partial, me) = (scope.epoch, scope.partial, cx.me());
        let time = cx.release();
        if let Some(home) = self.block.home().filter(|_| partial) {
            home.sharing().publish();
        }
        let record = self.ledger.record(epoch);
        record.mine_complete = true;
        record.from[me.index()].batches = sent[me.index()] + u64::from(partial || last[me.index()].is_some());
        for rank in me.others(cx.size()) {
            let last = last[rank.index()].take();
            let partial = partial && self.nodes.same_node(rank, me);
            let message = Message::Flush(FlushMessage::End {
                epoch,
                time: time.clone(),
                opening: scope.opening.clone(),
                batches: sent[rank.index()] + u64::from(partial || last.is_some()),
                op: last.as_ref().and_then(|last| last.op),
                partial,
            });
            let payload = last.map_or(Payload::Empty, |last| last.bytes.into());
            message.send(&scope.reason, rank, payload, cx);
        }
        if let Some(op) = scope.opening.op.filter(|_| partial) {
            let work = Work::Partial { epoch, seq: sent[me.index()], op, folded: 0 };
            self.work(Parked { from: me, work, payload: Received::Bytes(Vec::new()) }, cx);
        }
        if let Some(LastBatch { op, bytes }) = last[me.index()].take() {
            let work = Work::Batch { epoch, seq: sent[me.index()], op, acknowledge: false };
            self.work(Parked { from: me, work, payload: Received::Bytes(bytes.into()) }, cx);
        }
        self.has_changed = true;
    }

    /// If many scopes are open here, tells all ranks that this rank has entered one more. Otherwise a rank that has
    /// ended all of these scopes would be [too far ahead](SCOPES_AHEAD) to open its next one: it would wait for this
    /// rank to end them, and this rank may end them only after that next scope.
    pub(crate) fn tell_if_many_are_open(&mut self, epoch: Epoch, reason: &Reason, cx: &mut Cx<'_>) {
        let open = cx.frame.open.iter().filter(|guard| guard.awaited).count();
        if open + 1 >= SCOPES_AHEAD {
            for rank in cx.others() {
                let message = Message::Flush(FlushMessage::Come { epoch });
                message.send(reason, rank, Payload::Empty, cx);
            }
        }
    }

    /// True if batches of this rank and epoch may be applied.
    pub(crate) fn is_due(&self, from: Rank, epoch: Epoch) -> bool {
        self.ledger.may_apply(epoch) && self.ledger.may_apply_from(epoch, from)
    }

    /// True if another rank may have a partial copy for a scope of this part of the vector.
    pub(crate) fn may_fold(&self, from: Rank, window: Window) -> bool {
        // That rank may be the first to have made the vector: then this rank has no home yet.
        window.range(self.dist.len()).len() == self.dist.len()
            && self.nodes.same_node(from, self.ledger.me())
            && self.block.home().is_none_or(|home| home.copy_of(self.nodes.position(from)).is_some())
    }

    /// Folds some more of a partial copy of this node into the block.
    pub(crate) fn fold_some(
        &mut self,
        from: Rank,
        (epoch, seq): (Epoch, u64),
        op: OpId,
        folded: usize,
        cx: &mut Cx<'_>,
    ) -> Outcome {
        /// Bytes folded in a step: about 50 us.
        const FOLDED_AT_ONCE: usize = 512 << 10;
        let (position, is_due) = (self.nodes.position(from), self.is_due(from, epoch));
        let Some(home) = self.block.home().filter(|_| is_due) else {
            return Outcome::Park;
        };
        let Some(((copy, first), op)) = home.copy_of(position).zip(self.ops.find(op)) else {
            return Outcome::Refuse(cx.frame.unknown_op());
        };
        if self.ledger.record(epoch).from[from.index()].applied != seq {
            return Outcome::Park;
        }
        let element = self.block.element;
        let until = self.block.len().min(folded + (FOLDED_AT_ONCE / element).max(1));
        let operands = &copy.bytes()[first + folded * element..first + until * element];
        if !operands.is_empty() && !self.fold(op.fold, &(folded..until), operands) {
            return Outcome::Park;
        }
        if until < self.block.len() {
            return Outcome::Folded(until);
        }
        if let Some(home) = self.block.home() {
            home.sharing().note_fold(position);
        }
        self.ledger.record(epoch).from[from.index()].applied += 1;
        Outcome::Applied
    }

    pub(crate) fn apply_batch(
        &mut self,
        from: Rank,
        (epoch, seq): (Epoch, u64),
        op: Option<OpId>,
        payload: &[u8],
        cx: &mut Cx<'_>,
    ) -> Outcome {
        if !self.is_due(from, epoch) || self.ledger.record(epoch).from[from.index()].applied != seq {
            return Outcome::Park;
        }
        match self.write(op, payload, cx) {
            Ok(true) => {
                self.ledger.record(epoch).from[from.index()].applied += 1;
                match self.note_batch((from, epoch), None, op, payload, cx) {
                    Ok(()) => Outcome::Applied,
                    Err(error) => Outcome::Refuse(error),
                }
            }
            Ok(false) => Outcome::Park,
            Err(error) => Outcome::Refuse(error),
        }
    }
}
