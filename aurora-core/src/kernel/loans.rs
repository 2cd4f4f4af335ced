//! Memory of the calling thread that the transport reads or writes at this moment: loans of object 0.

use crate::ids::ObjectId;
use crate::memory::{Lent, LentMut};
use crate::object::Loan;
use aurora_net::Token;

/// The number of the kernel itself, which no object has.
pub(super) const KERNEL: ObjectId = ObjectId(0);

pub(super) enum CallerLoan {
    Read(Lent),
    Write(LentMut),
}

/// The token of bytes that are not needed: no loan has number 0.
pub(super) fn nowhere() -> Token {
    Loan::new(0).token(KERNEL)
}
