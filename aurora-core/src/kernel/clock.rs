//! The one place where a rank's kernel and its objects read the clock.

use std::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct Clock;

impl Clock {
    pub(crate) fn now(&self) -> Instant {
        Instant::now()
    }
}
