//! The lengths of the blocks of a vector.

use super::{Distribution, MatrixDim, Shape};
use aurora_net::Rank;
use std::fmt;

/// The division of a vector into blocks, one for each rank: an argument of [`GVector::new`](crate::GVector::new) and
/// [`from_fn`](crate::GVector::from_fn).
///
/// A [`Shape`] (a number of elements, a [`MatrixDim`], or `(rows, cols)`) stands for equal blocks. The functions below
/// give each rank a block of its own length, which may be 0: for data that must lie with other data, and for machines
/// of unequal speed. All ranks must give the same lengths or weights. If each rank knows only its own length or weight,
/// [`World::all_gather`](crate::World::all_gather) collects them on all ranks.
///
/// ```
/// use aurora_core::prelude::*;
///
/// Config::threads(3).run(|world| {
///     let list = GVector::<f64>::new(world, Partition::lengths(&[5, 0, 2]))?;
///     assert_eq!((list.range_of(0), list.range_of(1), list.range_of(2)), (0..5, 5..5, 5..7));
///
///     let matrix = GVector::<f64>::from_fn(world, Partition::rows(&[1, 4, 1], 10), |i| i as f64)?;
///     assert_eq!((matrix.dim(), matrix.range_of(1)), (Some(MatrixDim::new(6, 10)), 10..50));
///
///     // Rank 2 is three times as fast as the others. The elements of `x` lie where the rows of `a` are.
///     let speeds = [1.0, 1.0, 3.0];
///     let a = GVector::<f64>::new(world, Partition::weighted((100, 8), &speeds))?;
///     let x = GVector::<f64>::new(world, Partition::weighted(100, &speeds))?;
///     assert_eq!(a.local_rows(), x.local_range());
///     assert_eq!(x.range_of(2), 40..100);
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Partition<'a>(Blocks<'a>);

