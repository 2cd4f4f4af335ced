//! The number of elements of a vector, and its division by elements or by rows.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Rows and columns of a matrix stored by rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
pub struct MatrixDim {
    /// Number of rows.
    pub rows: usize,
    /// Elements in a row.
    pub cols: usize,
}

impl MatrixDim {
    /// A matrix of `rows` by `cols` (the paper's `MatrixDim(512, 512)`).
    pub const fn new(rows: usize, cols: usize) -> Self {
        MatrixDim { rows, cols }
    }

    /// The global index of an element by its row and column, for calls such as [`at`](crate::GVector::at) and
    /// [`put`](crate::GVector::put). Guards can be indexed by `(row, col)` directly.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(2).run(|world| {
    ///     let dim = MatrixDim::new(3, 4);
    ///     let matrix = GVector::<u64>::from_fn(world, dim, |i| i as u64)?;
    ///     assert_eq!(matrix.at(dim.index(2, 1))?, 9);
    ///     assert_eq!(matrix.read_cache()?[(2, 1)], 9);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Panics
    /// If the matrix has no such row or column.
    #[inline]
    #[track_caller]
    pub fn index(self, row: usize, col: usize) -> usize {
        assert!(
            row < self.rows && col < self.cols,
            "({row}, {col}) is outside a matrix of {} x {}",
            self.rows,
            self.cols
        );
        row * self.cols + col
    }
}

/// The length of a vector, cut by elements or by rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Shape {
    /// This many elements, cut anywhere.
    Vector(usize),
    /// A matrix by rows; no row is ever split.
    Matrix(MatrixDim),
}

impl Shape {
    /// Number of elements, or `None` if it overflows.
    pub fn checked_len(self) -> Option<usize> {
        match self {
            Shape::Vector(len) => Some(len),
            Shape::Matrix(dim) => dim.rows.checked_mul(dim.cols),
        }
    }

    /// Elements of one unit: of a row, or one.
    pub(crate) fn unit(self) -> usize {
        match self {
            Shape::Vector(_) => 1,
            Shape::Matrix(dim) => dim.cols,
        }
    }

    /// Number of units.
    pub(super) fn units(self) -> usize {
        match self {
            Shape::Vector(len) => len,
            Shape::Matrix(dim) => dim.rows,
        }
    }
}

impl From<usize> for Shape {
    fn from(len: usize) -> Self {
        Shape::Vector(len)
    }
}

impl From<MatrixDim> for Shape {
    fn from(dim: MatrixDim) -> Self {
        Shape::Matrix(dim)
    }
}

/// Rows and columns.
impl From<(usize, usize)> for Shape {
    fn from((rows, cols): (usize, usize)) -> Self {
        Shape::Matrix(MatrixDim::new(rows, cols))
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Vector(len) => write!(f, "{len} elements"),
            Shape::Matrix(dim) => write!(f, "{} x {}", dim.rows, dim.cols),
        }
    }
}
