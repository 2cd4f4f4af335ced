//! The end of a scope of buffered writes, and the folding of partial copies.

use super::message::Written;
use crate::Error;
use crate::ids::Epoch;
use crate::object::Cx;
use crate::ops::OpId;
use crate::scope::{self, Entered, Outcome};
use crate::vector::machine::{Vector, VectorWork};
use crate::window::Window;
use aurora_net::{Buffer, Payload, Rank, Received};
use std::ops::Range;

pub(crate) struct LastBatch {
    pub(crate) op: Option<OpId>,
    pub(crate) bytes: Buffer,
}

impl Vector {
    pub(crate) fn merge_own(
        &mut self,
        epoch: Epoch,
        merge: impl FnOnce(&mut [u8]) -> Result<(), Error>,
        cx: &mut Cx<'_>,
    ) -> Result<bool, Error> {
        cx.sound()?;
        let merged = if self.scopes.ledger.may_apply(epoch) && self.scopes.ledger.may_apply_from(epoch, cx.me()) {
            self.block.write(merge)
        } else {
            None
        };
        self.refresh_permit(cx);
        merged.map_or(Ok(false), |merged| merged.map(|()| true))
    }

    /// Ends a ReleaseC scope. `last`: the batch left for each owner, which goes with the announcement of the end.
    /// `partial`: the owners of this node fold this rank's partial copy instead. No rank waits for room here: the
    /// scopes that a rank may be ahead are bounded.
    pub(crate) fn end_release(
        &mut self,
        scope: &mut Entered,
        partial: bool,
        mut last: Vec<Option<LastBatch>>,
        cx: &mut Cx<'_>,
    ) {
        let me = cx.me();
        scope.time = cx.release();
        if let Some(home) = self.block.home().filter(|_| partial) {
            home.sharing().publish();
        }
        for rank in me.others(cx.size()) {
            let last = match last[rank.index()].take() {
                Some(LastBatch { op, bytes }) => Some((Written::from(op), bytes.into())),
                None if partial && self.nodes.same_node(rank, me) => Some((Written::Partial, Payload::Empty)),
                None => None,
            };
            scope::end_to::<Self>(scope, rank, last, cx);
        }
        let last = match (last[me.index()].take(), scope.opening.op.filter(|_| partial)) {
            (Some(LastBatch { op, bytes }), _) => Some((VectorWork::Batch(op), Received::Bytes(bytes.into()))),
            (None, Some(op)) => Some((VectorWork::Partial { op, folded: 0 }, Received::Bytes(Vec::new()))),
            (None, None) => None,
        };
        scope::end_here(self, scope, last, cx);
    }

    /// True if another rank may have a partial copy for a scope of this part of the vector.
    pub(crate) fn may_fold(&self, from: Rank, window: Window) -> bool {
        // That rank may be the first to have made the vector: then this rank has no home yet.
        window.range(self.dist.len()).len() == self.dist.len()
            && self.nodes.same_node(from, self.scopes.ledger.me())
            && self.block.home().is_none_or(|home| home.copy_of(self.nodes.position(from)).is_some())
    }

    /// Folds some more of a partial copy of this node into the block.
    pub(crate) fn fold_some(
        &mut self,
        from: Rank,
        op: OpId,
        folded: &mut usize,
        cx: &Cx<'_>,
    ) -> Result<Outcome, Error> {
        /// Bytes folded in a step: about 50 us.
        const FOLDED_AT_ONCE: usize = 512 << 10;
        let position = self.nodes.position(from);
        let Some(home) = self.block.home() else {
            return Ok(Outcome::Park);
        };
        let Some(((copy, first), op)) = home.copy_of(position).zip(self.ops.find(op)) else {
            return Err(cx.frame.unknown_op());
        };
        let element = self.block.element;
        let elements: Range<usize> = *folded..self.block.len().min(*folded + (FOLDED_AT_ONCE / element).max(1));
        let operands = &copy.bytes()[first + elements.start * element..first + elements.end * element];
        if !operands.is_empty() && !self.fold(op.fold, &elements, operands) {
            return Ok(Outcome::Park);
        }
        *folded = elements.end;
        if *folded < self.block.len() {
            return Ok(Outcome::Interrupted);
        }
        if let Some(home) = self.block.home() {
            home.sharing().note_fold(position);
        }
        Ok(Outcome::applied(Ok(())))
    }
}
