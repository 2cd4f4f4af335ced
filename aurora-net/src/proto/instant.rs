//! Time as an input of the protocol core.

use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// Nanoseconds since an origin chosen by the shell. There is no `now()`: the caller of a
/// [`Connection`](super::Connection) passes the time, so a simulation can run hours in a second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Instant(u64);

impl Instant {
    /// The moment `nanos` nanoseconds after the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Instant(nanos)
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Time since `earlier`; zero if `earlier` is later than this time.
    pub const fn saturating_since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// The earlier of two times; `None` if there is neither.
pub(crate) fn earlier<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Instant(self.0.saturating_add(nanos))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Instant> for Instant {
    type Output = Duration;

    /// Saturates like [`saturating_since`](Instant::saturating_since): clocks of different threads may differ slightly.
    fn sub(self, earlier: Instant) -> Duration {
        self.saturating_since(earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let one = Instant::from_nanos(1);
        assert_eq!(one - Instant::from_nanos(5), Duration::ZERO);
        assert_eq!((one + Duration::MAX).as_nanos(), u64::MAX);
        assert_eq!(one + Duration::from_nanos(4) - one, Duration::from_nanos(4));
    }
}