#[derive(Clone, Copy, Debug)]
enum Blocks<'a> {
    Equal(Shape),
    Lengths(&'a [usize]),
    Rows(&'a [usize], usize),
    Weighted(Shape, &'a [f64]),
}

/// The reason why a vector cannot be divided as asked.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Refusal {
    /// There are more than `isize::MAX` elements.
    TooLarge,
    /// There are more than `usize::MAX` rows, all without elements.
    TooManyRows,
    /// The name and the number of the given values, if there is not one for each rank.
    Count(&'static str, usize),
    Weight(Rank, f64),
    NoWeight,
}

impl<'a> Partition<'a> {
    /// A vector of which rank `r` owns `lengths[r]` elements.
    #[doc(alias = "NGA_Create_irreg")]
    pub const fn lengths(lengths: &'a [usize]) -> Self {
        Partition(Blocks::Lengths(lengths))
    }

    /// A matrix of `cols` columns of which rank `r` owns `rows[r]` rows.
    pub const fn rows(rows: &'a [usize], cols: usize) -> Self {
        Partition(Blocks::Rows(rows, cols))
    }

    /// A vector or matrix of which rank `r` owns a share in proportion to `weights[r]`: elements of a vector, rows of a
    /// matrix. `weights` are the speeds of the ranks, in any unit. A rank of weight 0 owns nothing.
    ///
    /// Shares are rounded down. The remaining elements or rows go, one each, to the ranks that lost most by rounding,
    /// among equals to the lower ranks. So equal weights give the same blocks as a bare shape. The length of a row does
    /// not matter: a matrix of `n` rows and a vector of `n` elements are cut at the same places.
    pub fn weighted(shape: impl Into<Shape>, weights: &'a [f64]) -> Self {
        Partition(Blocks::Weighted(shape.into(), weights))
    }

    /// The blocks in a job of `ranks` ranks.
    pub(crate) fn distribute(self, ranks: usize) -> Result<Distribution, Refusal> {
        let one_each = |what, given| if given == ranks { Ok(()) } else { Err(Refusal::Count(what, given)) };
        let sum = |units: &[usize]| units.iter().try_fold(0usize, |sum, more| sum.checked_add(*more));
        let (shape, units) = match self.0 {
            Blocks::Equal(shape) => (Some(shape), None),
            Blocks::Lengths(lengths) => {
                one_each("lengths", lengths.len())?;
                (sum(lengths).map(Shape::Vector), Some(lengths.to_vec()))
            }
            Blocks::Rows(rows, cols) => {
                one_each("numbers of rows", rows.len())?;
                if cols == 0 && sum(rows).is_none() {
                    return Err(Refusal::TooManyRows);
                }
                (sum(rows).map(|all| Shape::Matrix(MatrixDim::new(all, cols))), Some(rows.to_vec()))
            }
            Blocks::Weighted(shape, weights) => {
                one_each("weights", weights.len())?;
                (Some(shape), Some(shares(shape.units(), weights)?))
            }
        };
        let fits = |shape: &Shape| shape.checked_len().is_some_and(|len| len <= isize::MAX as usize);
        let shape = shape.filter(fits).ok_or(Refusal::TooLarge)?;
        Ok(units.map_or_else(|| Distribution::block(shape, ranks), |units| Distribution::listed(shape, &units)))
    }
}

/// The share of each weight in `units`, in whole numbers whose sum is `units`.
fn shares(units: usize, weights: &[f64]) -> Result<Vec<usize>, Refusal> {
    let is_weight = |weight: f64| weight.is_finite() && weight >= 0.0;
    if let Some((rank, weight)) = weights.iter().enumerate().find(|(_, weight)| !is_weight(**weight)) {
        return Err(Refusal::Weight(Rank::new(rank), *weight));
    }
    let greatest = weights.iter().copied().fold(0.0, f64::max);
    if greatest == 0.0 {
        return Err(Refusal::NoWeight);
    }
    // Whole numbers of at most 63 bits, so that all later steps are exact. To divide by a power of two is exact, too.
    const EXPONENT: u64 = 0x7ff << 52;
    let below = f64::from_bits(greatest.to_bits() & EXPONENT).max(f64::MIN_POSITIVE);
    let weights: Vec<u128> = weights.iter().map(|weight| (weight / below * 2f64.powi(62)) as u128).collect();
    let all: u128 = weights.iter().sum();
    let (mut shares, mut lost): (Vec<usize>, Vec<(u128, usize)>) = (Vec::new(), Vec::new());
    for (rank, weight) in weights.iter().enumerate() {
        let exact = units as u128 * weight;
        shares.push((exact / all) as usize);
        lost.push((exact % all, rank));
    }
    let left = units - shares.iter().sum::<usize>();
    lost.sort_by_key(|(lost, rank)| (std::cmp::Reverse(*lost), *rank));
    lost.iter().take(left).for_each(|(_, rank)| shares[*rank] += 1);
    Ok(shares)
}

impl<S: Into<Shape>> From<S> for Partition<'_> {
    fn from(shape: S) -> Self {
        Partition(Blocks::Equal(shape.into()))
    }
}

/// A partition that is used for several vectors may be passed by reference.
impl<'p> From<&Partition<'p>> for Partition<'p> {
    fn from(partition: &Partition<'p>) -> Self {
        *partition
    }
}

