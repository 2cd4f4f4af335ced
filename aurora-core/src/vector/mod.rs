//! The shared vector: its handle, what a rank's kernel knows of it, and one-sided access.

mod access;
mod bare;
pub(crate) mod batch;
pub(crate) mod block;
pub(crate) mod check;
pub(crate) mod construct;
mod copies;
mod copy;
pub(crate) mod entering;
mod handle;
mod many;
pub(crate) mod object;
pub(crate) mod places;
pub(crate) mod rally;
mod serving;
mod slice;
pub(crate) mod writes;
mod writing;

pub(crate) use copy::resolve;

pub use access::{GlobalRead, GlobalWrite};
pub use copy::{Transfer, VectorRange, VectorRangeMut, distmemcpy, distmemcpy_many};
pub use handle::GVector;
pub use slice::{Slice, SliceMut};
