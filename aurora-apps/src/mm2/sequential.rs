//! The sequential program, which the parallel one is compared with.

use super::Kernel;

/// P <- Q x R, then R <- Q x P, on one core; gives P and leaves the second product in `r`.
pub fn sequential(kernel: Kernel, q: &[i32], r: &mut [i32], n: usize) -> Vec<i32> {
    let mut p = vec![0; n * n];
    kernel.multiply(q, r, &mut p, n);
    kernel.multiply(q, &p, r, n);
    p
}
