//! The report: the figures that all programs have, and those of the launch.

use super::SparseMm;
use crate::report::farm::RankCounters;
use crate::report::{Measured, Report, Spread};
use aurora_super::run;
use serde::Serialize;

/// A run by one implementation.
#[derive(Clone, Debug, Serialize)]
pub struct SparseReport {
    /// The figures that all programs have.
    #[serde(flatten)]
    pub run: Report,
    /// The probability of an entry.
    pub density: f64,
    /// The figures of the launch; none of the sequential program.
    #[serde(flatten)]
    pub launch: Option<Launch>,
}

impl Measured for SparseReport {
    fn implementation(&self) -> &str {
        self.run.implementation()
    }

    fn verified(&self) -> bool {
        self.run.verified()
    }
}

/// The launch of the multiplication, of all ranks together.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Launch {
    /// The time in which all blocks are made, before the launch.
    pub creation_seconds: Spread,
    /// The time of the launch.
    pub launch_seconds: Spread,
    /// The time inside the instruction's function, of all workers together.
    pub busy_seconds: Spread,
    /// The other time of all workers in the launch.
    pub idle_seconds: Spread,
    /// `busy_seconds` divided by (`workers` x `launch_seconds`).
    pub efficiency: Spread,
    /// The threads that run instructions.
    pub workers: u64,
    /// The instructions of the launch.
    pub instructions: u64,
    /// The blocks that ranks have loaded from other ranks in the launch, partial results included.
    pub block_loads: u64,
    /// Their MiB: of the repetition with the median.
    pub loaded_mib: f64,
    /// The partial results that were merged in the launch.
    pub merges: u64,
    /// The policy.
    pub policy: String,
    /// The counters of each rank in the last repetition.
    pub by_rank: Vec<RankCounters>,
    /// The entries of A and B together, in the last repetition.
    pub entries: u64,
}

/// The launch of one repetition.
#[derive(Clone, Debug)]
pub(super) struct Measurement {
    /// Of the slowest rank.
    pub(super) creation: f64,
    pub(super) launch: run::Report,
    pub(super) entries: usize,
}

impl Measurement {
    fn efficiency(&self) -> f64 {
        let run::Tally { elapsed, workers, busy, .. } = self.total();
        let there = elapsed.as_secs_f64() * f64::from(workers);
        if there > 0.0 { busy.as_secs_f64() / there } else { 0.0 }
    }

    /// The counters of all ranks together.
    fn total(&self) -> run::Tally {
        self.launch.total()
    }
}

impl Launch {
    /// The figures of all repetitions; `None` without any.
    pub(super) fn of(all: &[Measurement]) -> Option<Self> {
        let last = all.last()?;
        let total = last.total();
        let spread = |figure: &dyn Fn(&Measurement) -> f64| Spread::of(all.iter().map(figure));
        Some(Launch {
            creation_seconds: spread(&|of| of.creation),
            launch_seconds: spread(&|of| of.total().elapsed.as_secs_f64()),
            busy_seconds: spread(&|of| of.total().busy.as_secs_f64()),
            idle_seconds: spread(&|of| of.total().idle().as_secs_f64()),
            efficiency: spread(&Measurement::efficiency),
            workers: total.workers.into(),
            instructions: total.instructions,
            block_loads: total.loads,
            loaded_mib: spread(&|of| of.total().bytes as f64 / f64::from(1 << 20)).median,
            merges: total.merges,
            policy: last.launch.policy.to_string(),
            by_rank: RankCounters::of(&last.launch),
            entries: last.entries as u64,
        })
    }
}

/// The density in words: `12.5%`.
pub(super) fn density(job: &SparseMm) -> String {
    // Nine digits: a fraction that was per cent is that number of per cent again.
    format!("{}%", (job.density * 1e11).round() / 1e9)
}
