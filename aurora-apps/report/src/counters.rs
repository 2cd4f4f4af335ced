//! The counters of a super-program, rank by rank, in the form that programs write.

use aurora_super::run;
use serde::{Deserialize, Serialize};

/// The counters of a super-program on one rank.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RankCounters {
    /// The threads that run instructions.
    pub workers: u32,
    /// The speed of a thread, as a multiple of the fastest, as the policy has learnt it.
    pub weight: f64,
    /// The instructions that have run.
    pub instructions: u64,
    /// The time inside instructions, of all threads together, in seconds.
    pub busy_seconds: f64,
    /// The other time of the threads in launches, in seconds.
    pub idle_seconds: f64,
    /// The blocks and partial results that the rank has loaded from other ranks.
    pub loads: u64,
    /// Their bytes.
    pub loaded_bytes: u64,
    /// The partial results that the rank has merged into a result.
    pub merges: u64,
}

impl RankCounters {
    /// Returns the counters of each rank, in the order of ranks.
    pub fn of(report: &run::Report) -> Vec<Self> {
        let of = |(rank, weight): (&run::Tally, &f64)| RankCounters {
            workers: rank.workers,
            weight: *weight,
            instructions: rank.instructions,
            busy_seconds: rank.busy.as_secs_f64(),
            idle_seconds: rank.idle().as_secs_f64(),
            loads: rank.loads,
            loaded_bytes: rank.bytes,
            merges: rank.merges,
        };
        report.ranks.iter().zip(&report.weights).map(of).collect()
    }
}
