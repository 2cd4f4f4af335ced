//! Counters of a super-program.

use crate::Policy;
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

    fn since(&self, before: &Tally) -> Tally {
        Tally {
            launches: self.launches.saturating_sub(before.launches),
            instructions: self.instructions.saturating_sub(before.instructions),
            loads: self.loads.saturating_sub(before.loads),
            bytes: self.bytes.saturating_sub(before.bytes),
            merges: self.merges.saturating_sub(before.merges),
            busy: self.busy.saturating_sub(before.busy),
            elapsed: self.elapsed.saturating_sub(before.elapsed),
            workers: self.workers,
        }
    }
}

/// The counters of all ranks: [`SuperProgram::report`](crate::SuperProgram::report).
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// The policy.
    pub policy: Policy,
    /// The counters of each rank, in the order of ranks.
    pub ranks: Vec<Tally>,
    /// The speed of a thread of each rank, as a part of the fastest, as the policy assumes it at the end of the last
    /// launch. A known speed ([`Super::speeds`](crate::Super::speeds)) stays if it explains the last five times of the
    /// rank's instructions, from launches of the same function; otherwise their median decides. So it is a rough value
    /// if instructions differ in length.
    pub weights: Vec<f64>,
}

impl Report {
    /// Returns the counters of the launches that have run since an earlier report of the same super-program. If
    /// `before` is a later one, the counters are 0.
    pub fn since(&self, before: &Report) -> Report {
        let ranks = self.ranks.iter().zip(&before.ranks).map(|(after, before)| after.since(before)).collect();
        Report { ranks, ..self.clone() }
    }

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
        let row = |f: &mut fmt::Formatter<'_>, name: &str, of: &Tally, weight: &str| {
            let Tally { instructions, loads, bytes, merges, busy, workers, .. } = of;
            let mib = *bytes as f64 / f64::from(1 << 20);
            write!(f, "{name:<9}{workers:>8}{weight:>8}{instructions:>14}{loads:>9}{mib:>11.2}{merges:>8}")?;
            write!(f, "{:>10.3}{:>10.3}", busy.as_secs_f64(), of.idle().as_secs_f64())
        };
        let total = self.total();
        let plural = |count: u64| if count == 1 { "" } else { "es" };
        let (launches, seconds) = (total.launches, total.elapsed.as_secs_f64());
        writeln!(f, "{launches} launch{} in {seconds:.3} s, policy {}", plural(launches), self.policy)?;
        let names = ["workers", "weight", "instructions", "loads", "MiB", "merges", "busy s", "idle s"];
        for (name, width) in [""].into_iter().chain(names).zip([9, 8, 8, 14, 9, 11, 8, 10, 10]) {
            write!(f, "{name:>width$}")?;
        }
        writeln!(f)?;
        for (rank, (tally, weight)) in self.ranks.iter().zip(&self.weights).enumerate() {
            row(f, &Rank::new(rank).to_string(), tally, &format!("{weight:.2}"))?;
            writeln!(f)?;
        }
        row(f, "all", &total, "")
    }
}
