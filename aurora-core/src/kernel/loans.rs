//! Memory of the calling thread that the transport reads or writes at this moment: loans of object 0.

use crate::ids::ObjectId;
use crate::memory::{Lent, LentMut};
use crate::object::{Loan, Loans};
use aurora_net::Token;

/// The number of the kernel itself, which no object has.
pub(super) const KERNEL: ObjectId = ObjectId(0);

pub(super) enum CallerLoan {
    Read(Lent),
    Write(LentMut),
}

#[derive(Default)]
pub(super) struct CallerLoans(Loans<CallerLoan>);

impl CallerLoans {
    pub(super) fn add(&mut self, loan: CallerLoan) -> Token {
        self.0.add(loan).token(KERNEL)
    }

    pub(super) fn get(&self, token: Token) -> Option<&CallerLoan> {
        self.0.get(Loan::of(token))
    }

    pub(super) fn get_mut(&mut self, token: Token) -> Option<&mut CallerLoan> {
        self.0.get_mut(Loan::of(token))
    }

    pub(super) fn end(&mut self, token: Token) {
        self.0.end(Loan::of(token));
    }
}

/// The token of bytes that nobody needs: no loan has number 0.
pub(super) fn nowhere() -> Token {
    Loan::new(0).token(KERNEL)
}
