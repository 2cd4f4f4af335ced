#![doc = include_str!("README.md")]

mod kernel;
mod matrices;
#[cfg(feature = "mpi")]
mod mpi;
mod naive;
mod parallel;
mod run;
mod sequential;

pub use kernel::{Kernel, dot, tiled};
pub use matrices::Matrices;
pub use parallel::{FIRST, Loading, Multiplier, SECOND, Stage, multiply};
pub use run::Mm2;
pub use sequential::sequential;
