//! The paper's kernel: for each element of C, the inner product of a row of A and a column of B.

use std::ops::Range;

/// `c <- c + a x b` for some rows of B, `n` columns each; see [`Kernel::add`](super::Kernel::add).
pub fn dot(a: &[i32], b: &[i32], rows: Range<usize>, c: &mut [i32], n: usize) {
    for (row, c) in a.chunks_exact(n).zip(c.chunks_exact_mut(n)) {
        for (j, element) in c.iter_mut().enumerate() {
            *element = element.wrapping_add(dot_prod(&row[rows.clone()], b, j, n));
        }
    }
}

/// The paper's `dotProd(a, b, j, n)`: row `a` times column `j` of `b`, which has `n` columns.
fn dot_prod(a: &[i32], b: &[i32], j: usize, n: usize) -> i32 {
    let column = b[j..].iter().step_by(n);
    a.iter().zip(column).fold(0, |sum, (x, y)| sum.wrapping_add(x.wrapping_mul(*y)))
}
