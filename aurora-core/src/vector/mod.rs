//! The shared vector: its handle, its state in a rank's kernel, and one-sided access.

mod access;
mod apply;
pub(crate) mod asking;
mod bare;
pub(crate) mod batch;
pub(crate) mod block;
mod by_kernel;
pub(crate) mod check;
pub(crate) mod construct;
mod copy;
pub(crate) mod core;
mod handle;
mod incast;
pub(crate) mod machine;
mod many;
pub(crate) mod message;
pub(crate) mod places;
pub(crate) mod protocol;
mod serving;
mod using;
mod working;
mod writes;
mod writing;

pub(crate) use copy::resolve;

pub use access::{GlobalRead, GlobalWrite};
pub use copy::{Transfer, VectorRange, VectorRangeMut, distmemcpy, distmemcpy_many};
pub use handle::GVector;
pub use using::Taken;
