//! Bulk reads of many ranks at once, answered together.

use aurora_net::Rank;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// The maximum wait for the next request.
const QUIET: Duration = Duration::from_millis(2);
/// The maximum wait in all.
const MOST: Duration = Duration::from_millis(10);
/// Shorter reads are answered at once.
const BULK: u64 = 32 << 10;

/// Holds back answers to ranks that read from most others at once (the exchange of a parallel sort) until all of them
/// have asked, or no more seem to come.
///
/// An exchange of all with all runs at line rate if each sender spreads its data over all receivers from the start. If
/// the first request were answered at once, all ranks would send to its rank alone, and that rank's switch port would
/// overflow: that costs far more than this wait. The last request, which decides when the exchange ends, never waits.
#[derive(Debug)]
pub(crate) struct IncastGuard<T> {
    me: Rank,
    size: usize,
    held: Vec<(Rank, T)>,
    asked: BTreeSet<Rank>,
    /// The arrival times of the first and the last held request.
    arrivals: Option<(Instant, Instant)>,
}

impl<T> IncastGuard<T> {
    pub(crate) fn new(me: Rank, size: usize) -> Self {
        IncastGuard { me, size, held: Vec::new(), asked: BTreeSet::new(), arrivals: None }
    }

    /// True if a read of `bytes` is part of such an exchange. Its rank reads from `owners` ranks in the same call.
    pub(crate) fn concerns(&self, bytes: u64, owners: u32) -> bool {
        bytes >= BULK && owners >= 2 && 2 * owners as usize >= self.size - 1
    }

    pub(crate) fn hold(&mut self, now: Instant, from: Rank, request: T) {
        self.arrivals = Some((self.arrivals.map_or(now, |(first, _)| first), now));
        self.asked.insert(from);
        self.held.push((from, request));
    }

    /// The end of the wait, if there is one.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.arrivals.map(|(first, last)| (last + QUIET).min(first + MOST))
    }

    /// All requests held back, beginning with the rank after ours; none before the wait has ended.
    pub(crate) fn release(&mut self, now: Instant) -> Vec<T> {
        let all_are_here = self.asked.len() + 1 == self.size;
        if !all_are_here && self.poll_timeout().is_none_or(|due| now < due) {
            return Vec::new();
        }
        self.asked.clear();
        self.arrivals = None;
        let mut held = std::mem::take(&mut self.held);
        held.sort_by_key(|(from, _)| (from.index() + self.size - self.me.index()) % self.size);
        held.into_iter().map(|(_, request)| request).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn all_who_have_asked_are_answered_together_beginning_after_us() {
        let (mut incast, now) = (IncastGuard::new(Rank::new(1), 4), Instant::now());
        for from in [0, 3] {
            incast.hold(now, Rank::new(from), from);
            assert!(incast.release(now).is_empty());
        }
        incast.hold(now, Rank::new(2), 2);
        assert_eq!(incast.release(now), [2, 3, 0]);
        assert_eq!(incast.poll_timeout(), None);
    }

    #[test]
    fn who_does_not_come_is_not_waited_for_long() {
        let (mut incast, start) = (IncastGuard::new(Rank::new(0), 9), Instant::now());
        incast.hold(start, Rank::new(4), 4);
        assert!(incast.release(start + MS).is_empty());
        incast.hold(start + MS, Rank::new(2), 2);
        assert!(incast.release(start + 2 * MS).is_empty());
        assert_eq!(incast.release(start + 3 * MS), [2, 4]);
        for ms in 10..20 {
            incast.hold(start + ms * MS, Rank::new(1), 1);
            assert!(incast.release(start + ms * MS).is_empty());
        }
        assert_eq!(incast.release(start + 20 * MS).len(), 10);
    }

    #[test]
    fn concerns_bulk_reads_from_most_others() {
        let incast = IncastGuard::<()>::new(Rank::new(0), 9);
        assert!(incast.concerns(BULK, 8) && incast.concerns(BULK, 4));
        assert!(!incast.concerns(BULK, 3) && !incast.concerns(BULK - 1, 8));
        assert!(!IncastGuard::<()>::new(Rank::new(0), 2).concerns(1 << 30, 1), "there is only one to ask");
    }
}
