//! Farms: units of work that sleep on ranks of different speeds, with the simulation of the same work.

use super::checked::{count, in_order, ranks, reps, seconds, shares};
use super::counters::RankCounters;
use super::report::Measured;
use super::{AURORA, Spread};
use aurora_super::model::Makespans;
use serde::{Deserialize, Serialize};

/// A run of `aurora farm`, in the form that the program writes and the page reads. Times are in seconds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Farm {
    /// The name of the program: `farm`.
    pub app: String,
    /// The number of ranks.
    #[serde(deserialize_with = "ranks")]
    pub ranks: usize,
    /// The number of units.
    #[serde(deserialize_with = "count")]
    pub units: usize,
    /// The instructions of a unit.
    #[serde(deserialize_with = "count")]
    pub steps: usize,
    /// The mean time of a unit on the fastest rank.
    #[serde(deserialize_with = "seconds")]
    pub unit_seconds: f64,
    /// True if each instruction has its own length.
    pub drawn: bool,
    /// The speed of each rank, as a multiple of the fastest.
    pub speeds: Vec<f64>,
    /// True if the super-program knew the speeds from the start.
    pub known_speeds: bool,
    /// The maximum number of instructions of a rank that run or are granted ahead.
    #[serde(deserialize_with = "count")]
    pub in_flight: usize,
    /// The number of repetitions.
    #[serde(deserialize_with = "reps")]
    pub reps: usize,
    /// The seed of the first repetition.
    pub seed: u64,
    /// The time of all units on the fastest rank alone, the median: it is calculated, not measured.
    #[serde(deserialize_with = "seconds")]
    pub sequential_seconds: f64,
    /// The prediction of the model for equal units.
    pub model: Makespans,
    /// The figures of each policy, in the order in which they took turns.
    pub policies: Vec<ByPolicy>,
    /// True if each instruction has run exactly once in every repetition.
    pub verified: bool,
}

/// The repetitions by one policy.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ByPolicy {
    /// The policy.
    pub policy: String,
    /// The makespan: the time of the launch, of the slowest rank.
    #[serde(deserialize_with = "in_order")]
    pub seconds: Spread,
    /// The makespans of the simulations of the same repetitions.
    #[serde(deserialize_with = "in_order")]
    pub simulated_seconds: Spread,
    /// Makespan / simulated makespan of each repetition.
    #[serde(deserialize_with = "in_order")]
    pub ratio: Spread,
    /// The part of the possible computation of all ranks in which they did not compute.
    #[serde(deserialize_with = "shares")]
    pub imbalance: Spread,
    /// The imbalances of the simulations.
    #[serde(deserialize_with = "shares")]
    pub simulated_imbalance: Spread,
    /// `sequential_seconds` / the median makespan.
    pub speedup: f64,
    /// The counters of each rank in the last repetition.
    pub by_rank: Vec<RankCounters>,
}

impl Farm {
    /// Returns the flaw of figures that no run can have.
    pub fn flaw(&self) -> Option<&'static str> {
        let Farm { speeds, model, policies, .. } = self;
        let seconds = [model.first_come, model.earliest_completion, model.ideal, self.sequential_seconds];
        let is_positive = |value: &f64| (1e-30..=1e12).contains(value);
        let ranks = policies.iter().flat_map(|of| &of.by_rank);
        let checks = [
            (self.app == "farm", "its `app` is not `farm`"),
            (!policies.is_empty(), "it has no policies"),
            (speeds.len() == self.ranks, "it has not one speed for each rank"),
            (speeds.iter().all(|speed| (1e-12..=1.0).contains(speed)), "a speed is not a part of the fastest"),
            (seconds.iter().chain([&self.unit_seconds]).all(is_positive), "a time is not positive"),
            (policies.iter().all(|of| is_positive(&of.speedup)), "a speed-up is not positive"),
            (policies.iter().all(|of| is_positive(&of.simulated_seconds.min)), "a simulated time is not positive"),
            (policies.iter().all(|of| of.by_rank.len() == self.ranks), "it has not one row of counters for each rank"),
            (ranks.clone().all(|rank| (0.0..=1.0).contains(&rank.weight)), "a weight is no part of the largest"),
            (ranks.clone().all(|rank| rank.busy_seconds >= 0.0 && rank.idle_seconds >= 0.0), "a time is negative"),
        ];
        checks.into_iter().find(|(holds, _)| !holds).map(|(_, flaw)| flaw)
    }
}

impl Measured for Farm {
    fn implementation(&self) -> &str {
        AURORA
    }

    fn verified(&self) -> bool {
        self.verified
    }
}
