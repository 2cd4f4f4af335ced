//! The partition that each rank merges and its place in the result: arithmetic on the table of all ranks' cuts.

use std::ops::Range;

/// Returns the maximum number of keys that one of `size` ranks merges, of `keys` keys: 2n/p + p^2.
///
/// Between two neighbouring pivots lie `p` of the samples. A rank with `c` of them has at most `c + 1` gaps between
/// samples there, each of at most g = ceil(ceil(n/p) / p) keys, and one key less: over all ranks 2pg - p, which is less
/// than 2n/p + p. The order by (key, rank, index) knows no ties, so equal keys make no exception. Blocks too short
/// to give `p` samples exist only where n < p^2, and then all keys together are within the bound.
pub fn most_merged(keys: usize, size: usize) -> usize {
    2 * keys / size + size * size
}

/// All ranks' cuts, one row of `size + 1` for each rank: see [`cuts`](super::sample::cuts).
#[derive(Clone, Debug)]
pub struct Cuts {
    size: usize,
    table: Vec<u64>,
}

impl Cuts {
    /// Makes the table from the rows of all ranks.
    pub fn new(size: usize, table: &[u64]) -> Self {
        assert_eq!(table.len(), size * (size + 1), "a row for each rank");
        Cuts { size, table: table.to_vec() }
    }

    /// Returns partition `part` of the block of `rank`, in that block's own indices.
    pub fn partition(&self, rank: usize, part: usize) -> Range<usize> {
        let row = rank * (self.size + 1) + part;
        self.table[row] as usize..self.table[row + 1] as usize
    }

    /// Returns partition `part` of every block, rank by rank.
    pub fn partitions(&self, part: usize) -> impl Iterator<Item = Range<usize>> {
        (0..self.size).map(move |rank| self.partition(rank, part))
    }

    /// Returns the place of the merged partition `part` in the sorted vector: after all keys of smaller partitions.
    pub fn place(&self, part: usize) -> Range<usize> {
        let start = self.partitions(part).map(|keys| keys.start).sum();
        let length: usize = self.partitions(part).map(|keys| keys.len()).sum();
        start..start + length
    }
}

/// Returns the parts of `whole` before, within and after `block`: three neighbouring ranges, any of which may be empty.
pub fn around(whole: &Range<usize>, block: &Range<usize>) -> [Range<usize>; 3] {
    let start = block.start.clamp(whole.start, whole.end);
    let end = block.end.clamp(start, whole.end);
    [whole.start..start, start..end, end..whole.end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::psrs::sample::{cuts, pivots, samples};
    use proptest::prelude::*;

    /// Returns blocks as the library distributes them: the first `n % p` are one key longer.
    fn blocks(keys: &[u32], size: usize) -> Vec<Vec<u32>> {
        let (short, longer) = (keys.len() / size, keys.len() % size);
        let mut rest = keys;
        (0..size)
            .map(|rank| {
                let (block, after) = rest.split_at(short + usize::from(rank < longer));
                rest = after;
                let mut block = block.to_vec();
                block.sort_unstable();
                block
            })
            .collect()
    }

    fn split(keys: &[u32], size: usize) -> (Cuts, Vec<Vec<u32>>) {
        let blocks = blocks(keys, size);
        let numbered = || blocks.iter().enumerate();
        let mut sample: Vec<_> = numbered().flat_map(|(rank, block)| samples(block, rank, size)).collect();
        sample.sort_unstable();
        let pivots = pivots(&sample, size);
        let table: Vec<u64> = numbered().flat_map(|(rank, block)| cuts(block, rank, &pivots)).collect();
        (Cuts::new(size, &table), blocks)
    }

    proptest! {
        #[test]
        fn partitions_are_disjoint_complete_and_balanced(
            keys in prop_oneof![
                prop::collection::vec(any::<u32>(), 0..2000),
                prop::collection::vec(0u32..4, 0..2000),
                prop::collection::vec(Just(9u32), 0..2000),
            ],
            size in 1usize..9,
        ) {
            let (cuts, blocks) = split(&keys, size);
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            let mut next = 0;
            for part in 0..size {
                let place = cuts.place(part);
                prop_assert_eq!(place.start, next);
                prop_assert!(place.len() <= most_merged(keys.len(), size));
                let mut merged: Vec<u32> = cuts.partitions(part).zip(&blocks)
                    .flat_map(|(range, block)| block[range].to_vec()).collect();
                merged.sort_unstable();
                next = place.end;
                prop_assert_eq!(merged, &sorted[place]);
            }
            prop_assert_eq!(next, keys.len());
        }

        #[test]
        fn a_sorted_vector_stays_where_it_is(mut keys: Vec<u8>, size in 1usize..5) {
            keys.resize(keys.len().next_multiple_of(size * size), 0);
            let mut keys: Vec<u32> = keys.into_iter().map(u32::from).collect();
            keys.sort_unstable();
            let (cuts, blocks) = split(&keys, size);
            for (rank, block) in blocks.iter().enumerate() {
                prop_assert_eq!(cuts.partition(rank, rank), 0..block.len());
            }
        }

        #[test]
        fn around_is_a_division(start in 0usize..20, length in 0usize..20, from in 0usize..20, block in 0usize..20) {
            let (whole, block) = (start..start + length, from..from + block);
            let [left, within, right] = around(&whole, &block);
            prop_assert_eq!((left.start, left.end, within.end, right.end), (whole.start, within.start, right.start, whole.end));
            prop_assert!(left.clone().all(|i| !block.contains(&i)));
            prop_assert!(within.clone().all(|i| block.contains(&i)));
            prop_assert!(right.clone().all(|i| !block.contains(&i)));
        }
    }
}
