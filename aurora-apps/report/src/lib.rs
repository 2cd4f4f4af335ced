#![doc = include_str!("../README.md")]

pub mod chart;
mod checked;
pub mod circumstances;
pub mod collect;
pub mod figures;
#[cfg(test)]
mod fixture;
pub mod label;
pub mod machine;
pub mod network;
pub mod out;
pub mod page;
pub mod profile;
pub mod read;
pub mod recorded;
pub mod series;
pub mod simulation;
pub mod versus;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use thiserror::Error;

/// Aurora's own implementation of anything, by its name on the command line.
pub const AURORA: &str = "aurora";

/// Least, middle and most of the repetitions.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Spread {
    /// The fastest repetition.
    pub min: f64,
    /// The middle one (of an even number, the mean of the middle two).
    pub median: f64,
    /// The slowest repetition.
    pub max: f64,
}

impl Spread {
    /// Of a repetition's figures; zeros for none.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
            return Spread::default();
        };
        let median = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
        Spread { min, median, max }
    }

    /// Of several runs' spreads: the least, the middle one of their middles, the most; zeros for none.
    pub fn together(runs: impl IntoIterator<Item = Spread>) -> Self {
        let runs: Vec<Spread> = runs.into_iter().collect();
        let middle = Spread::of(runs.iter().map(|run| run.median)).median;
        let min = runs.iter().map(|run| run.min).reduce(f64::min).unwrap_or_default();
        let max = runs.iter().map(|run| run.max).reduce(f64::max).unwrap_or_default();
        Spread { min, median: middle, max }
    }

    /// One figure that does not vary.
    pub fn exactly(value: f64) -> Self {
        Spread { min: value, median: value, max: value }
    }

    /// Whether the least is the least and the most the most, and all three are numbers.
    pub fn is_in_order(self) -> bool {
        self.min <= self.median && self.median <= self.max && self.max.is_finite()
    }

    /// Both one after the other.
    pub fn plus(self, other: Spread) -> Self {
        Spread { min: self.min + other.min, median: self.median + other.median, max: self.max + other.max }
    }

    /// In another unit, of which more is more.
    pub fn map(self, of: impl Fn(f64) -> f64) -> Self {
        Spread { min: of(self.min), median: of(self.median), max: of(self.max) }
    }
}

impl Display for Spread {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "min {}, median {}, max {}", self.min, self.median, self.max)
    }
}

/// What one implementation of something took.
pub trait Measured {
    /// Whether it is this library's.
    fn is_aurora(&self) -> bool;

    /// Whether its results were right.
    fn verified(&self) -> bool;
}

/// Why there is no comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("nothing to run: no implementation was asked for")]
pub struct NothingToRun;

/// Implementations of the same thing that took turns in one job.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison<R> {
    /// Aurora's figures, or the first's: at the top level of the JSON object.
    #[serde(flatten)]
    pub main: R,
    /// All of them, in the order in which they took turns.
    pub results: Vec<R>,
}

impl<R: Measured + Clone> Comparison<R> {
    /// Of all implementations' figures.
    ///
    /// # Errors
    /// There are none.
    pub fn of(results: Vec<R>) -> Result<Self, NothingToRun> {
        let main = results.iter().find(|figures| figures.is_aurora()).or(results.first()).cloned();
        Ok(Comparison { main: main.ok_or(NothingToRun)?, results })
    }
}

impl<R: Measured> Measured for Comparison<R> {
    fn is_aurora(&self) -> bool {
        self.main.is_aurora()
    }

    fn verified(&self) -> bool {
        self.results.iter().all(R::verified)
    }
}

/// What a phase does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Works on what the rank has.
    Computing,
    /// Moves shared data between ranks.
    Sharing,
}

/// One phase of the repetitions.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// What was done.
    pub name: &'static str,
    /// Computing or sharing.
    pub kind: Kind,
    /// The slowest rank's seconds.
    pub seconds: Spread,
}

/// A run of an application.
///
/// The time of a repetition, of a phase or of the sharing in a repetition is the slowest rank's. Messages and bytes
/// are those of one repetition (the middle one), sent by all ranks together, barriers between phases included.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Which application.
    pub app: &'static str,
    /// Which implementation of it.
    #[serde(rename = "impl")]
    pub implementation: &'static str,
    /// Kernel or kind of input.
    pub variant: &'static str,
    /// Ranks of the job.
    pub ranks: usize,
    /// Rows of a matrix, or keys.
    pub size: usize,
    /// What else was asked for, by name.
    #[serde(flatten)]
    pub measures: BTreeMap<&'static str, usize>,
    /// Repetitions.
    pub reps: usize,
    /// The seed that replays the run.
    pub seed: u64,
    /// Time of a repetition.
    pub seconds: Spread,
    /// That of each, in order: for who computes something else from them.
    #[serde(skip)]
    pub repetitions: Vec<f64>,
    /// Of that, sharing: what ranks have waited for data.
    pub sharing_seconds: Spread,
    /// How long data were on their way besides, while ranks computed: of the rank that hid least.
    pub hidden_seconds: Spread,
    /// The sequential program's time on rank 0 (the middle one).
    pub sequential_seconds: f64,
    /// Sequential over parallel, middle times.
    pub speedup: f64,
    /// Transfers sent in a repetition; none of ours where MPI carries them.
    pub messages: Option<u64>,
    /// Bytes sent in a repetition.
    pub bytes: Option<u64>,
    /// Each phase of a repetition.
    pub phases: Vec<Phase>,
    /// The share of the cores of rank 0's machine that was busy in the phases of sharing, where these were kept apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores_busy: Option<f64>,
    /// Whether every repetition's result was right on every rank.
    pub verified: bool,
}

impl Measured for Report {
    fn is_aurora(&self) -> bool {
        self.implementation == AURORA
    }

    fn verified(&self) -> bool {
        self.verified
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Told(bool, bool);

    impl Measured for Told {
        fn is_aurora(&self) -> bool {
            self.0
        }

        fn verified(&self) -> bool {
            self.1
        }
    }

    #[test]
    fn a_comparison_shows_aurora_and_hides_nobodys_mistake() {
        let comparison = Comparison::of(vec![Told(false, false), Told(true, true)]).unwrap();
        assert_eq!(comparison.main, Told(true, true));
        assert!(!comparison.verified());
        assert_eq!(Comparison::of(vec![Told(false, true)]).unwrap().main, Told(false, true));
        assert!(Comparison::<Told>::of(Vec::new()).is_err());
    }

    #[test]
    fn spreads() {
        let spread = |min, median, max| Spread { min, median, max };
        assert_eq!(Spread::of([]), spread(0.0, 0.0, 0.0));
        assert_eq!(Spread::of([3.0]), spread(3.0, 3.0, 3.0));
        assert_eq!(Spread::of([4.0, 1.0]), spread(1.0, 2.5, 4.0));
        assert_eq!(Spread::of([4.0, 1.0, 2.0]), spread(1.0, 2.0, 4.0));
        let together = Spread::together([spread(1.0, 2.0, 3.0), spread(2.0, 4.0, 9.0), spread(0.5, 3.0, 3.0)]);
        assert_eq!(together, spread(0.5, 3.0, 9.0));
        assert_eq!(Spread::together([]), spread(0.0, 0.0, 0.0));
    }
}
