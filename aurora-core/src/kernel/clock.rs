//! The clock of a rank's kernel, and of its objects through `Cx::now`.

use std::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct Clock;

impl Clock {
    pub(crate) fn now(&self) -> Instant {
        Instant::now()
    }
}
