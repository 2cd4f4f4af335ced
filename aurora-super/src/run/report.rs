//! Counters of a super-program.

use aurora_core::Rank;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The counters of one rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// The number of complete launches.
    pub launches: u64,
    /// The number of instructions that have run.
    pub instructions: u64,
    /// The number of blocks and partial results that have been loaded from other ranks.
    pub loads: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The number of partial results that this rank has merged into a result.
    pub merges: u64,
    /// The time inside the functions, of all threads together.
    pub busy: Duration,
    /// The time in launches.
    pub elapsed: Duration,
    /// The number of threads that run instructions.
    pub workers: u32,
}

impl Tally {
    /// Returns the time in launches in which the threads ran no function: they waited for a grant, for a block or for
    /// the end, or made, encoded and decoded blocks.
    pub fn idle(&self) -> Duration {
        (self.elapsed * self.workers).saturating_sub(self.busy)
    }
}

/// The counters of all ranks: [`SuperProgram::report`](crate::SuperProgram::report).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The counters of each rank, in the order of ranks.
    pub ranks: Vec<Tally>,
}

impl Report {
    /// Returns the sum over all ranks; `launches` and `elapsed` are maxima over the ranks.
    pub fn total(&self) -> Tally {
        self.ranks.iter().fold(Tally::default(), |sum, rank| Tally {
            launches: sum.launches.max(rank.launches),
            instructions: sum.instructions + rank.instructions,
            loads: sum.loads + rank.loads,
            bytes: sum.bytes + rank.bytes,
            merges: sum.merges + rank.merges,
            busy: sum.busy + rank.busy,
            elapsed: sum.elapsed.max(rank.elapsed),
            workers: sum.workers + rank.workers,
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |f: &mut fmt::Formatter<'_>, name: &str, of: &Tally| {
            let Tally { instructions, loads, bytes, merges, busy, .. } = of;
            let mib = *bytes as f64 / f64::from(1 << 20);
            write!(f, "{name:<9}{instructions:>13}{loads:>9}{mib:>11.2}{merges:>9}{:>11.3}", busy.as_secs_f64())?;
            write!(f, "{:>11.3}", of.idle().as_secs_f64())
        };
        let total = self.total();
        let plural = |count: u64| if count == 1 { "" } else { "es" };
        let (launches, seconds) = (total.launches, total.elapsed.as_secs_f64());
        writeln!(f, "{launches} launch{} in {seconds:.3} s", plural(launches))?;
        writeln!(
            f,
            "{:<9}{:>13}{:>9}{:>11}{:>9}{:>11}{:>11}",
            "", "instructions", "loads", "MiB", "merges", "busy s", "idle s"
        )?;
        for (rank, tally) in self.ranks.iter().enumerate() {
            row(f, &Rank::new(rank).to_string(), tally)?;
            writeln!(f)?;
        }
        row(f, "all", &total)
    }
}
