//! Epochs that are complete before earlier epochs, as ranges: their cost depends on the number of gaps.

use crate::ids::Epoch;
use std::collections::BTreeMap;

/// A set of epochs, as ranges. Between two ranges lies at least one epoch that is not in the set.
#[derive(Debug, Default)]
pub(super) struct EpochSet {
    /// The last epoch of each range, by the first.
    lasts: BTreeMap<Epoch, Epoch>,
}

impl EpochSet {
    pub(super) fn insert(&mut self, epoch: Epoch) {
        if self.contains(epoch) {
            return;
        }
        let last = self.lasts.remove(&(epoch + 1)).unwrap_or(epoch);
        match self.lasts.range_mut(..epoch).next_back() {
            Some((_, before)) if *before + 1 == epoch => *before = last,
            _ => drop(self.lasts.insert(epoch, last)),
        }
    }

    pub(super) fn contains(&self, epoch: Epoch) -> bool {
        self.reach(epoch).is_some()
    }

    /// The last epoch of the range that contains this one.
    fn reach(&self, epoch: Epoch) -> Option<Epoch> {
        self.lasts.range(..=epoch).next_back().map(|(_, last)| *last).filter(|last| *last >= epoch)
    }

    pub(super) fn last(&self) -> Option<Epoch> {
        self.lasts.last_key_value().map(|(_, last)| *last)
    }

    /// Removes the epochs up to `settled` and the range that follows at once. Returns the new value of `settled`.
    pub(super) fn take_up_to(&mut self, settled: Epoch) -> Epoch {
        let mut upto = settled;
        while let Some(entry) = self.lasts.first_entry().filter(|entry| *entry.key() <= upto + 1) {
            upto = upto.max(entry.remove());
        }
        upto
    }

    /// The epochs between these two, inclusive, that are not in the set, in ascending order.
    pub(super) fn lacking(&self, first: Epoch, last: Epoch) -> impl Iterator<Item = Epoch> + '_ {
        let mut next = Some(first);
        std::iter::from_fn(move || {
            // The epoch behind a range is in no range.
            let epoch = next.map(|next| self.reach(next).map_or(next, |settled| settled + 1))?;
            next = epoch.checked_add(1);
            (epoch <= last).then_some(epoch)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The model: epochs kept one by one.
    #[derive(Default)]
    struct OneByOne {
        settled: Epoch,
        early: BTreeSet<Epoch>,
    }

    impl OneByOne {
        fn settle(&mut self, epoch: Epoch) {
            self.early.insert(epoch);
            while self.early.remove(&(self.settled + 1)) {
                self.settled += 1;
            }
        }

        fn unsettled(&self, upto: Epoch) -> Vec<Epoch> {
            (self.settled + 1..=upto).filter(|epoch| !self.early.contains(epoch)).collect()
        }
    }

    proptest! {
        #[test]
        fn ranges_say_what_single_epochs_do(order in prop::collection::vec(1u64..40, 0..60), upto in 0u64..45) {
            let (mut want, mut settled, mut early) = (OneByOne::default(), 0, EpochSet::default());
            for epoch in order.into_iter().filter(|epoch| *epoch > 1 || upto % 2 == 0) {
                if epoch <= settled {
                    continue;
                }
                want.settle(epoch);
                early.insert(epoch);
                settled = early.take_up_to(settled);
                prop_assert_eq!(settled, want.settled);
                prop_assert_eq!(early.last(), want.early.last().copied());
                prop_assert!((settled + 1..45).all(|epoch| early.contains(epoch) == want.early.contains(&epoch)));
                prop_assert_eq!(early.lacking(settled + 1, upto).collect::<Vec<_>>(), want.unsettled(upto));
                prop_assert!(early.lasts.len() <= want.unsettled(45).len());
            }
        }
    }

    #[test]
    fn many_scopes_beside_an_open_one_are_one_range() {
        let mut early = EpochSet::default();
        (2..100_000).for_each(|epoch| early.insert(epoch));
        assert_eq!((early.lasts.len(), early.take_up_to(0)), (1, 0));
        assert_eq!(early.lacking(1, 100_001).collect::<Vec<_>>(), [1, 100_000, 100_001]);
        early.insert(1);
        assert_eq!((early.take_up_to(0), early.last()), (99_999, None));
        assert!(early.lacking(Epoch::MAX, Epoch::MAX).eq([Epoch::MAX]));
    }

    #[test]
    fn what_is_over_is_forgotten() {
        let mut early = EpochSet::default();
        [3, 4, 5, 8].into_iter().for_each(|epoch| early.insert(epoch));
        assert_eq!((early.take_up_to(4), early.last()), (5, Some(8)));
        assert_eq!((early.take_up_to(9), early.last()), (9, None));
    }
}
