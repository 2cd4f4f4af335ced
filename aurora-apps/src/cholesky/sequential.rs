//! The sequential program: the same kernels in loops over all tiles, and the residual of its result.

use super::Matrix;
use super::kernel::{gemm, potrf, trsm};
use crate::checksum::checksum;
use aurora_super::Dense;

/// All tiles of a matrix, row by row.
#[derive(Clone, Debug)]
pub struct Tiles {
    of: Matrix,
    tiles: Vec<Dense<f64>>,
}

impl Tiles {
    /// The tiles of a matrix.
    pub fn new(of: Matrix) -> Self {
        let places = (0..of.tiles()).flat_map(|i| (0..of.tiles()).map(move |j| (i, j)));
        Tiles { of, tiles: places.map(|at| of.tile(at)).collect() }
    }

    fn place(&self, row: u32, column: u32) -> usize {
        (row * self.of.tiles() + column) as usize
    }

    fn at(&self, row: u32, column: u32) -> &Dense<f64> {
        &self.tiles[self.place(row, column)]
    }

    /// Changes a tile by a function of it and of the others.
    fn change(&mut self, row: u32, column: u32, change: impl FnOnce(&Self, &mut Dense<f64>)) {
        let place = self.place(row, column);
        let mut tile = std::mem::replace(&mut self.tiles[place], Dense::zeros(0, 0));
        change(self, &mut tile);
        self.tiles[place] = tile;
    }

    /// Factorises the matrix: A becomes L.
    pub fn factorise(&mut self) {
        let tiles = self.of.tiles();
        for k in 0..tiles {
            self.change(k, k, |_, tile| potrf(tile));
            for i in k + 1..tiles {
                self.change(i, k, |all, tile| trsm(all.at(k, k), tile));
            }
            for (i, j) in (k + 1..tiles).flat_map(|i| (k + 1..=i).map(move |j| (i, j))) {
                self.change(i, j, |all, tile| gemm(all.at(i, k), all.at(j, k), tile));
            }
        }
    }

    /// The checksum of each tile.
    pub fn checksums(&self) -> Vec<u64> {
        self.tiles.iter().map(|tile| checksum(tile.values())).collect()
    }

    /// The residual of L in units of rounding: the largest element of A x - L (L^T x), divided by the machine epsilon
    /// and by the largest sum of the elements of a row of A, for a vector x of ones and minus ones.
    pub fn residual(&self) -> f64 {
        let (of, n) = (self.of, self.of.size());
        let x: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
        let (mut lx, mut llx, mut ax, mut norm) = (vec![0.0; n], vec![0.0; n], vec![0.0; n], 0.0_f64);
        let lower = || (0..of.tiles()).flat_map(|i| (0..=i).map(move |j| (i, j)));
        let rows = |(i, j): (u32, u32)| (0..of.len(i)).map(move |row| (i, j, row));
        for (i, j, row) in lower().flat_map(rows) {
            let elements = self.at(i, j).row(row).iter().zip(of.start(j)..);
            elements.for_each(|(l, column)| lx[column] += l * x[of.start(i) + row]);
        }
        for (i, j, row) in lower().flat_map(rows) {
            let elements = self.at(i, j).row(row).iter().zip(of.start(j)..);
            llx[of.start(i) + row] += elements.map(|(l, column)| l * lx[column]).sum::<f64>();
        }
        for (row, ax) in ax.iter_mut().enumerate() {
            let elements = || (0..n).map(|column| of.element(row, column));
            *ax = elements().zip(&x).map(|(a, x)| a * x).sum();
            norm = norm.max(elements().map(f64::abs).sum());
        }
        // A NaN stays.
        let larger = |worst: f64, one: f64| if one > worst || one.is_nan() { one } else { worst };
        let worst = ax.iter().zip(&llx).map(|(a, b)| (a - b).abs()).fold(0.0, larger);
        worst / (norm * f64::EPSILON)
    }
}
