//! One step, by rows, and the sequential program, with which the parallel programs are compared.

/// The rate at which a cell approaches its neighbours in a step. It must be less than a quarter, or the plate
/// oscillates.
pub const RATE: f64 = 0.2;

/// Returns the new value of a cell between its four neighbours.
#[inline]
pub fn warmed(cell: f64, above: f64, below: f64, left: f64, right: f64) -> f64 {
    cell + RATE * ((above + below) + (left + right) - 4.0 * cell)
}

/// Computes the inner cells of row `now`, which lies between `above` and `below`, after a step. The first and the last
/// cell of `next` keep their values.
///
/// Compiled once, so that all implementations compute by the same code.
///
/// # Panics
/// If the rows differ in length.
#[inline(never)]
pub fn step_row(above: &[f64], now: &[f64], below: &[f64], next: &mut [f64]) {
    let cols = next.len();
    assert!(above.len() == cols && now.len() == cols && below.len() == cols, "rows of one plate");
    for col in 1..cols.saturating_sub(1) {
        next[col] = warmed(now[col], above[col], below[col], now[col - 1], now[col + 1]);
    }
}

/// Computes `steps` steps of a plate with rows of `cols` cells, on one core. `other` is memory for a second plate.
pub fn sequential(plate: &mut Vec<f64>, other: &mut Vec<f64>, cols: usize, steps: usize) {
    other.clone_from(plate);
    let rows = plate.len() / cols.max(1);
    for _ in 0..steps {
        for row in 1..rows.saturating_sub(1) {
            let at = |row: usize| row * cols..(row + 1) * cols;
            step_row(&plate[at(row - 1)], &plate[at(row)], &plate[at(row + 1)], &mut other[at(row)]);
        }
        std::mem::swap(plate, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_spreads_and_the_edge_stays() {
        let (mut plate, mut other) = (vec![0.0; 25], Vec::new());
        (plate[12], plate[0]) = (100.0, 50.0);
        sequential(&mut plate, &mut other, 5, 1);
        assert_eq!((plate[12], plate[7], plate[13], plate[6]), (20.0, 20.0, 20.0, 0.0));
        sequential(&mut plate, &mut other, 5, 1);
        assert_eq!((plate[12], plate[6], plate[2], plate[0]), (20.0, 8.0, 0.0, 50.0));
    }

    #[test]
    fn what_is_warm_everywhere_stays() {
        let (mut plate, mut other) = (vec![8.0; 12], Vec::new());
        sequential(&mut plate, &mut other, 4, 9);
        assert_eq!(plate, [8.0; 12]);
    }
}
