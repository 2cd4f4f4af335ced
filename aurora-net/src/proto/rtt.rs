//! Round-trip times.

use std::time::Duration;

/// The smallest probe time-out: waking a peer that shares its core can take this long.
const MIN_PROBE: Duration = Duration::from_millis(2);
/// The largest probe time-out: after an outage the path is used again within this time.
const MAX_PROBE: Duration = Duration::from_millis(250);
const FIRST_PROBE: Duration = Duration::from_millis(10);
/// The inaccuracy of timers, and the minimum delay after which an overtaken packet counts as lost.
const GRANULARITY: Duration = Duration::from_micros(250);
pub(super) const MAX_ACK_DELAY: Duration = Duration::from_millis(1);

/// Smoothed round-trip time (RFC 9002, section 5) and the time-outs that follow from it.
#[derive(Clone, Debug, Default)]
pub(super) struct Rtt {
    smoothed: Option<Duration>,
    variance: Duration,
    min: Duration,
    latest: Duration,
}

impl Rtt {
    /// A packet was acknowledged `latest` after it was sent; for `ack_delay` of this its receiver delayed the reply.
    pub(super) fn sample(&mut self, latest: Duration, ack_delay: Duration) {
        let Some(smoothed) = self.smoothed else {
            *self = Rtt { smoothed: Some(latest), variance: latest / 2, min: latest, latest };
            return;
        };
        self.min = self.min.min(latest);
        self.latest = latest;
        let claimed = ack_delay.min(MAX_ACK_DELAY);
        let sample = if latest >= self.min + claimed { latest - claimed } else { latest };
        self.variance = (3 * self.variance + smoothed.abs_diff(sample)) / 4;
        self.smoothed = Some((7 * smoothed + sample) / 8);
    }

    pub(super) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// The time without an acknowledgement before a probe; `backoff`: the number of time-outs since the last
    /// acknowledgement.
    pub(super) fn probe_timeout(&self, backoff: u32) -> Duration {
        let base = match self.smoothed {
            None => FIRST_PROBE,
            Some(smoothed) => (smoothed + 4 * self.variance + MAX_ACK_DELAY).max(MIN_PROBE),
        };
        (base * (1 << backoff.min(12))).min(MAX_PROBE.max(base))
    }

    /// The age at which a packet counts as lost once a later one has been acknowledged.
    pub(super) fn loss_delay(&self) -> Duration {
        let longest = self.latest.max(self.smoothed.unwrap_or_default());
        (longest * 9 / 8).max(GRANULARITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn settles_on_a_steady_path() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.probe_timeout(0), FIRST_PROBE);
        for _ in 0..100 {
            rtt.sample(20 * MS, Duration::ZERO);
        }
        assert!((20 * MS..22 * MS).contains(&rtt.probe_timeout(0)), "{rtt:?}");
        assert_eq!(rtt.loss_delay(), 20 * MS * 9 / 8);
    }

    #[test]
    fn the_receivers_delay_is_not_the_paths() {
        let mut rtt = Rtt::default();
        rtt.sample(5 * MS, Duration::ZERO);
        for _ in 0..100 {
            rtt.sample(6 * MS, MS);
        }
        assert!(rtt.smoothed.unwrap() < 5 * MS + MS / 10, "{rtt:?}");
    }

    #[test]
    fn backs_off_up_to_the_cap_and_not_below_a_long_path() {
        let mut rtt = Rtt::default();
        rtt.sample(MS / 20, Duration::ZERO);
        assert_eq!(rtt.probe_timeout(0), MIN_PROBE);
        assert_eq!(rtt.probe_timeout(3), 8 * MIN_PROBE);
        assert_eq!(rtt.probe_timeout(60), MAX_PROBE);
        let mut satellite = Rtt::default();
        satellite.sample(600 * MS, Duration::ZERO);
        assert!(satellite.probe_timeout(9) >= 600 * MS);
    }
}
