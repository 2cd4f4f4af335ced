//! The pauses of a thread that waits for a carrier. A carrier wakes no thread, so it has to be polled.

use crate::poller::Poller;
use std::thread;
use std::time::Duration;

/// The number of polls without a pause after the last progress: for a fast network.
const HOT: u32 = 200;

/// The first and the longest pause: negligible on a slow network, and other ranks of the machine get the core.
const SHORTEST: Duration = Duration::from_micros(20);
const LONGEST: Duration = Duration::from_micros(200);

#[derive(Debug, Default)]
pub(super) struct Backoff {
    idle: u32,
}

impl Backoff {
    /// Waits before the next poll. `moved`: the last poll made progress. Events on `poller` end the pause early.
    pub fn wait(&mut self, moved: bool, poller: Option<&Poller>) {
        self.idle = if moved { 0 } else { self.idle.saturating_add(1) };
        match (self.length(), poller) {
            // Yields even if each rank has a core.
            (None, _) => thread::yield_now(),
            (Some(pause), Some(poller)) => poller.sleep_at_most(pause),
            (Some(pause), None) => thread::sleep(pause),
        }
    }

    fn length(&self) -> Option<Duration> {
        let doublings = self.idle.checked_sub(HOT)?;
        Some((SHORTEST * (1 << doublings.min(8))).min(LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_without_progress() {
        let mut backoff = Backoff::default();
        for _ in 0..HOT - 1 {
            backoff.idle += 1;
            assert_eq!(backoff.length(), None);
        }
        let mut pauses = Vec::new();
        for _ in 0..20 {
            backoff.idle += 1;
            pauses.push(backoff.length().unwrap());
        }
        assert!(pauses.is_sorted() && pauses[0] == SHORTEST && pauses[19] == LONGEST, "{pauses:?}");
        backoff.wait(true, None);
        assert_eq!(backoff.length(), None);
    }
}
