//! How a thread waits for what wakes nobody: a carrier has to be asked again and again.

use super::poller::Poller;
use std::thread;
use std::time::Duration;

/// So often it is asked without sleeping after something has moved: for a fast network.
const HOT: u32 = 200;

/// How long it sleeps then, at first and at most: a slow network does not notice, and other ranks of the machine have
/// the core.
const SHORTEST: Duration = Duration::from_micros(20);
const LONGEST: Duration = Duration::from_micros(200);

/// Longer and longer pauses, until something moves.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    /// How often nothing had moved.
    idle: u32,
}

impl Backoff {
    /// Waits for a while. `moved`: something has, since the last time. What arrives on `poller` ends it early.
    pub fn wait(&mut self, moved: bool, poller: Option<&Poller>) {
        self.idle = if moved { 0 } else { self.idle.saturating_add(1) };
        match (self.length(), poller) {
            // Also where there are more ranks than cores.
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
    fn naps_are_longer_the_less_moves() {
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
