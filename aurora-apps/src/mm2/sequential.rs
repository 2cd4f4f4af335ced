//! The sequential program, with which the parallel programs are compared.

use super::Kernel;

/// Computes P <- Q x R, then R <- Q x P, on one core.
pub fn sequential(kernel: Kernel, q: &[i32], r: &mut [i32], p: &mut [i32], n: usize) {
    kernel.multiply(q, r, p, n);
    kernel.multiply(q, p, r, n);
}
