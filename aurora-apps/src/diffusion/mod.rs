#![doc = include_str!("README.md")]

#[cfg(feature = "mpi")]
mod mpi;
mod naive;
mod parallel;
mod plate;
mod run;
mod stencil;

pub use naive::step_by_elements;
pub use parallel::steps;
pub use plate::Plate;
pub use run::Diffusion;
pub use stencil::{RATE, sequential, step_row, warmed};