/// The complete lists: `error::clip` shortens long ones.
impl fmt::Display for Partition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |units: &[usize]| units.iter().map(|units| *units as u128).sum::<u128>();
        match self.0 {
            Blocks::Equal(shape) => write!(f, "{shape}"),
            Blocks::Lengths(lengths) => write!(f, "{} elements in blocks of {lengths:?}", sum(lengths)),
            Blocks::Rows(rows, cols) => write!(f, "{} x {cols} in blocks of {rows:?} rows", sum(rows)),
            Blocks::Weighted(shape, weights) => write!(f, "{shape} in blocks of weights {weights:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn weights() -> impl Strategy<Value = Vec<f64>> {
        let weight = prop_oneof![4 => 0.0..10.0, 2 => Just(0.0), 1 => 0.0..f64::MAX, 1 => 0.0..f64::MIN_POSITIVE];
        prop::collection::vec(weight, 1..70).prop_filter("not all are 0", |all| all.iter().any(|one| *one > 0.0))
    }

    proptest! {
        #[test]
        fn each_share_is_the_exact_one_rounded_up_or_down(
            units in 0usize..1 << 40,
            whole in prop::collection::vec(0u32.., 1..70),
        ) {
            let all: u128 = whole.iter().copied().map(u128::from).sum();
            prop_assume!(all > 0);
            let weights: Vec<f64> = whole.iter().copied().map(f64::from).collect();
            let shares = shares(units, &weights).expect("weights");
            prop_assert_eq!(shares.iter().sum::<usize>(), units);
            for (share, weight) in shares.iter().zip(&whole) {
                let exact = units as u128 * u128::from(*weight);
                prop_assert!([exact / all, exact.div_ceil(all)].contains(&(*share as u128)));
            }
        }

        #[test]
        fn shares_add_up_and_a_greater_weight_has_no_smaller_one(
            units in 0..=isize::MAX as usize,
            weights in weights(),
        ) {
            let shares = shares(units, &weights).expect("weights");
            prop_assert_eq!(shares.iter().sum::<usize>(), units);
            for (one, other) in (0..weights.len()).zip(1..weights.len()) {
                prop_assert!(weights[one] <= weights[other] || shares[one] >= shares[other]);
                prop_assert!(weights[one] > 0.0 || shares[one] == 0);
            }
        }

        #[test]
        fn equal_weights_make_equal_blocks(units in 0usize..5000, ranks in 1usize..70, weight in 1e-320..f64::MAX) {
            let weights = vec![weight; ranks];
            let dist = Partition::weighted(units, &weights).distribute(ranks).expect("weights");
            prop_assert!(dist.ends().is_none());
        }
    }

    #[test]
    fn what_is_left_goes_where_most_was_lost() {
        let shares = |units, weights: &[f64]| shares(units, weights).expect("weights");
        assert_eq!(shares(4, &[1.0, 3.0]), [1, 3]);
        assert_eq!(shares(10, &[1.0, 1.0, 1.0]), [4, 3, 3]);
        assert_eq!(shares(2, &[1.0, 3.0]), [1, 1]);
        assert_eq!(shares(7, &[0.2, 0.0, 0.7, 0.1]), [1, 0, 5, 1]);
        assert_eq!(shares(100, &[f64::MAX, f64::MAX, 0.0]), [50, 50, 0]);
        assert_eq!(shares(100, &[5e-324, 1.5e-323]), [25, 75]);
        assert_eq!(shares(3, &[1.0, 1e-300]), [3, 0]);
    }

    #[test]
    fn what_is_no_division_is_refused() {
        let refused = |partition: Partition<'_>| partition.distribute(2).expect_err("a refusal");
        assert_eq!(refused(Partition::lengths(&[1])), Refusal::Count("lengths", 1));
        assert_eq!(refused(Partition::rows(&[1, 2, 3], 4)), Refusal::Count("numbers of rows", 3));
        assert_eq!(refused(Partition::weighted(8, &[])), Refusal::Count("weights", 0));
        assert_eq!(refused(Partition::lengths(&[usize::MAX, 1])), Refusal::TooLarge);
        assert_eq!(refused(Partition::lengths(&[usize::MAX, 0])), Refusal::TooLarge);
        assert_eq!(refused(Partition::rows(&[1 << 60, 1], 16)), Refusal::TooLarge);
        assert_eq!(refused(Partition::rows(&[usize::MAX; 2], 16)), Refusal::TooLarge);
        assert_eq!(refused(Partition::rows(&[usize::MAX; 2], 0)), Refusal::TooManyRows);
        assert_eq!(refused(Partition::weighted(usize::MAX, &[1.0, 1.0])), Refusal::TooLarge);
        assert_eq!(refused(Partition::weighted(8, &[0.0, -0.0])), Refusal::NoWeight);
        for bad in [-1.0, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(refused(Partition::weighted(8, &[1.0, bad])), Refusal::Weight(Rank::new(1), bad));
        }
        let nan = refused(Partition::weighted(8, &[f64::NAN, 1.0]));
        assert!(matches!(nan, Refusal::Weight(rank, weight) if rank == 0 && weight.is_nan()));
    }

    #[test]
    fn in_words() {
        let words = |partition: Partition<'_>| partition.to_string();
        assert_eq!(words(12.into()), "12 elements");
        assert_eq!(words(Partition::lengths(&[3, 0, 5])), "8 elements in blocks of [3, 0, 5]");
        let most = usize::MAX as u128 + 1;
        assert!(words(Partition::lengths(&[usize::MAX, 1])).starts_with(&format!("{most} elements in blocks of [")));
        assert_eq!(words(Partition::rows(&[1, 2], 7)), "3 x 7 in blocks of [1, 2] rows");
        assert_eq!(words(Partition::weighted((6, 7), &[1.0, 0.5])), "6 x 7 in blocks of weights [1.0, 0.5]");
    }
}
