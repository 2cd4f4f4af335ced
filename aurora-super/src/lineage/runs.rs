//! A set of instruction numbers of one group, as runs.

use std::ops::Range;

/// A set of numbers that mostly follow each other: disjoint runs in ascending order, with a gap between any two.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Runs {
    runs: Vec<Range<u32>>,
}

impl Runs {
    /// Returns the number of elements.
    pub fn len(&self) -> u32 {
        self.runs.iter().map(|run| run.end - run.start).sum()
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the runs of the set, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Range<u32>> + '_ {
        self.runs.iter().cloned()
    }

    /// Adds a run and returns true. If the set contains a number of the run already, adds nothing and returns false.
    #[must_use]
    pub fn add(&mut self, run: Range<u32>) -> bool {
        if run.is_empty() {
            return true;
        }
        // Most runs follow the last one.
        let at = match self.runs.last_mut() {
            Some(last) if last.end == run.start => {
                last.end = run.end;
                return true;
            }
            Some(last) if last.end > run.start => self.runs.partition_point(|other| other.end <= run.start),
            _ => self.runs.len(),
        };
        if self.runs.get(at).is_some_and(|next| next.start < run.end) {
            return false;
        }
        let joins_next = self.runs.get(at).is_some_and(|next| next.start == run.end);
        let joins_last = at > 0 && self.runs[at - 1].end == run.start;
        match (joins_last, joins_next) {
            (true, true) => {
                self.runs[at - 1].end = self.runs[at].end;
                self.runs.remove(at);
            }
            (true, false) => self.runs[at - 1].end = run.end,
            (false, true) => self.runs[at].start = run.start,
            (false, false) => self.runs.insert(at, run),
        }
        true
    }

    /// Adds all numbers of another set and returns true. If the sets have a number in common, adds nothing and returns
    /// false.
    #[must_use]
    pub fn merge(&mut self, other: &Runs) -> bool {
        let mut merged = self.clone();
        let disjoint = other.iter().all(|run| merged.add(run));
        if disjoint {
            *self = merged;
        }
        disjoint
    }

    /// Removes a run and returns true. If the set does not contain all of the run, removes nothing and returns false.
    #[must_use]
    pub fn remove(&mut self, run: &Range<u32>) -> bool {
        if run.is_empty() {
            return true;
        }
        let at = self.runs.partition_point(|held| held.end <= run.start);
        let Some(held) = self.runs.get(at).filter(|held| held.start <= run.start && run.end <= held.end).cloned()
        else {
            return false;
        };
        let rest = [held.start..run.start, run.end..held.end].into_iter().filter(|rest| !rest.is_empty());
        self.runs.splice(at..=at, rest);
        true
    }

    /// Removes and returns the first numbers: at most `most`, all of one run. `None` if the set is empty or `most` is
    /// 0.
    pub fn take_first(&mut self, most: u32) -> Option<Range<u32>> {
        let first = self.runs.first().cloned().filter(|_| most > 0)?;
        let taken = first.start..first.end.min(first.start.saturating_add(most));
        assert!(self.remove(&taken), "it is the first");
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn like_a_set_of_numbers(steps in prop::collection::vec((any::<bool>(), 0u32..40, 0u32..8), 0..60)) {
            let (mut runs, mut set) = (Runs::default(), BTreeSet::new());
            for (adds, start, len) in steps {
                let run = start..start + len;
                let inside = run.clone().filter(|number| set.contains(number)).count();
                if adds {
                    prop_assert_eq!(runs.add(run.clone()), inside == 0);
                    if inside == 0 {
                        set.extend(run);
                    }
                } else {
                    prop_assert_eq!(runs.remove(&run), inside == run.len());
                    if inside == run.len() {
                        run.for_each(|number| { set.remove(&number); });
                    }
                }
                prop_assert_eq!(runs.iter().flatten().collect::<Vec<_>>(), set.iter().copied().collect::<Vec<_>>());
                prop_assert!(runs.runs.windows(2).all(|pair| pair[0].end < pair[1].start));
                prop_assert_eq!(runs.len() as usize, set.len());
            }
        }
    }

    #[test]
    fn sets_with_a_number_in_common_do_not_merge() {
        let of = |runs: &[Range<u32>]| {
            runs.iter().fold(Runs::default(), |mut all, run| {
                assert!(all.add(run.clone()));
                all
            })
        };
        let mut one = of(&[0..3, 5..6]);
        assert!(!one.merge(&of(&[3..4, 5..7])));
        assert_eq!(one, of(&[0..3, 5..6]));
        assert!(one.merge(&of(&[3..5, 9..10])));
        assert_eq!(one, of(&[0..6, 9..10]));
        assert_eq!((one.take_first(4), one.take_first(4), one.take_first(4)), (Some(0..4), Some(4..6), Some(9..10)));
        assert_eq!(one.take_first(1), None);
    }
}
