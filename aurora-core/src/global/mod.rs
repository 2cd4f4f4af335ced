//! The shared objects: handles through which the ranks of a job reach data that lies on all of them.

mod access;
pub(crate) mod construct;
mod copy;
mod many;
mod scalar;
mod vector;

pub(crate) use construct::short;

pub use access::{GlobalRead, GlobalWrite};
pub use copy::{Transfer, VectorRange, VectorRangeMut, distmemcpy, distmemcpy_many};
pub use scalar::{Atomic, GScalar, ScalarValue};
pub use vector::GVector;
