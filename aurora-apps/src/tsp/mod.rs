#![doc = include_str!("README.md")]

mod instance;
#[cfg(feature = "mpi")]
mod mpi;
mod parallel;
mod potential;
mod run;
mod search;
mod tsplib;

pub use instance::{Instance, MOST_CITIES, Named};
pub use run::Tsp;
pub use search::{Best, Bound, Search, Tour, sequential};
pub use tsplib::{Fault, parse};
