//! Memory of a vector that the transport reads from or writes into at this moment.

use super::machine::Vector;
use crate::behaviour::halo::edges::Exchange;
use crate::ids::Epoch;
use crate::memory::Storage;
use crate::object::{Cx, Loan};
use aurora_net::{Payload, Rank, Token};
use std::sync::Arc;

/// What a loan of a vector stands for.
pub(crate) enum VectorLoan {
    /// Our block, from byte `base` on.
    Block { base: usize },
    /// A copy of our block, which has since been lent to this rank's program for writing.
    Detached { copy: Arc<dyn Storage>, base: usize },
    /// Our own part of a cache.
    CacheOut { serial: u64, base: usize },
    /// Another rank's part of a cache that is being loaded.
    CacheIn { epoch: Epoch, base: usize, len: usize },
    /// A block of another node, on its way into the memory that this one shares.
    RoomIn { owner: Rank, epoch: Epoch, len: usize },
    /// A neighbour's edge, on its way into the halo of an exchange.
    EdgeIn { exchange: Exchange, from: Rank },
}

impl Vector {
    /// Lends `len` bytes of its memory as a payload.
    pub(crate) fn lend(&mut self, loan: VectorLoan, len: usize, cx: &Cx<'_>) -> Payload {
        cx.lent(self.loans.add(loan), len)
    }

    /// Ends the loan into which a payload has been written; returns what it stood for.
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

    /// Writes bytes of a payload to the memory of a loan. A loan that has ended is ignored.
    pub(super) fn write_loan(&mut self, loan: Loan, offset: usize, bytes: &[u8]) {
        let within = |base: usize, len: usize| {
            let end = offset.checked_add(bytes.len()).filter(|end| *end <= len)?;
            Some(base + offset..base + end)
        };
        match self.loans.get(loan) {
            Some(&VectorLoan::CacheIn { epoch, base, len }) => {
                if let Some(place) = within(base, len) {
                    self.load.cache.receive(epoch, place.start, bytes);
                }
            }
            Some(&VectorLoan::EdgeIn { exchange, from }) => self.write_edge(from, exchange, offset, bytes),
            Some(&VectorLoan::RoomIn { owner, epoch, len }) => {
                let slot = self.block.home_mut().and_then(|home| home.cache.slot(owner));
                if let Some((place, slot)) = within(0, len).zip(slot.filter(|slot| slot.is_open_for(epoch))) {
                    slot.write(place.start, bytes);
                }
            }
            _ => {}
        }
    }

    /// Reads bytes of a lent payload. False: they are no longer there.
    pub(super) fn read_loan(&self, loan: Loan, offset: usize, into: &mut [u8]) -> bool {
        let bytes = match self.loans.get(loan) {
            Some(VectorLoan::Block { base }) => return self.block.copy(base + offset, into),
            Some(VectorLoan::Detached { copy, base }) => copy.bytes().get(base + offset..),
            Some(VectorLoan::CacheOut { serial, base }) => {
                self.load.cache.bytes(*serial).and_then(|bytes| bytes.get(base + offset..))
            }
            _ => None,
        };
        let from = bytes.and_then(|bytes| bytes.get(..into.len()));
        from.map(|bytes| into.copy_from_slice(bytes)).is_some()
    }
}
