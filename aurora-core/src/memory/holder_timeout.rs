//! The time for which the owner of a block waits for a holder of its [latch](super::latch), and the rank that it has
//! given up.
//!
//! A running rank releases a latch within microseconds. A rank that does not has been stopped, and may never continue.
//! The owner waits under its kernel's lock and sends nothing meanwhile. So it gives up before its peers do.

use aurora_net::Rank;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The longest time that an owner waits and sends nothing.
const LONGEST: Duration = Duration::from_secs(30);

/// The maximum that counts of the time between two checks. If it was longer, the owner was stopped too.
const MOST_OF_A_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct HolderTimeout {
    limit: Duration,
    given_up: OnceLock<(Rank, Duration)>,
}

impl HolderTimeout {
    /// The limit of a rank whose peers give it up after `silence`.
    pub(crate) fn new(silence: Duration) -> Self {
        HolderTimeout { limit: (silence / 5 * 4).min(LONGEST), given_up: OnceLock::new() }
    }

    /// True if the wait for `rank` has ended and the rank is given up. After that the owner waits for no rank: the job
    /// has ended.
    pub(crate) fn is_over(&self, rank: Rank, waited: Duration) -> bool {
        let over = waited >= self.limit;
        if over {
            self.given_up.get_or_init(|| (rank, waited));
        }
        over || self.given_up().is_some()
    }

    /// The first rank that was given up, and the time of the wait for it.
    #[inline]
    pub(crate) fn given_up(&self) -> Option<(Rank, Duration)> {
        self.given_up.get().copied()
    }
}

#[derive(Debug, Default)]
pub(crate) struct HolderWait {
    waited: Duration,
    last: Option<(usize, Instant)>,
}

impl HolderWait {
    /// The time of the consecutive calls for this rank.
    pub(crate) fn waited_for(&mut self, rank: usize, now: Instant) -> Duration {
        self.waited = match self.last.replace((rank, now)) {
            Some((before, last)) if before == rank => self.waited + (now - last).min(MOST_OF_A_PAUSE),
            _ => Duration::ZERO,
        };
        self.waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_that_somebody_could_have_used() {
        let (begin, mut wait) = (Instant::now(), HolderWait::default());
        let mut at = |rank, ms| wait.waited_for(rank, begin + Duration::from_millis(ms));
        assert_eq!(at(0, 0), Duration::ZERO);
        assert_eq!(at(0, 70), Duration::from_millis(70));
        // All were stopped for an hour.
        assert_eq!(at(0, 3_600_070), Duration::from_millis(170));
        assert_eq!(at(1, 3_600_080), Duration::ZERO);
        assert_eq!(at(1, 3_600_090), Duration::from_millis(10));
    }

    #[test]
    fn who_waits_gives_up_before_it_is_given_up_itself() {
        for (silence, limit) in [(1, 800), (5, 4000), (3600, 30_000)] {
            let timeout = HolderTimeout::new(Duration::from_secs(silence));
            let (almost, enough) = (Duration::from_millis(limit - 1), Duration::from_millis(limit));
            assert!(!timeout.is_over(Rank::new(1), almost) && timeout.given_up().is_none());
            assert!(timeout.is_over(Rank::new(2), enough));
            assert_eq!(timeout.given_up(), Some((Rank::new(2), enough)));
            assert!(timeout.is_over(Rank::new(1), Duration::ZERO), "the job is over");
            assert_eq!(timeout.given_up(), Some((Rank::new(2), enough)));
        }
    }
}
