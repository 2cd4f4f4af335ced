#![doc = include_str!("README.md")]

mod input;
mod job;
mod kernel;
mod naive;
mod pages;
mod parallel;
mod run;
#[cfg(test)]
mod tests;
mod treadmarks;

pub use input::{Start, java_random};
pub use job::{Precision, Problem, Sor, TooLarge};
pub use kernel::{BLACK, Halves, OMEGA, RED, Real, parity, relaxed, row_sum, sequential, update_row};
pub use naive::half_sweep_by_elements;
pub use pages::half_sweeps_by_pages;
pub use parallel::half_sweeps;
pub use treadmarks::half_sweeps_by_treadmarks;
