//! Samples and pivots: keys with their place, so that no two samples are equal, however often a key occurs.

use bytemuck::{Pod, Zeroable};
use std::ops::Range;

/// A key and its place after the local sort. Samples are ordered by key, then rank, then index, which splits ties.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Sample {
    /// The key.
    pub key: u32,
    /// The rank that has the key in its block.
    pub rank: u32,
    /// The key's index in that block.
    pub index: u64,
}

/// Returns the number of samples of a block of `length` keys in a job of `size` ranks: as many as ranks, if the block
/// has enough keys.
pub fn sample_count(length: usize, size: usize) -> usize {
    length.min(size)
}

/// Returns regularly spaced samples of a sorted block, from its first key on.
pub fn samples(block: &[u32], rank: usize, size: usize) -> Vec<Sample> {
    let count = sample_count(block.len(), size);
    (0..count)
        .map(|number| {
            let index = number * block.len() / count;
            Sample { key: block[index], rank: rank as u32, index: index as u64 }
        })
        .collect()
}

/// Returns `size - 1` pivots at regular distances in the sorted samples.
///
/// If blocks overlap, the samples form groups of `size` that are nearly equal, and any sample of a group is a good
/// pivot. If blocks do not overlap, the first sample of each group is exact, so that a sorted vector, or a vector of
/// equal keys, stays in place. Without samples there is nothing to divide, and the pivots are arbitrary.
pub fn pivots(sorted: &[Sample], size: usize) -> Vec<Sample> {
    (1..size)
        .map(|number| {
            let place = number * sorted.len() / size;
            sorted.get(place).copied().unwrap_or_default()
        })
        .collect()
}

/// Returns the places at which the pivots cut the sorted block of `rank`: partition `i` is `cuts[i]..cuts[i + 1]`.
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

/// Returns the range of keys in a sorted block that equal `key`.
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
