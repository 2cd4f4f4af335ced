//! The merge of sorted runs: neighbours pairwise, in rounds, between two buffers.

use std::ops::Range;

/// Merges the sorted runs of `keys`, whose ends are `ends` (the last at `keys.len()`; runs may be empty).
///
/// `spare` is the second buffer; its contents are ignored and it grows if necessary. The result is in `keys`.
///
/// # Panics
/// If the ends do not ascend or the last one is not the length.
pub fn merge(keys: &mut Vec<u32>, ends: &[usize], spare: &mut Vec<u32>) {
    merge_around(keys, ends, spare, (0..0, &mut []));
}

/// As [`merge`], but the range `own` of the result goes into `block`; its place in `keys` has arbitrary contents.
///
/// # Panics
/// As [`merge`]; and if the block and that range differ in length, or the range is outside of the result.
pub(super) fn merge_around(
    keys: &mut Vec<u32>,
    ends: &[usize],
    spare: &mut Vec<u32>,
    (own, block): (Range<usize>, &mut [u32]),
) {
    assert_eq!(ends.last().copied().unwrap_or(0), keys.len(), "the last end");
    assert_eq!(own.len(), block.len(), "room for the own part");
    spare.resize(keys.len(), 0);
    let mut ends = ends.to_vec();
    while ends.len() > 2 {
        let mut start = 0;
        let mut merged = Vec::with_capacity(ends.len().div_ceil(2));
        for pair in ends.chunks(2) {
            let (middle, end) = (pair[0], pair[pair.len() - 1]);
            merge_some(&keys[start..middle], &keys[middle..end], &mut spare[start..end]);
            merged.push(end);
            start = end;
        }
        ends = merged;
        std::mem::swap(keys, spare);
    }
    let (left, right) = keys.split_at(ends.first().copied().unwrap_or(0));
    let (before, rest) = spare.split_at_mut(own.start);
    let (_, behind) = rest.split_at_mut(own.len());
    let (mut i, mut j) = (0, 0);
    for place in [before, block, behind] {
        let (from_left, from_right) = merge_some(&left[i..], &right[j..], place);
        (i, j) = (i + from_left, j + from_right);
    }
    std::mem::swap(keys, spare);
}

/// Merges keys of two sorted runs until `into` is full; the runs have enough keys for that. Returns the number of keys
/// taken from each run.
pub(super) fn merge_some(left: &[u32], right: &[u32], into: &mut [u32]) -> (usize, usize) {
    let (mut i, mut j) = (0, 0);
    let mut places = into.iter_mut();
    // No branch here depends on the keys: random keys would mispredict every other time.
    while i < left.len() && j < right.len() {
        let Some(place) = places.next() else { return (i, j) };
        let (a, b) = (left[i], right[j]);
        let from_right = b < a;
        *place = if from_right { b } else { a };
        j += usize::from(from_right);
        i += usize::from(!from_right);
    }
    // One of the runs is empty now.
    let rest = places.into_slice();
    let more = rest.len().min(left.len() - i);
    let (from_left, from_right) = rest.split_at_mut(more);
    let ends = (i + more, j + from_right.len());
    from_left.copy_from_slice(&left[i..ends.0]);
    from_right.copy_from_slice(&right[j..ends.1]);
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn merging_runs_is_sorting_all(runs: Vec<Vec<u32>>) {
            check(runs)?;
        }

        #[test]
        fn also_with_many_ties(runs: Vec<Vec<u8>>) {
            check(runs.into_iter().map(|run| run.into_iter().map(|key| u32::from(key % 4)).collect()).collect())?;
        }
    }

    proptest! {
        #[test]
        fn merging_some_again_and_again_is_merging_all(mut left: Vec<u8>, mut right: Vec<u8>, room in 1usize..9) {
            left.sort_unstable();
            right.sort_unstable();
            let [left, right] = [left, right].map(|run| run.into_iter().map(u32::from).collect::<Vec<_>>());
            let mut merged = vec![7; left.len() + right.len()];
            let (mut i, mut j) = (0, 0);
            for place in merged.chunks_mut(room) {
                let (from_left, from_right) = merge_some(&left[i..], &right[j..], place);
                (i, j) = (i + from_left, j + from_right);
            }
            let mut expected = [left, right].concat();
            expected.sort_unstable();
            prop_assert_eq!(merged, expected);
        }
    }

    proptest! {
        #[test]
        fn a_part_of_it_may_go_elsewhere(runs: Vec<Vec<u16>>, cuts: (usize, usize)) {
            let runs = runs.into_iter().map(|run| run.into_iter().map(u32::from).collect()).collect();
            let (mut keys, ends, expected) = sorted(runs);
            let [one, other] = [cuts.0, cuts.1].map(|cut| cut % (keys.len() + 1));
            let own = one.min(other)..one.max(other);
            let mut block = vec![7; own.len()];
            merge_around(&mut keys, &ends, &mut Vec::new(), (own.clone(), &mut block));
            keys[own].copy_from_slice(&block);
            prop_assert_eq!(keys, expected);
        }
    }

    /// Returns sorted runs one behind the other, their ends, and the merged keys.
    fn sorted(mut runs: Vec<Vec<u32>>) -> (Vec<u32>, Vec<usize>, Vec<u32>) {
        runs.iter_mut().for_each(|run| run.sort_unstable());
        let keys = runs.concat();
        let ends = runs.iter().scan(0, |end, run| {
            *end += run.len();
            Some(*end)
        });
        let mut expected = keys.clone();
        expected.sort_unstable();
        (keys, ends.collect(), expected)
    }

    fn check(runs: Vec<Vec<u32>>) -> Result<(), TestCaseError> {
        let (mut keys, ends, expected) = sorted(runs);
        merge(&mut keys, &ends, &mut vec![7; 3]);
        prop_assert_eq!(keys, expected);
        Ok(())
    }
}
