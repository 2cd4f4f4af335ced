//! The memory of the ranks.

use aurora_core::Launcher;
use aurora_core::prelude::*;
use std::fs;

/// Bytes that this rank's process has in memory, of pages that several map its share (PSS); none where the system does
/// not say. Ranks that are threads of one process cannot be told apart: there rank 0 answers for all, and the others
/// say 0.
pub fn proportional(world: &World) -> Option<f64> {
    if world.about().launcher == Launcher::Threads && !world.is_root() {
        return Some(0.0);
    }
    parse(&fs::read_to_string("/proc/self/smaps_rollup").ok()?)
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
        assert_eq!(parse(text), Some(1234.0 * 1024.0));
        assert_eq!(parse("Pss_Dirty: 5 kB\n"), None);
    }
}
