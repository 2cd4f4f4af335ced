//! The multiplication of some rows of A with the whole of B, in each rank and in the sequential program.

mod dot;
mod tiled;

pub use dot::dot;
pub use tiled::tiled;

use clap::ValueEnum;
use std::ops::Range;

/// The kernel that computes `c <- a x b`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kernel {
    /// Tiles in registers and caches.
    #[default]
    Tiled,
    /// Inner products, as in the paper.
    Dot,
}

impl Kernel {
    /// Computes `c <- a x b` in wrapping arithmetic, by rows: `b` is `n` x `n`, `a` and `c` have `n` columns and the
    /// same number of rows.
    ///
    /// # Panics
    /// If a length does not fit.
    pub fn multiply(self, a: &[i32], b: &[i32], c: &mut [i32], n: usize) {
        assert_eq!(b.len(), n * n, "B is {n} x {n}");
        c.fill(0);
        self.add(a, b, 0..n, c, n);
    }

    /// Adds the contribution of some `rows` of B to the product: `c <- c + a x b`. `b` has these rows alone, and of `a`
    /// only the columns with the same numbers are used. Arithmetic wraps, so the contributions give the product in any
    /// order.
    ///
    /// # Panics
    /// If a length does not fit.
    pub fn add(self, a: &[i32], b: &[i32], rows: Range<usize>, c: &mut [i32], n: usize) {
        assert!(rows.end <= n && b.len() == rows.len() * n, "rows {rows:?} of {n} x {n}");
        assert_eq!(a.len(), c.len(), "A and C have equally many rows");
        if n == 0 || rows.is_empty() {
            return;
        }
        assert_eq!(a.len() % n, 0, "whole rows of {n}");
        match self {
            Kernel::Dot => dot(a, b, rows, c, n),
            Kernel::Tiled => tiled(a, b, rows, c, n),
        }
    }

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Dot => "dot",
            Kernel::Tiled => "tiled",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;
    use proptest::prelude::*;

    /// Returns the product by its definition, in the widest arithmetic and the plainest loop.
    fn product(a: &[i32], b: &[i32], n: usize) -> Vec<i32> {
        let element = |place: usize| {
            let (i, j) = (place / n, place % n);
            let terms = (0..n).map(|k| i128::from(a[i * n + k]) * i128::from(b[k * n + j]));
            terms.sum::<i128>() as i32
        };
        (0..a.len()).map(element).collect()
    }

    fn entries(seed: u64, number: u64, length: usize) -> Vec<i32> {
        let stream = Stream::new(seed, number);
        (0..length as u64).map(|i| stream.bits(i) as i32).collect()
    }

    proptest! {
        #[test]
        fn both_kernels_compute_the_product(seed: u64, n in 1usize..70, rows in 0usize..70) {
            let (a, b) = (entries(seed, 0, rows * n), entries(seed, 1, n * n));
            let expected = product(&a, &b, n);
            for kernel in [Kernel::Dot, Kernel::Tiled] {
                let mut c = vec![-1; rows * n];
                kernel.multiply(&a, &b, &mut c, n);
                prop_assert_eq!(&c, &expected, "{:?}", kernel);
            }
        }
    }

    proptest! {
        #[test]
        fn parts_in_any_order_make_the_product(seed: u64, n in 1usize..70, rows in 0usize..20, cuts in prop::collection::vec(0usize..70, 0..5)) {
            let (a, b) = (entries(seed, 0, rows * n), entries(seed, 1, n * n));
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % n).chain([0, n]).collect();
            cuts.sort_unstable();
            for kernel in [Kernel::Dot, Kernel::Tiled] {
                let (mut whole, mut parts) = (vec![-1; rows * n], vec![0; rows * n]);
                kernel.multiply(&a, &b, &mut whole, n);
                for cut in cuts.windows(2).rev() {
                    let range = cut[0]..cut[1];
                    kernel.add(&a, &b[range.start * n..range.end * n], range, &mut parts, n);
                }
                prop_assert_eq!(&parts, &whole, "{:?}", kernel);
            }
        }
    }

    #[test]
    fn kernels_agree_where_a_panel_ends() {
        for n in [255, 256, 257, 264] {
            let (a, b) = (entries(5, 0, 9 * n), entries(5, 1, n * n));
            let (mut c, mut d) = (vec![0; 9 * n], vec![0; 9 * n]);
            Kernel::Dot.multiply(&a, &b, &mut c, n);
            Kernel::Tiled.multiply(&a, &b, &mut d, n);
            assert_eq!(c, d, "{n}");
        }
    }

    #[test]
    fn an_empty_product_is_empty() {
        Kernel::Dot.multiply(&[], &[], &mut [], 0);
        Kernel::Tiled.multiply(&[], &[], &mut [], 0);
    }
}
