//! The random matrices of a repetition, in blocks.

use super::SparseMm;
use crate::random::Stream;
use aurora_super::{Csr, Dense};

/// A and B of one repetition. A block depends on the seed and on its own index alone, so every rank can make it.
#[derive(Clone, Copy, Debug)]
pub struct Matrices {
    a: Stream,
    b: Stream,
    size: usize,
    block: usize,
    /// An entry is there if 53 random bits are less than this.
    threshold: u64,
}

impl Matrices {
    /// The matrices of repetition `rep` of a job with this seed.
    pub fn new(job: &SparseMm, seed: u64, rep: usize) -> Self {
        let rep = rep as u64;
        Matrices {
            a: Stream::new(seed, 2 * rep),
            b: Stream::new(seed, 2 * rep + 1),
            size: job.size,
            block: job.block,
            threshold: (job.density * (1_u64 << 53) as f64) as u64,
        }
    }

    /// Rows and columns of each matrix.
    pub fn size(self) -> usize {
        self.size
    }

    /// The number of blocks in a row of blocks.
    pub fn blocks(self) -> u32 {
        self.size.div_ceil(self.block) as u32
    }

    /// The first row or column of a block.
    pub fn start(self, block: u32) -> usize {
        block as usize * self.block
    }

    /// Rows or columns of a block. Those of the last one may be fewer.
    pub fn len(self, block: u32) -> usize {
        self.block.min(self.size - self.start(block))
    }

    /// A block of A.
    pub fn a(self, at: (u32, u32)) -> Csr<f64> {
        self.draw(self.a, at)
    }

    /// A block of B.
    pub fn b(self, at: (u32, u32)) -> Csr<f64> {
        self.draw(self.b, at)
    }

    /// A block of C before the multiplication.
    pub fn zeros(self, (row, column): (u32, u32)) -> Dense<f64> {
        Dense::zeros(self.len(row), self.len(column))
    }

    /// Values are whole numbers from 1 to 8. Sums of their products are exact, so they have the same bits in any order.
    fn draw(self, of: Stream, (row, column): (u32, u32)) -> Csr<f64> {
        let (rows, columns) = (self.len(row), self.len(column));
        let stream = of.child(u64::from(row) << 32 | u64::from(column));
        Csr::from_rows(rows, columns, |row| {
            (0..columns).filter_map(move |column| {
                let bits = stream.bits((row * columns + column) as u64);
                (bits >> 11 < self.threshold).then_some((column, (1 + bits % 8) as f64))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrices(size: usize, block: usize, density: f64) -> Matrices {
        Matrices::new(&SparseMm { size, block, density, policy: None }, 7, 0)
    }

    #[test]
    fn blocks_at_the_border_are_ragged() {
        let of = matrices(20, 8, 1.0);
        assert_eq!((of.blocks(), of.len(0), of.len(2)), (3, 8, 4));
        let last = of.a((2, 1));
        assert_eq!((last.rows(), last.columns(), last.entries()), (4, 8, 32));
        assert_eq!((of.zeros((1, 2)).rows(), of.zeros((1, 2)).columns()), (8, 4));
        assert_eq!(matrices(20, 50, 1.0).blocks(), 1);
    }

    #[test]
    fn entries_are_as_dense_as_asked_and_blocks_differ() {
        let of = matrices(512, 256, 0.125);
        let entries = of.a((0, 1)).entries() as f64 / 65536.0;
        assert!((entries - 0.125).abs() < 0.01, "{entries}");
        assert_eq!(of.a((0, 1)), of.a((0, 1)));
        assert!(of.a((0, 1)) != of.a((1, 0)) && of.a((0, 1)) != of.b((0, 1)));
        assert_eq!(matrices(512, 256, 0.0).b((1, 1)).entries(), 0);
        let (_, values) = (of.a((0, 0)), of.b((1, 1)));
        assert!((0..256).all(|row| values.row(row).1.iter().all(|value| (1.0..=8.0).contains(value))));
    }
}
