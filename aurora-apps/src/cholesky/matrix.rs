//! The random matrix of a repetition, in tiles.

use super::Cholesky;
use crate::random::Stream;
use aurora_super::Dense;

/// A symmetric matrix with a dominant diagonal, so that it is positive definite. An element depends on the seed and on
/// its place alone, so every rank can make any tile.
#[derive(Clone, Copy, Debug)]
pub struct Matrix {
    stream: Stream,
    size: usize,
    tile: usize,
}

impl Matrix {
    /// The matrix of repetition `rep` of a job with this seed.
    pub fn new(job: &Cholesky, seed: u64, rep: usize) -> Self {
        Matrix { stream: Stream::new(seed, rep as u64), size: job.size, tile: job.tile }
    }

    /// Rows and columns.
    pub fn size(self) -> usize {
        self.size
    }

    /// The number of tiles in a row of tiles.
    pub fn tiles(self) -> u32 {
        self.size.div_ceil(self.tile) as u32
    }

    /// The first row or column of a tile.
    pub fn start(self, tile: u32) -> usize {
        tile as usize * self.tile
    }

    /// Rows or columns of a tile. Those of the last one may be fewer.
    pub fn len(self, tile: u32) -> usize {
        self.tile.min(self.size - self.start(tile))
    }

    /// An element.
    pub fn element(self, row: usize, column: usize) -> f64 {
        let (least, most) = (row.min(column), row.max(column));
        let diagonal = if row == column { self.size as f64 } else { 0.0 };
        diagonal + self.stream.child(least as u64).unit(most as u64)
    }

    /// A tile. A tile above the diagonal is empty, because the program never uses it.
    pub fn tile(self, (row, column): (u32, u32)) -> Dense<f64> {
        if column > row {
            return Dense::zeros(0, 0);
        }
        let (first_row, first_column) = (self.start(row), self.start(column));
        Dense::from_fn(self.len(row), self.len(column), |i, j| self.element(first_row + i, first_column + j))
    }
}
