//! The owners of elements: pure arithmetic.
//!
//! A vector is cut into *units*: elements, or whole rows of a matrix. Blocks are equal: the first `units % ranks` ranks
//! own one unit more than the others. Otherwise a [`Partition`] gives the length of each block, or one rank owns the
//! whole.

mod borders;
mod partition;
mod shape;

pub use partition::Partition;
pub(crate) use partition::Refusal;
pub use shape::{MatrixDim, Shape};

use aurora_net::Rank;
use borders::Borders;
use std::ops::Range;
use std::sync::Arc;

/// Division by a constant as a multiplication: `put` must not pay for a hardware division.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    by: u64,
    reciprocal: u64,
}

impl Divisor {
    pub(crate) fn new(by: usize) -> Self {
        let by = by.max(1) as u64;
        Divisor { by, reciprocal: u64::MAX / by }
    }

    /// `n / by`. The multiplication yields at most one too little, which is corrected without a branch.
    #[inline]
    pub(crate) fn divide(self, n: usize) -> usize {
        let n = n as u64;
        let quotient = ((u128::from(n) * u128::from(self.reciprocal)) >> 64) as u64;
        (quotient + u64::from(n - quotient * self.by >= self.by)) as usize
    }
}

/// The distribution of one vector's elements over the ranks.
#[derive(Clone, Debug)]
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
    /// Elements that all larger blocks have beyond smaller ones; negative if the borders are listed.
    surplus: isize,
    by_larger: Divisor,
    by_base: Divisor,
    /// The ends of the blocks, if they are not equal.
    borders: Option<Arc<Borders>>,
}

