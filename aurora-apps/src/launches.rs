//! The figures of the launches of a super-program.

use crate::report::{RankCounters, Spread};
use aurora_super::run::{Report, Tally};
use serde::Serialize;

/// The launches of a repetition, of all ranks together.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Launches {
    /// The time of the launches.
    pub launch_seconds: Spread,
    /// The time inside the instructions' functions, of all workers together.
    pub busy_seconds: Spread,
    /// The other time of all workers in the launches.
    pub idle_seconds: Spread,
    /// `busy_seconds` divided by (`workers` x `launch_seconds`).
    pub efficiency: Spread,
    /// The threads that run instructions.
    pub workers: u64,
    /// The instructions, in the last repetition, as are the next figures.
    pub instructions: u64,
    /// The blocks that ranks have loaded from other ranks, partial results included.
    pub block_loads: u64,
    /// Their MiB.
    pub loaded_mib: f64,
    /// The partial results that were merged.
    pub merges: u64,
    /// The policy.
    pub policy: String,
    /// The counters of each rank.
    pub by_rank: Vec<RankCounters>,
}

impl Launches {
    /// Returns the figures of all repetitions, from the counters of each; `None` without any.
    pub fn of(all: &[Report]) -> Option<Self> {
        let last = all.last()?;
        let totals: Vec<Tally> = all.iter().map(Report::total).collect();
        let total = last.total();
        let spread = |figure: fn(&Tally) -> f64| Spread::of(totals.iter().map(figure));
        Some(Launches {
            launch_seconds: spread(|of| of.elapsed.as_secs_f64()),
            busy_seconds: spread(|of| of.busy.as_secs_f64()),
            idle_seconds: spread(|of| of.idle().as_secs_f64()),
            efficiency: spread(efficiency),
            workers: total.workers.into(),
            instructions: total.instructions,
            block_loads: total.loads,
            loaded_mib: total.bytes as f64 / f64::from(1 << 20),
            merges: total.merges,
            policy: last.policy.to_string(),
            by_rank: RankCounters::of(last),
        })
    }
}

fn efficiency(of: &Tally) -> f64 {
    let there = of.elapsed.as_secs_f64() * f64::from(of.workers);
    if there > 0.0 { of.busy.as_secs_f64() / there } else { 0.0 }
}
