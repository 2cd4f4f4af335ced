//! Sets of mostly consecutive numbers.

use std::ops::Range;

/// A sorted list of disjoint ranges that do not touch. Cheap for numbers that arrive almost in order: then the list has
/// one entry, and the search ends at the last one.
#[derive(Clone, Debug, Default)]
pub(super) struct RangeSet {
    ranges: Vec<Range<u64>>,
}

impl RangeSet {
    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    pub(super) fn descending(&self) -> impl Iterator<Item = Range<u64>> {
        self.ranges.iter().rev().cloned()
    }

    /// True if the set contains all of `range` (not empty).
    pub(super) fn covers(&self, range: &Range<u64>) -> bool {
        let at = self.first_ending_after(range.start);
        (self.ranges.get(at)).is_some_and(|found| found.start <= range.start && range.end <= found.end)
    }

    pub(super) fn would_grow(&self, range: &Range<u64>) -> bool {
        let at = self.first_touching(range.start);
        self.ranges.get(at).is_none_or(|found| found.start > range.end)
    }

    /// Inserts `range` and calls `fresh` with the parts that were not contained, lowest first.
    pub(super) fn insert(&mut self, range: Range<u64>, mut fresh: impl FnMut(Range<u64>)) {
        if range.is_empty() {
            return;
        }
        let first = self.first_touching(range.start);
        let mut cursor = range.start;
        let mut last = first;
        let mut merged = range.clone();
        while let Some(found) = self.ranges.get(last).filter(|found| found.start <= range.end) {
            if cursor < found.start {
                fresh(cursor..found.start);
            }
            cursor = cursor.max(found.end);
            merged.start = merged.start.min(found.start);
            merged.end = merged.end.max(found.end);
            last += 1;
        }
        if cursor < range.end {
            fresh(cursor..range.end);
        }
        if first == last {
            self.ranges.insert(first, merged);
        } else {
            self.ranges[first] = merged;
            self.ranges.drain(first + 1..last);
        }
    }

    pub(super) fn remove_below(&mut self, floor: u64) {
        let gone = self.first_ending_after(floor);
        self.ranges.drain(..gone);
        if let Some(first) = self.ranges.first_mut() {
            first.start = first.start.max(floor);
        }
    }

    pub(super) fn pop_lowest(&mut self) -> Option<Range<u64>> {
        (!self.ranges.is_empty()).then(|| self.ranges.remove(0))
    }

    /// Index of the first range that ends at `start` or later.
    fn first_touching(&self, start: u64) -> usize {
        match self.ranges.last() {
            Some(last) if last.start <= start => self.ranges.len() - usize::from(last.end >= start),
            _ => self.ranges.partition_point(|range| range.end < start),
        }
    }

    fn first_ending_after(&self, start: u64) -> usize {
        self.ranges.partition_point(|range| range.end <= start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn members(set: &RangeSet) -> Vec<u64> {
        set.ranges.iter().cloned().flatten().collect()
    }

    proptest! {
        #[test]
        fn behaves_as_a_set(ops in prop::collection::vec((0u64..60, 1u64..9), 1..60), floor in 0u64..70) {
            let mut set = RangeSet::default();
            let mut model = BTreeSet::new();
            for (start, len) in ops {
                let range = start..start + len;
                prop_assert_eq!(set.covers(&range), range.clone().all(|n| model.contains(&n)));
                let expected: Vec<_> = range.clone().filter(|n| !model.contains(n)).collect();
                let (before, grows) = (set.len(), set.would_grow(&range));
                let mut fresh = Vec::new();
                set.insert(range.clone(), |part| fresh.extend(part));
                prop_assert_eq!(fresh, expected);
                prop_assert_eq!(grows, set.len() > before);
                model.extend(range);
                prop_assert_eq!(members(&set), model.iter().copied().collect::<Vec<_>>());
                prop_assert!(set.ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
            set.remove_below(floor);
            model.retain(|&n| n >= floor);
            prop_assert_eq!(members(&set), model.into_iter().collect::<Vec<_>>());
        }
    }
}
