#![doc = include_str!("README.md")]

mod job;
mod kernel;
mod matrix;
mod program;
mod report;
mod run;
mod sequential;
#[cfg(test)]
mod tests;

pub use job::{Cholesky, Impossible, MOST_OF_A_TILE, MOST_ROWS};
pub use matrix::Matrix;
pub use program::{Factor, checksums, factorise};
pub use report::CholeskyReport;
pub use sequential::Tiles;