impl Distribution {
    /// Equal blocks over `ranks` ranks.
    ///
    /// # Panics
    /// If the number of elements is more than `isize::MAX`; callers check [`Shape::checked_len`] first.
    pub fn block(shape: Shape, ranks: usize) -> Self {
        let len = shape.checked_len().expect("the number of elements overflows");
        let (unit, units) = (shape.unit(), shape.units());
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
            surplus: isize::try_from(extra * unit).expect("more elements than a rank can address"),
            by_larger: Divisor::new(larger),
            by_base: Divisor::new(base),
            borders: None,
        }
    }

    /// Whole on one rank.
    ///
    /// # Panics
    /// As [`Distribution::block`].
    pub fn on(rank: Rank, shape: Shape) -> Self {
        Distribution { on: Some(rank), first: rank.index(), ..Distribution::block(shape, 1) }
    }

    /// Blocks of `units[r]` units for rank `r`. The sum of `units` is the number of units of the shape.
    ///
    /// # Panics
    /// As [`Distribution::block`].
    pub fn listed(shape: Shape, units: &[usize]) -> Self {
        let equal = Distribution::block(shape, units.len());
        let unit = shape.unit();
        let mut end = 0;
        let ends = units.iter().map(|units| {
            end += units * unit;
            end
        });
        let ends: Vec<usize> = ends.collect();
        debug_assert_eq!(end, equal.len);
        let are_equal = (0..).zip(&ends).all(|(rank, end)| equal.range(Rank::new(rank)).end == *end);
        match are_equal {
            true => equal,
            false => Distribution { surplus: -1, borders: Some(Arc::new(Borders::new(ends))), ..equal },
        }
    }

    /// The shape that is distributed.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The end of each rank's block, or `None` if blocks are equal.
    pub fn ends(&self) -> Option<&[usize]> {
        self.borders.as_ref().map(|borders| borders.ends())
    }

    /// Elements in all.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rank that owns element `index`, which must exist.
    #[inline]
    pub fn owner(&self, index: usize) -> Rank {
        debug_assert!(index < self.len());
        Rank::new(self.owner_index(index))
    }

    /// The number of the rank that owns element `index`. Without a branch that random indices would mispredict: for a
    /// larger block the first quotient is its number and the second at most that, for a smaller one the reverse.
    #[inline]
    pub fn owner_index(&self, index: usize) -> usize {
        if self.surplus == 0 {
            return self.first + self.by_base.divide(index);
        }
        match usize::try_from(self.surplus) {
            Ok(surplus) => self.by_larger.divide(index).max(self.by_base.divide(index.saturating_sub(surplus))),
            Err(_) => self.listed_owner(index),
        }
    }

    /// [`owner_index`](Self::owner_index) for listed borders. `cold`, so that the call does not slow down equal blocks.
    #[cold]
    #[inline(never)]
    fn listed_owner(&self, index: usize) -> usize {
        self.borders.as_ref().expect("a negative surplus stands for listed borders").owner(index)
    }

    /// The global indices that `rank` owns; empty where it owns none.
    #[inline]
    pub fn range(&self, rank: Rank) -> Range<usize> {
        let rank = rank.index();
        match (self.on, &self.borders) {
            (Some(home), _) if home == rank => 0..self.len(),
            (Some(home), _) if home.index() > rank => 0..0,
            (Some(_), _) => self.len()..self.len(),
            (None, Some(borders)) => borders.range(rank),
            (None, None) if rank < self.extra => rank * self.larger..(rank + 1) * self.larger,
            (None, None) => {
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

    const MOST: usize = isize::MAX as usize;

    fn shapes() -> impl Strategy<Value = Shape> {
        prop_oneof![
            (0usize..5000).prop_map(Shape::Vector),
            (0usize..200, 0usize..40).prop_map(|(r, c)| Shape::Matrix(MatrixDim::new(r, c))),
            (MOST - 1000..=MOST).prop_map(Shape::Vector),
        ]
    }

    /// Lengths of up to 70 blocks: short ones, empty ones, and some that are far longer than the rest together.
    fn lengths() -> impl Strategy<Value = Vec<usize>> {
        let length = prop_oneof![4 => 0usize..50, 2 => Just(0usize), 1 => 0usize..MOST / 70];
        let all_on_one = (0usize..70, 1usize..=70, 0usize..=MOST).prop_map(|(owner, ranks, len)| {
            let mut lengths = vec![0; ranks];
            lengths[owner % ranks] = len;
            lengths
        });
        prop_oneof![4 => prop::collection::vec(length, 1..70), 1 => all_on_one]
    }

    /// Distributions of every kind, with the number of ranks.
    fn distributions() -> impl Strategy<Value = (Distribution, usize)> {
        prop_oneof![
            (shapes(), 1usize..70).prop_map(|(shape, ranks)| (Distribution::block(shape, ranks), ranks)),
            (shapes(), 1usize..70, 0usize..70)
                .prop_map(|(shape, ranks, home)| (Distribution::on(Rank::new(home % ranks), shape), ranks)),
            lengths().prop_map(|lengths| (listed(Partition::lengths(&lengths), &lengths), lengths.len())),
            (prop::collection::vec(prop_oneof![Just(0), 0usize..60], 1..70), 0usize..30)
                .prop_map(|(rows, cols)| (listed(Partition::rows(&rows, cols), &rows), rows.len())),
        ]
    }

    fn listed(partition: Partition<'_>, units: &[usize]) -> Distribution {
        let dist = partition.distribute(units.len()).expect("they fit");
        for (rank, units) in units.iter().enumerate() {
            assert_eq!(dist.range(Rank::new(rank)).len(), units * dist.shape().unit());
        }
        dist
    }

    proptest! {
        #[test]
        fn blocks_cover_everything_once_in_order((d, ranks) in distributions()) {
            let mut next = 0;
            for rank in 0..ranks {
                let range = d.range(Rank::new(rank));
                prop_assert_eq!(range.start, next);
                next = range.end;
                if let (Shape::Matrix(dim), false) = (d.shape(), range.is_empty()) {
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
            prop_assert_eq!(Some(next), d.shape().checked_len());
        }

        #[test]
        fn every_element_has_the_owner_in_whose_block_it_lies((d, _) in distributions(), indices: [usize; 50]) {
            for index in indices.iter().filter_map(|index| index.checked_rem(d.len())) {
                prop_assert!(d.range(d.owner(index)).contains(&index), "{} of {:?}", index, d);
            }
        }

        #[test]
        fn the_larger_blocks_come_first_and_differ_by_one_unit(len in 0usize..5000, ranks in 1usize..70) {
            let d = Distribution::block(Shape::Vector(len), ranks);
            let sizes: Vec<_> = (0..ranks).map(|r| d.range(Rank::new(r)).len()).collect();
            prop_assert!(sizes.windows(2).all(|w| w[0] == w[1] || w[0] == w[1] + 1));
            prop_assert!(sizes[0] - sizes[ranks - 1] <= 1);
            let same = Partition::lengths(&sizes).distribute(ranks).expect("they fit");
            prop_assert!(same.ends().is_none(), "what is equal is computed");
        }

        #[test]
        fn pieces_join_to_the_range((d, _) in distributions(), a: usize, b: usize) {
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
