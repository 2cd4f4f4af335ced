//! The CPU time of the ranks.

use aurora_core::Launcher;
use aurora_core::prelude::*;
use rustix::time::{ClockId, clock_gettime};

/// Seconds of CPU, user and system, that this rank's process has had. Ranks that are threads of one process cannot be
/// told apart: there rank 0 answers for all, and the others say 0.
pub fn seconds(world: &World) -> f64 {
    if world.about().launcher == Launcher::Threads && !world.is_root() {
        return 0.0;
    }
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
