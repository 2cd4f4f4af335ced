//! The shared scalar: its handle, its value at home, and its scopes.

mod arrivals;
pub(crate) mod behaviour;
mod handle;
mod offers;
mod panics;
pub(crate) mod plain;
mod replica;
mod scopes;
mod serving;
mod spreading;
mod value;

pub(crate) use handle::{decode, encode};
pub(crate) use offers::Offered;
pub(crate) use replica::{Replica, WORD};
pub(crate) use scopes::{Ended, ScalarScopes, offered};
pub(crate) use serving::{NumberedReply, not_home, serve, serve_numbered, update};
pub(crate) use value::{Value, change_word, requested};

pub use behaviour::{ReadMostly, ScalarAccumulate, ScalarReadCache, ScalarReleaseC, ScalarScope};
pub use handle::{Atomic, GScalar, ScalarValue};
