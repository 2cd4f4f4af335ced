//! The kernels on tiles. Each element gets its updates in the order of the columns of L, as in the program without
//! tiles, so all of them have the same bits.

use aurora_super::Dense;

/// A := L with L L^T = A. Only the lower triangle of A is read.
pub fn potrf(a: &mut Dense<f64>) {
    let n = a.rows();
    for k in 0..n {
        let pivot = a[(k, k)].sqrt();
        a[(k, k)] = pivot;
        a.row_mut(k)[k + 1..].fill(0.0);
        (k + 1..n).for_each(|i| a[(i, k)] /= pivot);
        let column: Vec<f64> = (k + 1..n).map(|i| a[(i, k)]).collect();
        for (i, factor) in (k + 1..n).zip(&column) {
            subtract(&mut a.row_mut(i)[k + 1..=i], *factor, &column);
        }
    }
}

/// B := B L^-T.
pub fn trsm(l: &Dense<f64>, b: &mut Dense<f64>) {
    let columns = transposed(l);
    for i in 0..b.rows() {
        let row = b.row_mut(i);
        for k in 0..columns.rows() {
            row[k] /= l[(k, k)];
            let factor = row[k];
            subtract(&mut row[k + 1..], factor, &columns.row(k)[k + 1..]);
        }
    }
}

/// C := C - A B^T.
pub fn gemm(a: &Dense<f64>, b: &Dense<f64>, c: &mut Dense<f64>) {
    let columns = transposed(b);
    for i in 0..a.rows() {
        for (k, factor) in a.row(i).iter().enumerate() {
            subtract(c.row_mut(i), *factor, columns.row(k));
        }
    }
}

/// row -= factor * other, as far as the row goes.
fn subtract(row: &mut [f64], factor: f64, other: &[f64]) {
    row.iter_mut().zip(other).for_each(|(element, other)| *element -= factor * other);
}

fn transposed(of: &Dense<f64>) -> Dense<f64> {
    Dense::from_fn(of.columns(), of.rows(), |row, column| of.row(column)[row])
}
