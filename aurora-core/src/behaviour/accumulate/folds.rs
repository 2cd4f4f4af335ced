//! The protocol of partial copies in the node's shared memory: each owner of the node folds its part of every copy
//! into its block, at the end of the scope.

use crate::object::Cx;
use crate::scope::{Opening, Outcome};
use crate::vector::core::VectorCore;
use crate::vector::message::Written;
use crate::vector::protocol::{Numbered, Piece, Protocol};
use crate::{Error, Kind};
use aurora_net::Rank;

/// Its batches have no bytes. The operation is that of the scope.
pub(crate) struct Folds;

impl Folds {
    /// The batch with which a rank announces that its partial copy is final.
    pub(crate) const BATCH: Written = Written::Of(Self::NUMBER);

    /// This rank's partial copy is final.
    pub(super) fn publish(core: &VectorCore) {
        if let Some(home) = core.block().home() {
            home.sharing().publish();
        }
    }
}

impl Numbered for Folds {
    const NUMBER: u8 = 4;
}

impl Protocol for Folds {
    fn kind(&self) -> Kind {
        Kind::Merge
    }

    fn admits(&self, core: &VectorCore, from: Rank, opening: &Opening) -> bool {
        let nodes = core.nodes();
        // That rank may be the first to have made the vector: then this rank has no home yet.
        let has_copy = || core.block().home().is_none_or(|home| home.copy_of(nodes.position(from)).is_some());
        let is_of_all = opening.window.range(core.dist().len()).len() == core.dist().len();
        opening.op.is_some() && is_of_all && nodes.same_node(from, core.me()) && has_copy()
    }

    /// Folds some more of a partial copy into the block. `number`: the elements of the block that are done.
    fn work(
        &mut self,
        core: &mut VectorCore,
        Piece { from, due, number }: Piece<'_>,
        _: &[u8],
        cx: &mut Cx<'_>,
    ) -> Result<Outcome, Error> {
        /// Bytes folded in a step: about 50 us.
        const AT_ONCE: usize = 512 << 10;
        let op = core.ledger().opening(due.epoch()).and_then(|opening| opening.op);
        let (element, len, position) = (core.block().element, core.block().len(), core.nodes().position(from));
        let Some(home) = core.block().home() else {
            return Ok(Outcome::Park);
        };
        let Some(((copy, first), op)) = home.copy_of(position).zip(op) else {
            return Err(cx.unknown_op());
        };
        let folded = *number as usize;
        let elements = folded..len.min(folded + (AT_ONCE / element).max(1));
        let operands = &copy.bytes()[first + elements.start * element..first + elements.end * element];
        if !core.fold(op, &elements, operands).ok_or_else(|| cx.unknown_op())? {
            return Ok(Outcome::Park);
        }
        *number = elements.end as u64;
        if elements.end < len {
            return Ok(Outcome::Interrupted);
        }
        if let Some(home) = core.block().home() {
            home.sharing().note_fold(position);
        }
        Ok(Outcome::applied(Ok(())))
    }
}
