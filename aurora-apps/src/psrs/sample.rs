//! Samples and pivots: keys with their place, so that no two are equal however often a key occurs.

use bytemuck::{Pod, Zeroable};
use std::ops::Range;

/// A key and where it stood after the local sort. Ordered by key, then rank, then index, which is how ties are split.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Sample {
    /// The key.
    pub key: u32,
    /// Whose block it stood in.
    pub rank: u32,
    /// Where in that block.
    pub index: u64,
}

/// How many samples a block of `length` keys gives in a job of `size` ranks: as many as ranks, if it has them.
pub fn sample_count(length: usize, size: usize) -> usize {
    length.min(size)
}

/// Regularly spaced samples of a sorted block, from its first key on.
pub fn samples(block: &[u32], rank: usize, size: usize) -> Vec<Sample> {
    let count = sample_count(block.len(), size);
    (0..count)
        .map(|number| {
            let index = number * block.len() / count;
            Sample { key: block[index], rank: rank as u32, index: index as u64 }
        })
        .collect()
}

/// `size - 1` pivots at regular distances in the sorted samples.
///
/// Where blocks overlap, the samples come in groups of `size` that are nearly equal, and any of a group serves; the
/// first of each is exact where they do not overlap, so that a sorted vector, or one of equal keys, stays where it is.
/// Without any samples there is nothing to divide, and the pivots are any.
pub fn pivots(sorted: &[Sample], size: usize) -> Vec<Sample> {
    (1..size)
        .map(|number| {
            let place = number * sorted.len() / size;
            sorted.get(place).copied().unwrap_or_default()
        })
        .collect()
}

/// Where the pivots cut the sorted block of `rank`: partition `i` is `cuts[i]..cuts[i + 1]`.
pub fn cuts(block: &[u32], rank: usize, pivots: &[Sample]) -> Vec<u64> {
    let before = |pivot: &Sample| {
        let Range { start, end } = ties(block, pivot.key);
        match rank.cmp(&(pivot.rank as usize)) {
            std::cmp::Ordering::Less => end as u64,
            std::cmp::Ordering::Equal => pivot.index,
            std::cmp::Ordering::Greater => start as u64,
        }
    };
    let inner = pivots.iter().map(before);
    let (first, last) = (std::iter::once(0), std::iter::once(block.len() as u64));
    first.chain(inner).chain(last).collect()
}

/// The keys of a sorted block that equal `key`.
fn ties(block: &[u32], key: u32) -> Range<usize> {
    let start = block.partition_point(|other| *other < key);
    let end = start + block[start..].partition_point(|other| *other == key);
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_regular_and_start_at_the_first_key() {
        let block: Vec<u32> = (0..10).collect();
        let keys: Vec<u32> = samples(&block, 1, 4).iter().map(|s| s.key).collect();
        assert_eq!(keys, [0, 2, 5, 7]);
        assert_eq!(samples(&block[..2], 1, 4).len(), 2);
        assert_eq!(samples(&[], 1, 4), []);
    }

    #[test]
    fn ties_are_cut_by_rank_and_index() {
        let block = [5; 10];
        let pivot = Sample { key: 5, rank: 1, index: 4 };
        assert_eq!(cuts(&block, 0, &[pivot]), [0, 10, 10]);
        assert_eq!(cuts(&block, 1, &[pivot]), [0, 4, 10]);
        assert_eq!(cuts(&block, 2, &[pivot]), [0, 0, 10]);
    }
}
