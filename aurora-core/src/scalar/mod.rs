//! The shared scalar: its handle, its value at home, and its scopes.

mod arrivals;
pub(crate) mod behaviour;
mod handle;
pub(crate) mod machine;
pub(crate) mod message;
mod offers;
mod ordering;
pub(crate) mod plain;
mod protocol;
mod replica;
mod scopes;
mod serving;
mod spreading;
mod value;

pub(crate) use machine::{Scalar, ScalarFn};
pub(crate) use offers::Offered;
use offers::Replicated;
pub(crate) use replica::{Replica, WORD};
pub(crate) use serving::NumberedReply;
use spreading::Spreading;
pub(crate) use value::{Value, change_word, requested};

pub use behaviour::{ReadMostly, ScalarAccumulate, ScalarReadCache, ScalarReleaseC, ScalarScope};
pub use handle::{Atomic, GScalar};
