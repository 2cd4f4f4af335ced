//! The figures of the launches of a super-program, for people.

use crate::table::{Table, line};
use aurora_apps::launches::Launches;
use aurora_apps::report::RankCounters;
use std::fmt::{self, Display, Formatter};

impl Display for Table<'_, Launches> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let of = self.0;
        writeln!(f, "{:34}{:>12}{:>12}{:>12}", "super-program: seconds", "min", "median", "max")?;
        line(f, "launches", of.launch_seconds)?;
        line(f, "busy, all workers", of.busy_seconds)?;
        line(f, "idle, all workers", of.idle_seconds)?;
        line(f, "efficiency", of.efficiency)?;
        writeln!(f)?;
        writeln!(f, "the last repetition, policy {}", of.policy)?;
        writeln!(f, "workers       {}", of.workers)?;
        writeln!(f, "instructions  {}", of.instructions)?;
        writeln!(f, "block loads   {}, {:.2} MiB", of.block_loads, of.loaded_mib)?;
        writeln!(f, "merges        {}", of.merges)?;
        write!(f, "\n{}", Table(&of.by_rank))
    }
}

/// The counters of a super-program, a row for each rank.
impl Display for Table<'_, Vec<RankCounters>> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:<6}{:>8}{:>8}{:>14}{:>9}", "rank", "workers", "weight", "instructions", "loads")?;
        writeln!(f, "{:>11}{:>8}{:>11}{:>11}", "MiB", "merges", "busy s", "idle s")?;
        for (rank, of) in self.0.iter().enumerate() {
            let RankCounters { workers, weight, instructions, loads, merges, busy_seconds, idle_seconds, .. } = of;
            let mib = of.loaded_bytes as f64 / f64::from(1 << 20);
            write!(f, "{rank:<6}{workers:>8}{weight:>8.3}{instructions:>14}{loads:>9}{mib:>11.2}{merges:>8}")?;
            writeln!(f, "{busy_seconds:>11.4}{idle_seconds:>11.4}")?;
        }
        Ok(())
    }
}
