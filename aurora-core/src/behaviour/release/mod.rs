//! `ReleaseC`: writes are buffered per owner and leave in batches (paper sections 2.1 and 2.2).
//!
//! Together with all ranks ([`GVector::release_c`]), its end orders the writes of all ranks. Alone
//! ([`GVector::release_alone`], the paper's Figure 1), it concerns one rank, and its end waits for acknowledgements.

mod alone;
pub(crate) mod message;
pub(crate) mod protocol;
mod together;

pub use alone::Alone;
pub use together::Together;

/// No operation: a scope whose writes replace what was there.
#[derive(Clone, Copy, Debug)]
pub struct PutOnly;
