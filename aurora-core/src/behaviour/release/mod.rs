//! `ReleaseC`: writes are buffered per owner and leave in batches (paper sections 2.1 and 2.2).
//!
//! All ranks open [`GVector::release_c`], and its end orders the writes of all ranks. One rank alone opens
//! [`GVector::release_alone`] (the paper's Figure 1), and its end waits for acknowledgements.

mod alone;
pub(crate) mod end;
mod together;

pub use alone::Alone;
pub use together::Together;

/// No operation: writes of the scope replace the old values.
#[derive(Clone, Copy, Debug)]
pub struct PutOnly;
