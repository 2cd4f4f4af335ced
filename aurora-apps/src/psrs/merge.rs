//! Merging sorted runs: neighbours pairwise, in rounds, between two buffers.

/// Merges the sorted runs of `keys` that end where `ends` says (the last at `keys.len()`; runs may be empty).
///
/// `spare` is the second buffer; its contents do not matter and it grows as needed. The result stands in `keys`.
///
/// # Panics
/// If the ends do not ascend or the last one is not the length.
pub fn merge(keys: &mut Vec<u32>, ends: &[usize], spare: &mut Vec<u32>) {
    assert_eq!(ends.last().copied().unwrap_or(0), keys.len(), "the last end");
    spare.resize(keys.len(), 0);
    let mut ends = ends.to_vec();
    while ends.len() > 1 {
        let mut start = 0;
        let mut merged = Vec::with_capacity(ends.len().div_ceil(2));
        for pair in ends.chunks(2) {
            let (middle, end) = (pair[0], pair[pair.len() - 1]);
            let (left, right) = (&keys[start..middle], &keys[middle..end]);
            merge_two(left, right, &mut spare[start..end]);
            merged.push(end);
            start = end;
        }
        ends = merged;
        std::mem::swap(keys, spare);
    }
}

/// Merges two sorted runs into `into`, which has room for exactly both.
pub(super) fn merge_two(left: &[u32], right: &[u32], into: &mut [u32]) {
    let (mut i, mut j) = (0, 0);
    let mut places = into.iter_mut();
    // No branch depends on the keys in here: random ones would mispredict every other time.
    while i < left.len() && j < right.len() {
        let Some(place) = places.next() else { return };
        let (a, b) = (left[i], right[j]);
        let from_right = b < a;
        *place = if from_right { b } else { a };
        j += usize::from(from_right);
        i += usize::from(!from_right);
    }
    let rest = places.into_slice();
    let (left, right) = (&left[i..], &right[j..]);
    rest[..left.len()].copy_from_slice(left);
    rest[left.len()..].copy_from_slice(right);
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

    fn check(mut runs: Vec<Vec<u32>>) -> Result<(), TestCaseError> {
        runs.iter_mut().for_each(|run| run.sort_unstable());
        let mut keys = runs.concat();
        let ends: Vec<usize> = runs
            .iter()
            .scan(0, |end, run| {
                *end += run.len();
                Some(*end)
            })
            .collect();
        let mut expected = keys.clone();
        expected.sort_unstable();
        merge(&mut keys, &ends, &mut vec![7; 3]);
        prop_assert_eq!(keys, expected);
        Ok(())
    }
}
