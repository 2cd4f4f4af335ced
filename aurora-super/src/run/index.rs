//! Indices of blocks and of groups: one, two or three numbers.

use std::fmt::Debug;

/// An index, or the shape of a grid: `u32`, `(u32, u32)` or `(u32, u32, u32)`. The last number varies fastest.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no index of a block",
    label = "no index",
    note = "indices and shapes are `u32`, `(u32, u32)` or `(u32, u32, u32)`"
)]
pub trait Index: sealed::Sealed + Copy + Debug + PartialEq + Send + Sync + 'static {
    /// A distance in the grid.
    type Step: Copy;

    /// Returns the number of indices of a grid of this shape; `None` if there are more than `u32::MAX`.
    fn area(self) -> Option<u32>;

    /// Returns the index with this number in a grid of this shape. The number must be below the area.
    fn nth(self, number: u32) -> Self;

    /// Returns the number of an index in a grid of this shape; `None` if the index is outside.
    fn number(self, at: Self) -> Option<u32>;

    /// Returns the index at a distance, if there is such an index in a grid of this shape.
    fn near(self, at: Self, step: Self::Step) -> Option<Self>;

    /// Returns the rows and columns of the shape as a matrix. The last number is the column; a shape of one number is
    /// one column.
    fn matrix(self) -> [u32; 2];
}

mod sealed {
    /// Indices must be plain numbers, because their methods also run under a lock.
    #[allow(unnameable_types, reason = "indices are those of this crate")]
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for (u32, u32) {}
    impl Sealed for (u32, u32, u32) {}
}

impl Index for u32 {
    type Step = i32;

    fn area(self) -> Option<u32> {
        Some(self)
    }

    fn nth(self, number: u32) -> u32 {
        number
    }

    fn number(self, at: u32) -> Option<u32> {
        (at < self).then_some(at)
    }

    fn near(self, at: u32, step: i32) -> Option<u32> {
        at.checked_add_signed(step).filter(|at| *at < self)
    }

    fn matrix(self) -> [u32; 2] {
        [self, 1]
    }
}

impl Index for (u32, u32) {
    type Step = (i32, i32);

    fn area(self) -> Option<u32> {
        self.0.checked_mul(self.1)
    }

    fn nth(self, number: u32) -> Self {
        (number / self.1, number % self.1)
    }

    fn number(self, at: Self) -> Option<u32> {
        Some(self.0.number(at.0)? * self.1 + self.1.number(at.1)?)
    }

    fn near(self, at: Self, step: (i32, i32)) -> Option<Self> {
        Some((self.0.near(at.0, step.0)?, self.1.near(at.1, step.1)?))
    }

    fn matrix(self) -> [u32; 2] {
        [self.0, self.1]
    }
}

impl Index for (u32, u32, u32) {
    type Step = (i32, i32, i32);

    fn area(self) -> Option<u32> {
        let area = u128::from(self.0) * u128::from(self.1) * u128::from(self.2);
        u32::try_from(area).ok()
    }

    fn nth(self, number: u32) -> Self {
        let (i, j) = (self.0, self.1).nth(number / self.2);
        (i, j, number % self.2)
    }

    fn number(self, at: Self) -> Option<u32> {
        // The last number first: if it is inside, the area of the other two fits.
        let last = self.2.number(at.2)?;
        Some((self.0, self.1).number((at.0, at.1))? * self.2 + last)
    }

    fn near(self, at: Self, step: (i32, i32, i32)) -> Option<Self> {
        let (i, j) = (self.0, self.1).near((at.0, at.1), (step.0, step.1))?;
        Some((i, j, self.2.near(at.2, step.2)?))
    }

    fn matrix(self) -> [u32; 2] {
        [self.0.saturating_mul(self.1), self.2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<I: Index>(shape: I, area: u32) {
        assert_eq!(shape.area(), Some(area));
        let [rows, columns] = shape.matrix();
        assert_eq!(rows * columns, area);
        for number in 0..area {
            assert_eq!(shape.number(shape.nth(number)), Some(number), "{shape:?}");
        }
    }

    #[test]
    fn numbers_and_indices_agree() {
        round_trip(7, 7);
        round_trip((3, 4), 12);
        round_trip((3, 4, 5), 60);
        round_trip((0, 4), 0);
        assert_eq!((3, 4).nth(5), (1, 1));
        assert_eq!((2, 3, 4).nth(23), (1, 2, 3));
    }

    #[test]
    fn outside_is_no_number() {
        assert_eq!((5.number(5), (3, 4).number((0, 4)), (3, 4).number((3, 0))), (None, None, None));
        assert_eq!((2, 3, 4).number((0, 3, 0)), None);
        assert_eq!((1 << 31, 1 << 31, 0).number((1 << 30, 0, 0)), None);
        assert_eq!((1_u32 << 16, 1_u32 << 16).area(), None);
        assert_eq!((1 << 11, 1 << 11, 1 << 10).area(), None);
        assert_eq!((1_u32 << 31, 1_u32 << 31, 0).area(), Some(0));
    }

    #[test]
    fn neighbours_end_at_the_border() {
        assert_eq!((5.near(0, -1), 5.near(4, 1), 5.near(2, -2)), (None, None, Some(0)));
        assert_eq!((3, 4).near((1, 1), (-1, 2)), Some((0, 3)));
        assert_eq!((3, 4).near((1, 1), (0, 3)), None);
        assert_eq!((2, 2, 2).near((1, 1, 1), (-1, -1, -1)), Some((0, 0, 0)));
        assert_eq!(u32::MAX.near(u32::MAX - 1, i32::MAX), None);
    }
}
