//! The CPU time and memory of the ranks' processes. Ranks that are threads of one process cannot be told apart: there
//! rank 0 reports the whole process, and the other ranks report 0.

use aurora_core::Launcher;
use aurora_core::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use std::fs;

/// Returns the CPU seconds, user and system, of this rank's process.
pub fn cpu_seconds(world: &World) -> f64 {
    if !answers(world) {
        return 0.0;
    }
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Returns the bytes of memory of this rank's process, with its share of pages that several processes map (PSS); NaN if
/// the system does not report it.
pub fn memory(world: &World) -> f64 {
    if !answers(world) {
        return 0.0;
    }
    fs::read_to_string("/proc/self/smaps_rollup").ok().and_then(|text| parse(&text)).unwrap_or(f64::NAN)
}

fn answers(world: &World) -> bool {
    world.is_root() || world.about().launcher != Launcher::Threads
}

fn parse(rollup: &str) -> Option<f64> {
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib as f64 * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_taken_and_not_a_part_of_it() {
        let text = "5567 [rollup]\nRss:  2000 kB\nPss:               1234 kB\nPss_Dirty:  5 kB\nPss_Anon: 7 kB\n";
        assert_eq!((parse(text), parse("Pss_Dirty: 5 kB\n")), (Some(1234.0 * 1024.0), None));
    }
}
