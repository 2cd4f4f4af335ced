#![doc = include_str!("README.md")]

mod draws;
#[cfg(feature = "mpi")]
mod mpi;
mod naive;
mod parallel;
mod run;

pub use draws::Draws;
pub use naive::in_turns;
pub use parallel::{accumulate, release};
pub use run::Histogram;

use std::ops::AddAssign;

/// Counts the draws. This is the sequential program, with the draws of all ranks, and also a rank's local count.
pub fn sequential<C: AddAssign + From<bool>>(table: &mut [C], draws: impl IntoIterator<Item = usize>) {
    for index in draws {
        table[index] += C::from(true);
    }
}
