//! One timer per index, with fast access to the earliest.

use super::Instant;
use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(super) struct Timers {
    set: Vec<Option<Instant>>,
    ordered: BTreeSet<(Instant, usize)>,
}

impl Timers {
    pub(super) fn set(&mut self, index: usize, due: Option<Instant>) {
        if index >= self.set.len() {
            self.set.resize(index + 1, None);
        }
        let before = std::mem::replace(&mut self.set[index], due);
        if before == due {
            return;
        }
        if let Some(before) = before {
            self.ordered.remove(&(before, index));
        }
        self.ordered.extend(due.map(|due| (due, index)));
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.ordered.first().map(|(due, _)| *due)
    }

    /// An index whose timer has expired; clears it.
    pub(super) fn pop(&mut self, now: Instant) -> Option<usize> {
        let (due, index) = *self.ordered.first()?;
        if due > now {
            return None;
        }
        self.set(index, None);
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn the_earliest_comes_first_and_once() {
        let mut timers = Timers::default();
        timers.set(7, Some(at(30)));
        timers.set(2, Some(at(20)));
        timers.set(7, Some(at(10)));
        timers.set(3, Some(at(5)));
        timers.set(3, None);
        assert_eq!(timers.next(), Some(at(10)));
        assert_eq!(timers.pop(at(9)), None);
        let due: Vec<_> = std::iter::from_fn(|| timers.pop(at(25))).collect();
        assert_eq!((due, timers.next()), (vec![7, 2], None));
    }
}
