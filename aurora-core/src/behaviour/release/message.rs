//! The batches of the protocol of buffered writes.

use crate::ops::OpId;
use serde::{Deserialize, Serialize};

/// A batch of a scope of writes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Written {
    /// Values that replace the old ones.
    Values,
    /// Operands of this operation.
    Operands(OpId),
    /// The sender's partial copy in the node's shared memory, of operands of the scope's operation.
    Partial,
}

impl From<Option<OpId>> for Written {
    fn from(op: Option<OpId>) -> Self {
        op.map_or(Written::Values, Written::Operands)
    }
}
