//! The shared objects: handles through which the ranks of a job reach data that lies on all of them.

mod access;
mod asked;
mod bare;
pub(crate) mod construct;
mod copy;
mod many;
pub(crate) mod plain;
mod scalar;
mod slice;
mod vector;

pub(crate) use asked::Asked;
pub(crate) use construct::short;
pub(crate) use copy::resolve;
pub(crate) use scalar::{decode, encode};

pub use access::{GlobalRead, GlobalWrite};
pub use copy::{Transfer, VectorRange, VectorRangeMut, distmemcpy, distmemcpy_many};
pub use scalar::{Atomic, GScalar, ScalarValue};
pub use slice::{Slice, SliceMut};
pub use vector::GVector;
