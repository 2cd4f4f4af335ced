//! Memory that the transport reads from or writes into at this moment.

use crate::behaviour::halo::edges::Exchange;
use crate::ids::{Epoch, ObjectId};
use crate::memory::{Lent, LentMut, Storage};
use aurora_net::{Rank, Token};
use std::collections::HashMap;
use std::sync::Arc;

/// What a token stands for.
pub(crate) enum Loan {
    /// Our block of an object, from a byte on.
    Block { object: ObjectId, base: usize },
    /// A copy of a block that has since been lent to its owner for writing.
    Detached { copy: Arc<dyn Storage>, base: usize },
    /// Our own part of a cache.
    CacheOut { object: ObjectId, serial: u64, base: usize },
    /// Another rank's part of a cache that is being loaded.
    CacheIn { object: ObjectId, epoch: Epoch, base: usize, len: usize },
    /// A block of another node, on its way into the memory that this one shares.
    RoomIn { object: ObjectId, owner: Rank, epoch: Epoch, len: usize },
    /// A neighbour's edge, on its way into the halo of an exchange.
    EdgeIn { object: ObjectId, exchange: Exchange, from: Rank },
    /// What arrives is of no use to anybody.
    Nowhere,
    /// Memory of the calling rank, read.
    Caller(Lent),
    /// Memory of the calling rank, written.
    CallerMut(LentMut),
}

impl Loan {
    /// The object whose memory it is.
    pub(crate) fn object(&self) -> Option<ObjectId> {
        match *self {
            Loan::Block { object, .. }
            | Loan::CacheOut { object, .. }
            | Loan::CacheIn { object, .. }
            | Loan::RoomIn { object, .. }
            | Loan::EdgeIn { object, .. } => Some(object),
            Loan::Detached { .. } | Loan::Nowhere | Loan::Caller(_) | Loan::CallerMut(_) => None,
        }
    }
}

/// All of them.
#[derive(Default)]
pub(crate) struct Loans {
    next: u64,
    loans: HashMap<Token, Loan>,
}

impl Loans {
    pub(crate) fn add(&mut self, loan: Loan) -> Token {
        self.next += 1;
        let token = Token(self.next);
        self.loans.insert(token, loan);
        token
    }

    pub(crate) fn get(&self, token: Token) -> Option<&Loan> {
        self.loans.get(&token)
    }

    pub(crate) fn get_mut(&mut self, token: Token) -> Option<&mut Loan> {
        self.loans.get_mut(&token)
    }

    pub(crate) fn end(&mut self, token: Token) -> Option<Loan> {
        self.loans.remove(&token)
    }

    /// Lets everything that is sent from the block of `object` go on from `copy` instead.
    pub(crate) fn detach_block(&mut self, object: ObjectId, copy: &Arc<dyn Storage>) {
        for loan in self.loans.values_mut() {
            if let Loan::Block { object: of, base } = *loan
                && of == object
            {
                *loan = Loan::Detached { copy: copy.clone(), base };
            }
        }
    }
}
