//! The sequential program, which the parallel one is compared with.

use super::Kernel;

/// P <- Q x R, then R <- Q x P, on one core.
pub fn sequential(kernel: Kernel, q: &[i32], r: &mut [i32], p: &mut [i32], n: usize) {
    kernel.multiply(q, r, p, n);
    kernel.multiply(q, p, r, n);
}
