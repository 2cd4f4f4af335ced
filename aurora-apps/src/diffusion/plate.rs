//! The random plate of a repetition.

use crate::random::Stream;

/// The temperatures before the first step. Each cell depends on its position alone, so every rank can make its own
/// rows, and rank 0 the whole plate.
#[derive(Clone, Copy, Debug)]
pub struct Plate {
    cells: Stream,
}

impl Plate {
    /// Makes the plate of repetition `rep` of a run with `seed`.
    pub fn new(seed: u64, rep: usize) -> Self {
        Plate { cells: Stream::new(seed, rep as u64) }
    }

    /// Returns cell `index`, counted by rows: 0 to 100 degrees.
    pub fn cell(self, index: usize) -> f64 {
        100.0 * self.cells.unit(index as u64)
    }
}
