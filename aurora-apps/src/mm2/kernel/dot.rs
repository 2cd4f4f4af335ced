//! The paper's kernel: an inner product of a row of A and a column of B per element of C.

/// `c <- a x b`, `n` columns each; see [`Kernel::multiply`](super::Kernel::multiply).
pub fn dot(a: &[i32], b: &[i32], c: &mut [i32], n: usize) {
    for (row, c) in a.chunks_exact(n).zip(c.chunks_exact_mut(n)) {
        for (j, element) in c.iter_mut().enumerate() {
            *element = dot_prod(row, b, j);
        }
    }
}

/// The paper's `dotProd(a, b, j, n)`: row `a` times column `j` of `b`, both of which know their length here.
fn dot_prod(a: &[i32], b: &[i32], j: usize) -> i32 {
    let column = b[j..].iter().step_by(a.len());
    a.iter().zip(column).fold(0, |sum, (x, y)| sum.wrapping_add(x.wrapping_mul(*y)))
}
