//! A set of numbers, stored as ranges: the bytes of a copy that have arrived, and those that are shown.

use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges that neither touch nor overlap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    /// The end of each range, by its start.
    ends: BTreeMap<usize, usize>,
}

impl Ranges {
    /// Adds a range, of which some or all may be there already.
    pub(crate) fn insert(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        // The common case: a range that follows the last one makes it longer.
        let next = self.ends.range(range.start + 1..).next();
        if next.is_none_or(|(at, _)| *at > range.end)
            && let Some((_, end)) = self.ends.range_mut(..=range.start).next_back()
            && *end == range.start
        {
            *end = range.end;
            return;
        }
        let (mut start, mut end) = (range.start, range.end);
        while let Some((at, until)) = self.ends.range(..=end).next_back().map(|(at, until)| (*at, *until))
            && until >= start
        {
            self.ends.remove(&at);
            (start, end) = (start.min(at), end.max(until));
        }
        self.ends.insert(start, end);
    }

    /// True if the set contains some of a range.
    pub(crate) fn meets(&self, range: &Range<usize>) -> bool {
        let before = self.ends.range(..range.end).next_back();
        !range.is_empty() && before.is_some_and(|(_, end)| *end > range.start)
    }

    /// The end of the range that contains `from`; `from` if none does.
    pub(crate) fn reach(&self, from: usize) -> usize {
        let around = self.ends.range(..=from).next_back();
        around.map_or(from, |(_, end)| (*end).max(from))
    }

    pub(crate) fn clear(&mut self) {
        self.ends.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_set(ranges in prop::collection::vec((0usize..60, 0usize..9), 0..40), asked in 0usize..60, len in 0usize..9) {
            let (mut set, mut model) = (Ranges::default(), [false; 80]);
            for (start, len) in ranges {
                set.insert(start..start + len);
                model[start..start + len].fill(true);
                let joined = set.ends.iter().zip(set.ends.iter().skip(1)).all(|((_, end), (next, _))| end < next);
                prop_assert!(joined, "{:?}", set);
            }
            let there: Vec<usize> = set.ends.iter().flat_map(|(start, end)| *start..*end).collect();
            let wanted: Vec<usize> = (0..80).filter(|i| model[*i]).collect();
            prop_assert_eq!(there, wanted);
            prop_assert_eq!(set.meets(&(asked..asked + len)), model[asked..asked + len].contains(&true));
            let reach = (asked..80).find(|i| !model[*i]).unwrap_or(80);
            prop_assert_eq!(set.reach(asked), reach);
            set.clear();
            prop_assert!(!set.meets(&(0..80)));
        }
    }
}
