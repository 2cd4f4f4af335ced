//! The time, as a rank's kernel and its objects are told it: the one place that reads the clock.

use std::time::Instant;

/// The clock of a kernel.
#[derive(Debug, Default)]
pub(crate) struct Clock;

impl Clock {
    /// Now.
    pub(crate) fn now(&self) -> Instant {
        Instant::now()
    }
}
