//! The sequential program: plain loops over whole sparse matrices.

use super::Matrices;
use crate::checksum::checksum;
use aurora_super::Csr;

/// A whole sparse matrix in compressed rows.
#[derive(Clone, Debug)]
pub struct Sparse {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Sparse {
    /// The matrix of all blocks that `block` makes.
    pub fn new(of: Matrices, block: impl Fn((u32, u32)) -> Csr<f64>) -> Self {
        let mut whole = Sparse { starts: vec![0], columns: Vec::new(), values: Vec::new() };
        for i in 0..of.blocks() {
            let blocks: Vec<Csr<f64>> = (0..of.blocks()).map(|j| block((i, j))).collect();
            for row in 0..of.len(i) {
                for (j, block) in (0..).zip(&blocks) {
                    let (columns, values) = block.row(row);
                    whole.columns.extend(columns.iter().map(|column| of.start(j) as u32 + column));
                    whole.values.extend(values);
                }
                whole.starts.push(whole.columns.len());
            }
        }
        whole
    }

    fn row(&self, row: usize) -> (&[u32], &[f64]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.columns[range.clone()], &self.values[range])
    }
}

/// C = A x B. `c` has `size` rows and columns, row by row.
pub fn sequential(a: &Sparse, b: &Sparse, c: &mut [f64], size: usize) {
    for (i, sums) in c.chunks_exact_mut(size).enumerate() {
        sums.fill(0.0);
        let (columns, factors) = a.row(i);
        for (k, factor) in columns.iter().zip(factors) {
            let (columns, values) = b.row(*k as usize);
            for (j, value) in columns.iter().zip(values) {
                sums[*j as usize] += factor * value;
            }
        }
    }
}

/// The checksum of each block of a whole matrix.
pub(super) fn checksums_of(c: &[f64], of: Matrices) -> Vec<u64> {
    let indices = (0..of.blocks()).flat_map(|i| (0..of.blocks()).map(move |j| (i, j)));
    let block = |(i, j)| {
        let rows = (0..of.len(i)).map(move |row| (of.start(i) + row) * of.size() + of.start(j));
        checksum(rows.flat_map(move |start| &c[start..][..of.len(j)]))
    };
    indices.map(block).collect()
}
