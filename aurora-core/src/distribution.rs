//! Which rank owns which element: pure arithmetic.
//!
//! A vector is cut into *units* (elements, or whole rows of a matrix); the first `units % ranks` ranks own one unit
//! more than the others. A vector may instead be placed whole on one rank.

use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

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
    /// If there is no such row or column.
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

/// Length of a vector, and whether it is cut by elements or by rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
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

    /// Elements of one unit and number of units.
    fn units(self) -> (usize, usize) {
        match self {
            Shape::Vector(len) => (1, len),
            Shape::Matrix(MatrixDim { cols: 0, .. }) => (1, 0),
            Shape::Matrix(dim) => (dim.cols, dim.rows),
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

/// Division by a constant as a multiplication: `put` must not pay for a hardware division.
#[derive(Clone, Copy, Debug)]
struct Divisor {
    by: u64,
    reciprocal: u64,
}

impl Divisor {
    fn new(by: usize) -> Self {
        let by = by.max(1) as u64;
        Divisor { by, reciprocal: u64::MAX / by }
    }

    /// `n / by`. The multiplication yields at most one too little, which is corrected without a branch.
    #[inline]
    fn divide(self, n: usize) -> usize {
        let n = n as u64;
        let quotient = ((u128::from(n) * u128::from(self.reciprocal)) >> 64) as u64;
        (quotient + u64::from(n - quotient * self.by >= self.by)) as usize
    }
}

/// How the elements of one vector lie over the ranks.
#[derive(Clone, Copy, Debug)]
pub struct Distribution {
    shape: Shape,
    len: usize,
    on: Option<Rank>,
    /// The first rank that owns something.
    first: usize,
    /// Elements of a smaller block.
    base: usize,
    /// Elements of a larger block: one unit more.
    larger: usize,
    /// First element that lies in a smaller block.
    split: usize,
    /// Number of larger blocks.
    extra: usize,
    /// Elements that all larger blocks have beyond smaller ones.
    surplus: usize,
    by_larger: Divisor,
    by_base: Divisor,
}

impl Distribution {
    /// Block-distributed over `ranks` ranks.
    ///
    /// # Panics
    /// If the number of elements overflows; callers check [`Shape::checked_len`] first.
    pub fn block(shape: Shape, ranks: usize) -> Self {
        let len = shape.checked_len().expect("the number of elements overflows");
        let (unit, units) = shape.units();
        let (base, extra) = ((units / ranks) * unit, units % ranks);
        let larger = base + unit;
        Distribution {
            shape,
            len,
            on: None,
            first: 0,
            base,
            larger,
            split: extra * larger,
            extra,
            surplus: extra * unit,
            by_larger: Divisor::new(larger),
            by_base: Divisor::new(base),
        }
    }

    /// Whole on one rank.
    ///
    /// # Panics
    /// As [`Distribution::block`].
    pub fn on(rank: Rank, shape: Shape) -> Self {
        Distribution { on: Some(rank), first: rank.index(), ..Distribution::block(shape, 1) }
    }

    /// The shape that is distributed.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Elements in all.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rank that owns element `index`, which must exist.
    #[inline]
    pub fn owner(&self, index: usize) -> Rank {
        debug_assert!(index < self.len());
        Rank::new(self.owner_index(index))
    }

    /// The number of the rank that owns element `index`. Without a branch, which random indices would mispredict: for
    /// a larger block the first quotient is its number and the second at most that, for a smaller one the reverse.
    #[inline]
    pub fn owner_index(&self, index: usize) -> usize {
        if self.surplus == 0 {
            return self.first + self.by_base.divide(index);
        }
        self.by_larger.divide(index).max(self.by_base.divide(index.saturating_sub(self.surplus)))
    }

    /// The global indices that `rank` owns; empty where it owns none.
    #[inline]
    pub fn range(&self, rank: Rank) -> Range<usize> {
        let rank = rank.index();
        match self.on {
            Some(home) if home == rank => 0..self.len(),
            Some(home) if home.index() > rank => 0..0,
            Some(_) => self.len()..self.len(),
            None if rank < self.extra => rank * self.larger..(rank + 1) * self.larger,
            None => {
                let start = self.split + (rank - self.extra) * self.base;
                start..start + self.base
            }
        }
    }

    /// Cuts a range of global indices at the borders between owners: `(owner, global range)`, in order.
    pub fn pieces(&self, range: Range<usize>) -> impl Iterator<Item = (Rank, Range<usize>)> + '_ {
        let mut at = range.start;
        std::iter::from_fn(move || {
            (at < range.end).then(|| {
                let owner = self.owner(at);
                let piece = at..self.range(owner).end.min(range.end);
                at = piece.end;
                (owner, piece)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shapes() -> impl Strategy<Value = Shape> {
        prop_oneof![
            (0usize..5000).prop_map(Shape::Vector),
            (0usize..200, 0usize..40).prop_map(|(r, c)| Shape::Matrix(MatrixDim::new(r, c))),
            (usize::MAX / 2 - 1000..usize::MAX / 2).prop_map(Shape::Vector),
        ]
    }

    proptest! {
        #[test]
        fn blocks_cover_everything_once_in_order(shape in shapes(), ranks in 1usize..70) {
            let d = Distribution::block(shape, ranks);
            let mut next = 0;
            for rank in 0..ranks {
                let range = d.range(Rank::new(rank));
                prop_assert_eq!(range.start, next);
                next = range.end;
                if let (Shape::Matrix(dim), false) = (shape, range.is_empty()) {
                    prop_assert_eq!(range.start % dim.cols, 0);
                    prop_assert_eq!(range.len() % dim.cols, 0);
                }
                for index in [range.start, range.start + range.len() / 2, range.end.saturating_sub(1)] {
                    if range.contains(&index) {
                        prop_assert_eq!(d.owner(index), Rank::new(rank));
                    }
                }
            }
            prop_assert_eq!(next, d.len());
        }

        #[test]
        fn the_larger_blocks_come_first_and_differ_by_one_unit(len in 0usize..5000, ranks in 1usize..70) {
            let d = Distribution::block(Shape::Vector(len), ranks);
            let sizes: Vec<_> = (0..ranks).map(|r| d.range(Rank::new(r)).len()).collect();
            prop_assert!(sizes.windows(2).all(|w| w[0] == w[1] || w[0] == w[1] + 1));
            prop_assert!(sizes[0] - sizes[ranks - 1] <= 1);
        }

        #[test]
        fn pieces_join_to_the_range(shape in shapes(), ranks in 1usize..9, a: usize, b: usize) {
            let d = Distribution::block(shape, ranks);
            prop_assume!(!d.is_empty());
            let (a, b) = (a % (d.len() + 1), b % (d.len() + 1));
            let range = a.min(b)..a.max(b);
            let mut at = range.start;
            for (owner, piece) in d.pieces(range.clone()) {
                prop_assert_eq!(piece.start, at);
                prop_assert!(!piece.is_empty());
                let own = d.range(owner);
                prop_assert!(own.start <= piece.start && piece.end <= own.end);
                at = piece.end;
            }
            prop_assert_eq!(at, range.end);
        }

        #[test]
        fn the_divisor_divides(n in 0usize..usize::MAX / 2, by in 1usize..usize::MAX / 2) {
            prop_assert_eq!(Divisor::new(by).divide(n), n / by);
            prop_assert_eq!(Divisor::new(by % 100 + 1).divide(n), n / (by % 100 + 1));
        }
    }

    #[test]
    fn placed_on_one_rank_the_others_own_empty_ranges_at_the_ends() {
        let d = Distribution::on(Rank::new(1), Shape::Vector(10));
        let ranges: Vec<_> = (0..3).map(|r| d.range(Rank::new(r))).collect();
        assert_eq!(ranges, [0..0, 0..10, 10..10]);
        assert_eq!((d.owner(0), d.owner(9)), (Rank::new(1), Rank::new(1)));
    }
}
