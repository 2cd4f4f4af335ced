//! What a run of an application comes to: as a program writes it, and as it is read again.

use super::checked::{in_order, ranks, reps, seconds};
use super::{AURORA, Spread};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use thiserror::Error;

/// What one implementation of something took.
pub trait Measured {
    /// Its name on the command line.
    fn implementation(&self) -> &str;

    /// Whether its results were right.
    fn verified(&self) -> bool;

    /// Whether it is this library's, in one of its forms.
    fn is_aurora(&self) -> bool {
        self.implementation().starts_with(AURORA)
    }
}

/// Why there is no comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("nothing to run: no implementation was asked for")]
pub struct NothingToRun;

/// Implementations of the same thing that took turns in one job.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison<R> {
    /// Aurora's figures, or the first's.
    #[serde(skip)]
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
        let main = results.iter().find(|figures| figures.implementation() == AURORA).or(results.first()).cloned();
        Ok(Comparison { main: main.ok_or(NothingToRun)?, results })
    }
}

impl<R: Measured> Measured for Comparison<R> {
    fn implementation(&self) -> &str {
        self.main.implementation()
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
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Phase {
    /// What was done.
    pub name: String,
    /// Computing or sharing.
    pub kind: Kind,
    /// The slowest rank's seconds.
    #[serde(deserialize_with = "in_order")]
    pub seconds: Spread,
}

/// A run of an application.
///
/// The time of a repetition, of a phase or of the sharing in a repetition is the slowest rank's. Messages and bytes
/// are those of one repetition (the middle one), sent by all ranks together, barriers between phases included.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Which application.
    pub app: String,
    /// Which implementation of it.
    #[serde(rename = "impl")]
    pub implementation: String,
    /// Kernel or kind of input.
    #[serde(default)]
    pub variant: String,
    /// Ranks of the job.
    #[serde(deserialize_with = "ranks")]
    pub ranks: usize,
    /// Rows of a matrix, or keys.
    pub size: usize,
    /// What else was asked for, and what some applications found, by name: of a file, all numbers that are not below.
    #[serde(flatten, deserialize_with = "numbers")]
    pub measures: BTreeMap<String, usize>,
    /// Repetitions.
    #[serde(deserialize_with = "reps")]
    pub reps: usize,
    /// The seed that replays the run.
    #[serde(skip_deserializing)]
    pub seed: u64,
    /// Time of a repetition.
    #[serde(deserialize_with = "in_order")]
    pub seconds: Spread,
    /// That of each, in order: for who computes something else from them.
    #[serde(skip)]
    pub repetitions: Vec<f64>,
    /// Of that, sharing: what ranks have waited for data.
    #[serde(deserialize_with = "in_order")]
    pub sharing_seconds: Spread,
    /// How long data were on their way besides, while ranks computed: of the rank that hid least.
    #[serde(default, deserialize_with = "in_order")]
    pub hidden_seconds: Spread,
    /// The sequential program's time on rank 0 (the middle one).
    #[serde(deserialize_with = "seconds")]
    pub sequential_seconds: f64,
    /// Sequential over parallel, middle times.
    #[serde(skip_deserializing)]
    pub speedup: f64,
    /// Transfers sent in a repetition; none of ours where MPI carries them.
    pub messages: Option<u64>,
    /// Bytes sent in a repetition.
    pub bytes: Option<u64>,
    /// Packets of an operation that were sent again.
    #[serde(skip)]
    pub packets_resent: Option<Spread>,
    /// Each phase of a repetition.
    pub phases: Vec<Phase>,
    /// The share of the cores of rank 0's machine that was busy in the phases of sharing, where these were kept apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores_busy: Option<f64>,
    /// Whether every repetition's result was right on every rank.
    pub verified: bool,
}

/// Numbers that a run came to; all others were asked for. The last one is a whole number only where another program has
/// written the file again, and `2.0` as `2`.
const FOUND: [&str; 15] = [
    "seed",
    "length",
    "nodes",
    "improvements",
    "speedup",
    "workers",
    "instructions",
    "block_loads",
    "entries",
    "barrier_messages",
    "diff_requests",
    "diff_bytes",
    "one_request_a_page",
    "false_sharing",
    "accumulated_bytes",
];

impl Report {
    /// Whether it is this library that shares, in one of its forms.
    pub fn is_aurora(&self) -> bool {
        Measured::is_aurora(self)
    }

    /// The time of some phases together. Their least and their most need not be of the same repetition.
    pub fn phases(&self, names: &[&str]) -> Spread {
        let phases = self.phases.iter().filter(|phase| names.contains(&phase.name.as_str()));
        phases.fold(Spread::default(), |sum, phase| sum.plus(phase.seconds))
    }

    /// Sharing, what is hidden behind computing included.
    pub fn shared(&self) -> Spread {
        self.sharing_seconds.plus(self.hidden_seconds)
    }

    /// What was asked for beside its size, by name: `updates`, `cols`.
    pub fn asked(&self) -> BTreeMap<String, usize> {
        let asked = self.measures.iter().filter(|(name, _)| !FOUND.contains(&name.as_str()));
        asked.map(|(name, value)| (name.clone(), *value)).collect()
    }
}

impl Measured for Report {
    fn implementation(&self) -> &str {
        &self.implementation
    }

    fn verified(&self) -> bool {
        self.verified
    }
}

fn numbers<'de, D: Deserializer<'de>>(rest: D) -> Result<BTreeMap<String, usize>, D::Error> {
    let rest = BTreeMap::<String, Value>::deserialize(rest)?.into_iter();
    Ok(rest.filter_map(|(name, value)| Some((name, usize::try_from(value.as_u64()?).ok()?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_shows_aurora_and_hides_nobodys_mistake() {
        for (of, main, verified) in [
            (&[("mpi-isend", false), (AURORA, true)][..], AURORA, false),
            (&[("aurora-whole", true), (AURORA, true)], AURORA, true),
            (&[("mpi-isend", true)], "mpi-isend", true),
        ] {
            let report = |(name, verified): &(&str, bool)| Report {
                implementation: (*name).into(),
                verified: *verified,
                ..Report::default()
            };
            let comparison = Comparison::of(of.iter().map(report).collect()).unwrap();
            assert_eq!((comparison.main.implementation(), comparison.verified()), (main, verified));
        }
        assert!(Comparison::<Report>::of(Vec::new()).is_err());
    }
}
