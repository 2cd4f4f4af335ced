//! Memory of a vector that the transport reads from or writes into at this moment.

use super::machine::Vector;
use crate::behaviour::halo::edges::Exchange;
use crate::ids::Epoch;
use crate::memory::Storage;
use crate::object::{Cx, Loan};
use aurora_net::{Payload, Rank, Token};
use std::sync::Arc;

/// The purpose of a loan of a vector's memory.
pub(crate) enum VectorLoan {
    /// Our block, from byte `base` on.
    Block { base: usize },
    /// A copy of our block, which has since been lent to this rank's program for writing.
    Detached { copy: Arc<dyn Storage>, base: usize },
    /// Our own part of a cache.
    CacheOut { serial: u64, base: usize },
    /// Another rank's part of a cache that is being loaded.
    CacheIn { epoch: Epoch, base: usize, len: usize },
    /// A block of another node, on its way into this node's shared memory.
    RoomIn { owner: Rank, epoch: Epoch, len: usize },
    /// A neighbour's edge, on its way into the halo of an exchange.
    EdgeIn { exchange: Exchange, from: Rank },
}

impl Vector {
    /// Lends `len` bytes of its memory as a payload.
    pub(crate) fn lend(&mut self, loan: VectorLoan, len: usize, cx: &Cx<'_>) -> Payload {
        cx.lent(self.loans.add(loan), len)
    }

    /// Ends the loan into which a payload has been written. Returns its purpose.
    pub(crate) fn end_loan(&mut self, token: Token) -> Option<VectorLoan> {
        self.loans.end(Loan::of(token))
    }

    /// Lets all transfers from our block continue from a copy.
    pub(crate) fn detach_block(&mut self, copy: &Arc<dyn Storage>) {
        for loan in self.loans.values_mut() {
            if let VectorLoan::Block { base } = *loan {
                *loan = VectorLoan::Detached { copy: copy.clone(), base };
            }
        }
    }
}
