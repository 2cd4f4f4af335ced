//! The time for which a reply of the peer has been missing.

use super::Instant;
use std::time::Duration;

/// A caller that is late by more than this was itself stopped or suspended.
const STALL: Duration = Duration::from_millis(500);

/// Adds up the time in which a reply was due, no reply arrived, and this end was running.
#[derive(Clone, Debug)]
pub(super) struct Silence {
    limit: Duration,
    silent_for: Duration,
    /// The time of the last call.
    pub(super) last: Instant,
}

impl Silence {
    pub(super) fn new(limit: Duration, now: Instant) -> Self {
        Silence { limit, silent_for: Duration::ZERO, last: now }
    }

    /// Time advances to `now`. The next call had been planned for `planned`; a reply was `due` or not.
    pub(super) fn advance(&mut self, now: Instant, planned: Option<Instant>, due: bool) {
        if due {
            let expected = planned.map_or(self.last, |planned| planned.max(self.last));
            let stalled = now - expected > STALL;
            self.silent_for += if stalled { expected } else { now } - self.last;
        } else {
            self.silent_for = Duration::ZERO;
        }
        self.last = self.last.max(now);
    }

    pub(super) fn heard(&mut self) {
        self.silent_for = Duration::ZERO;
    }

    pub(super) fn exceeded(&self) -> Option<Duration> {
        (self.silent_for >= self.limit).then_some(self.silent_for)
    }

    /// The time at which the limit is reached if a reply stays due.
    pub(super) fn deadline(&self) -> Instant {
        self.last + self.limit.saturating_sub(self.silent_for)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn only_time_in_which_an_answer_is_due_counts() {
        let mut silence = Silence::new(Duration::from_secs(1), at(0));
        silence.advance(at(400), None, false);
        silence.advance(at(800), Some(at(800)), true);
        assert_eq!(silence.deadline(), at(1400));
        silence.advance(at(1399), Some(at(1399)), true);
        assert_eq!(silence.exceeded(), None);
        silence.advance(at(1400), Some(at(1400)), true);
        assert_eq!(silence.exceeded(), Some(Duration::from_secs(1)));
        silence.heard();
        assert_eq!(silence.exceeded(), None);
    }

    #[test]
    fn time_in_which_we_did_not_run_does_not_count() {
        let mut silence = Silence::new(Duration::from_secs(1), at(0));
        silence.advance(at(60_000), Some(at(250)), true);
        assert_eq!(silence.exceeded(), None);
        assert_eq!(silence.deadline(), at(60_750));
    }

    #[test]
    fn a_clock_that_steps_back_is_harmless() {
        let mut silence = Silence::new(Duration::from_secs(1), at(500));
        silence.advance(at(400), Some(at(450)), true);
        assert_eq!(silence.deadline(), at(1500));
    }
}
