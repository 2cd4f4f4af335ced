//! The difference of the clocks of machines, for traces.

use super::World;
use crate::kernel::watch::Blocked;
use crate::{Result, Site};

impl World {
    /// Returns the lead of rank 0's clock over this rank's clock, in nanoseconds.
    pub(crate) fn clock_ahead(&self, site: &Site) -> Result<i64> {
        const QUESTIONS: u32 = 10;
        if self.is_root() {
            return Ok(0);
        }
        for asked in 1..=QUESTIONS {
            self.link().on_kernel(site, |kernel, out| {
                kernel.ask_time(out);
                Ok(())
            })?;
            self.link().wait_kernel(Blocked::Clock, site, |kernel, _| {
                (kernel.core.reports.answers == asked).then_some(Ok(()))
            })?;
        }
        Ok(self.link().read(|kernel| kernel.core.reports.ahead.map_or(0, |(_, ahead)| ahead)).0)
    }
}
