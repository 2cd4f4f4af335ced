//! The shared vector: its handle, its state in a rank's kernel, and one-sided access.

mod access;
pub(crate) mod apply;
mod bare;
pub(crate) mod batch;
pub(crate) mod block;
mod by_kernel;
pub(crate) mod check;
pub(crate) mod construct;
mod copy;
mod handle;
pub(crate) mod incast;
pub(crate) mod loans;
pub(crate) mod machine;
mod many;
pub(crate) mod message;
pub(crate) mod places;
mod serving;
mod shared;
mod slice;
mod using;
pub(crate) mod waits;
mod working;
pub(crate) mod writes;
mod writing;

pub(crate) use copy::resolve;

pub use access::{GlobalRead, GlobalWrite};
pub use copy::{Transfer, VectorRange, VectorRangeMut, distmemcpy, distmemcpy_many};
pub use handle::GVector;
pub use slice::{Slice, SliceMut};
