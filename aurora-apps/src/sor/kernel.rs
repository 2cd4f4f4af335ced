//! One row of one colour, and the sequential program, with which the parallel programs are compared.

use super::{Problem, Start};
use aurora_core::prelude::*;
use std::ops::{Add, Mul};

/// The factor of over-relaxation.
pub const OMEGA: f64 = 1.25;

/// The colour of element (i, j) if i + j is even. Red elements are updated first.
pub const RED: usize = 0;
/// The colour of the other elements.
pub const BLACK: usize = 1;

/// The numbers of a matrix.
pub trait Real: Element + Default + Add<Output = Self> + Mul<Output = Self> {
    /// The number nearest to `value`.
    fn of(value: f64) -> Self;
    /// The same number.
    fn widened(self) -> f64;
    /// Its bits.
    fn bits(self) -> u64;
    /// The number with another last bit.
    fn flipped(self) -> Self;
}

impl Real for f64 {
    fn of(value: f64) -> Self {
        value
    }

    fn widened(self) -> f64 {
        self
    }

    fn bits(self) -> u64 {
        self.to_bits()
    }

    fn flipped(self) -> Self {
        f64::from_bits(self.to_bits() ^ 1)
    }
}

impl Real for f32 {
    fn of(value: f64) -> Self {
        value as f32
    }

    fn widened(self) -> f64 {
        self.into()
    }

    fn bits(self) -> u64 {
        self.to_bits().into()
    }

    fn flipped(self) -> Self {
        f32::from_bits(self.to_bits() ^ 1)
    }
}

/// The new value of an element between its four neighbours.
#[inline]
pub fn relaxed<T: Real>(element: T, above: T, below: T, left: T, right: T) -> T {
    T::of(OMEGA * 0.25) * (above + below + left + right) + T::of(1.0 - OMEGA) * element
}

/// Returns 0 if the elements of `colour` in row `row` have even columns, and 1 if they have odd columns. Element `half`
/// of the row's half has column `2 * half + parity`.
#[inline]
pub fn parity(row: usize, colour: usize) -> usize {
    (row + colour) % 2
}

/// Updates the interior elements of one colour in one row of a matrix with `cols` columns. `own` has these elements,
/// and their columns have this [`parity`]. `above`, `here` and `below` have the other colour's elements of the row
/// before, of the same row and of the row after.
///
/// Compiled once for each kind of number, so that all implementations compute by the same code.
///
/// # Panics
/// If a half of a row does not have `cols.div_ceil(2)` elements.
#[inline(never)]
pub fn update_row<T: Real>(own: &mut [T], above: &[T], here: &[T], below: &[T], cols: usize, parity: usize) {
    let half = cols.div_ceil(2);
    let lengths = [own.len(), above.len(), here.len(), below.len()];
    assert_eq!(lengths, [half; 4], "halves of the rows of one matrix");
    // The first interior column is 2 - parity. An even one has its left neighbour at the place before its own.
    let count = (cols.saturating_sub(2) + parity) / 2;
    if count == 0 {
        return;
    }
    let mine = 1 - parity..1 - parity + count;
    let (own, above, below) = (&mut own[mine.clone()], &above[mine.clone()], &below[mine]);
    let (left, right) = (&here[..count], &here[1..=count]);
    for i in 0..count {
        own[i] = relaxed(own[i], above[i], below[i], left[i], right[i]);
    }
}

/// The sum of the interior elements of row `row`, whose halves are `red` and `black`.
pub fn row_sum<T: Real>(red: &[T], black: &[T], row: usize, cols: usize) -> f64 {
    let halves = [red, black];
    (1..cols.saturating_sub(1)).map(|col| halves[(row + col) % 2][col / 2].widened()).sum()
}

/// A whole matrix of one rank: its red elements and its black ones.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Halves<T> {
    /// Row by row, `cols.div_ceil(2)` elements each.
    pub red: Vec<T>,
    /// The same.
    pub black: Vec<T>,
}

