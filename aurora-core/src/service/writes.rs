//! How many writes there were by one-sided calls, counted apart for each part of the vector that they were about.
//!
//! A load must contain the writes that were made before it. Those of a scope of another part, which may be open around the load, are
//! none of its business: it must not wait for them. Who makes writes and who applies them count and forget by the same rule.

use crate::window::Window;
use std::collections::BTreeMap;

/// Counts, for each window one for each owner.
#[derive(Debug)]
pub(crate) struct Writes {
    owners: usize,
    by_window: BTreeMap<Window, Vec<u64>>,
}

impl Writes {
    /// To so many owners.
    pub(crate) fn new(owners: usize) -> Self {
        Writes { owners, by_window: BTreeMap::new() }
    }

    /// One more.
    pub(crate) fn note(&mut self, window: Window, owner: usize) {
        self.by_window.entry(window).or_insert_with(|| vec![0; self.owners])[owner] += 1;
    }

    /// Whether there are any that a load of this window has to contain.
    pub(crate) fn concern(&self, load: Window) -> bool {
        self.by_window.keys().any(|window| window.overlaps(load))
    }

    /// How many those are, for each owner, to be forgotten when the load is under way.
    pub(crate) fn count(&self, load: Window) -> Vec<u64> {
        let mut sums = vec![0; self.owners];
        for (_, counts) in self.by_window.iter().filter(|(window, _)| window.overlaps(load)) {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        sums
    }

    /// The same; they are forgotten.
    pub(crate) fn take(&mut self, load: Window) -> Vec<u64> {
        let sums = self.count(load);
        self.by_window.retain(|window, _| !window.overlaps(load));
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_counts_what_has_to_do_with_it() {
        let (left, right) = (Window::of(&(0..5), 10), Window::of(&(5..10), 10));
        let mut writes = Writes::new(2);
        writes.note(left, 1);
        writes.note(left, 1);
        writes.note(right, 0);
        assert!(writes.concern(left) && writes.concern(right) && !writes.concern(Window::of(&(3..3), 10)));
        writes.note(Window::WHOLE, 1);
        assert_eq!(writes.count(left), [0, 3]);
        assert_eq!(writes.take(right), [1, 1]);
        assert_eq!((writes.concern(right), writes.take(Window::WHOLE)), (false, vec![0, 2]));
    }
}
