#![doc = include_str!("README.md")]

mod job;
mod matrices;
mod program;
mod report;
mod run;
mod sequential;
#[cfg(test)]
mod tests;

pub use job::{Impossible, MOST_OF_A_BLOCK, MOST_ROWS, SparseMm};
pub use matrices::Matrices;
pub use program::{Product, checksums, product};
pub use report::{Launch, SparseReport};
pub use sequential::{Sparse, sequential};