impl<T: Real> Halves<T> {
    /// The matrix before the first half-sweep.
    pub fn new(problem: &Problem, start: Start) -> Self {
        let (mut red, mut black) = (Vec::new(), Vec::new());
        for row in 0..problem.rows {
            let elements = start.row(row, problem.cols);
            red.extend(half_of::<T>(&elements, parity(row, RED)));
            black.extend(half_of::<T>(&elements, parity(row, BLACK)));
        }
        Halves { red, black }
    }
}

/// The elements of one colour of a row. If the row has one fewer of this colour, a 0 takes the last place.
pub(super) fn half_of<T: Real>(elements: &[f64], parity: usize) -> impl Iterator<Item = T> {
    elements.chunks(2).map(move |pair| pair.get(parity).map_or(T::default(), |value| T::of(*value)))
}

/// All half-sweeps of `problem`, on one core.
pub fn sequential<T: Real>(matrix: &mut Halves<T>, problem: &Problem) {
    let (cols, half) = (problem.cols, problem.half_cols());
    let (mut own, mut other) = (&mut matrix.red, &mut matrix.black);
    for sweep in 0..problem.half_sweeps {
        for row in 1..problem.rows.saturating_sub(1) {
            let at = |row: usize| row * half..(row + 1) * half;
            let (above, here, below) = (&other[at(row - 1)], &other[at(row)], &other[at(row + 1)]);
            update_row(&mut own[at(row)], above, here, below, cols, parity(row, sweep % 2));
        }
        std::mem::swap(&mut own, &mut other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first half-sweeps of a matrix that is stored whole.
    fn whole(rows: usize, cols: usize, start: Start, half_sweeps: usize) -> Vec<Vec<f64>> {
        let mut matrix: Vec<_> = (0..rows).map(|row| start.row(row, cols)).collect();
        for sweep in 0..half_sweeps {
            for i in 1..rows.saturating_sub(1) {
                for j in (1..cols.saturating_sub(1)).filter(|j| (i + j) % 2 == sweep % 2) {
                    let (left, right) = (matrix[i][j - 1], matrix[i][j + 1]);
                    matrix[i][j] = relaxed(matrix[i][j], matrix[i - 1][j], matrix[i + 1][j], left, right);
                }
            }
        }
        matrix
    }

    #[test]
    fn halves_come_to_the_same_as_a_whole_matrix() {
        for (rows, cols) in [(0, 3), (3, 0), (1, 1), (2, 5), (5, 2), (3, 3), (4, 3), (3, 4), (9, 8), (8, 9), (7, 7)] {
            for half_sweeps in [0, 1, 2, 7] {
                let problem = Problem { rows, cols, half_sweeps, ..Problem::S };
                let start = problem.start(3, 0);
                let mut matrix = Halves::<f64>::new(&problem, start);
                sequential(&mut matrix, &problem);
                let halves = [&matrix.red, &matrix.black];
                for (i, row) in whole(rows, cols, start, half_sweeps).iter().enumerate() {
                    for (j, element) in row.iter().enumerate() {
                        assert_eq!(halves[(i + j) % 2][i * problem.half_cols() + j / 2], *element, "{problem:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn size_a_has_the_published_sum() {
        let problem = Problem::A;
        let mut matrix = Halves::<f64>::new(&problem, problem.start(0, 0));
        sequential(&mut matrix, &problem);
        let half = problem.half_cols();
        // Element by element in the order of rows, as it was published.
        let mut sum = 0.0;
        for i in 1..problem.rows - 1 {
            for j in 1..problem.cols - 1 {
                sum += [&matrix.red, &matrix.black][(i + j) % 2][i * half + j / 2];
            }
        }
        let published = problem.published.expect("a sum");
        assert!((sum - published).abs() <= 1e-12, "{sum} {published}");
    }
}
