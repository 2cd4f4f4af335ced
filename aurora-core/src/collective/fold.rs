//! Combines contributions element by element, in the order of the ranks. Pure. Contributions of ranks 0, 1, 2 .. are
//! combined as `((x0 . x1) . x2) ..`, independent of their length and route. So all ranks have equal bits.

use crate::Element;
use crate::ops::Op;

#[inline]
pub(crate) fn value<T: Element>(bytes: &[u8]) -> T {
    bytemuck::pod_read_unaligned(bytes)
}

pub(crate) fn copy<T: Element>(into: &mut [T], bytes: &[u8]) {
    bytemuck::cast_slice_mut(into).copy_from_slice(bytes);
}

/// Combines the values so far with the contribution of the next rank.
pub(crate) fn combine<T: Element, O: Op<T>>(so_far: &mut [T], next: &[u8]) {
    debug_assert_eq!(size_of_val(so_far), next.len());
    match bytemuck::try_cast_slice::<u8, T>(next) {
        Ok(next) => so_far.iter_mut().zip(next).for_each(|(so_far, next)| *so_far = O::combine(*so_far, *next)),
        // A piece that has arrived in a message may be unaligned.
        Err(_) => {
            let next = next.chunks_exact(size_of::<T>()).map(value);
            so_far.iter_mut().zip(next).for_each(|(so_far, next)| *so_far = O::combine(*so_far, next));
        }
    }
}

/// The contributions of ranks 0 to `size - 1`, combined. Each has the length of `into`.
pub(crate) fn all<'a, T: Element, O: Op<T>>(into: &mut [T], size: usize, of: impl Fn(usize) -> &'a [u8]) {
    copy(into, of(0));
    (1..size).for_each(|rank| combine::<T, O>(into, of(rank)));
}

/// The range of `len` elements that each of `size` ranks combines: the first `len % size` shares are longer by one.
pub(crate) fn share(len: usize, size: usize, rank: usize) -> std::ops::Range<usize> {
    let start = |rank: usize| rank * (len / size) + rank.min(len % size);
    start(rank)..start(rank + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Sum;

    #[test]
    fn shares_are_all_there_is_once() {
        for len in [0, 1, 5, 6, 7, 100] {
            for size in 1..9 {
                let shares: Vec<_> = (0..size).flat_map(|rank| share(len, size, rank)).collect();
                assert!(shares.into_iter().eq(0..len), "{len} {size}");
            }
        }
    }

    #[test]
    fn contributions_are_combined_in_the_order_of_ranks() {
        // Only from the left: (1e16 + 1) + 1 is 1e16 in f64, 1e16 + (1 + 1) is not.
        let of = [[1e16, 1.0], [1.0, 1.0], [1.0, 1e16f64]];
        let mut sums = [0.0; 2];
        all::<f64, Sum>(&mut sums, 3, |rank| bytemuck::cast_slice(&of[rank]));
        assert_eq!(sums, [1e16, 2.0 + 1e16]);
        assert_ne!(1e16, 1e16 + 2.0);
    }
}
