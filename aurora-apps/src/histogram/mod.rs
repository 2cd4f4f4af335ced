#![doc = include_str!("README.md")]

mod count;
mod draws;
mod run;

pub use count::{accumulate, in_turns, release};
pub use draws::Draws;
pub use run::{Histogram, run};

/// The sequential program: counts what all ranks have drawn.
pub fn sequential(table: &mut [u64], draws: impl IntoIterator<Item = usize>) {
    for index in draws {
        table[index] += 1;
    }
}
