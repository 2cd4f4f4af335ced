//! The figures of a run of an application, in the form that a program writes and the report reads.

use super::checked::{in_order, ranks, reps, seconds};
use super::figures::Figures;
use super::{AURORA, Spread};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use thiserror::Error;

/// The figures of one implementation.
pub trait Measured {
    /// Returns the implementation's name on the command line.
    fn implementation(&self) -> &str;

    /// Returns whether its results were right.
    fn verified(&self) -> bool;

    /// Returns whether it is this library, in one of its forms.
    fn is_aurora(&self) -> bool {
        self.implementation().starts_with(AURORA)
    }
}

/// The error of a comparison without implementations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("nothing to run: no implementation was asked for")]
pub struct NothingToRun;

/// Implementations of the same thing that took turns in one job.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison<R> {
    /// Aurora's figures, or those of the first implementation.
    #[serde(skip)]
    pub main: R,
    /// The figures of all implementations, in the order in which they took turns.
    pub results: Vec<R>,
}

impl<R: Measured + Clone> Comparison<R> {
    /// Makes a comparison from all implementations' figures.
    ///
    /// # Errors
    /// There are no figures.
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

/// The kind of work of a phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Works on data that the rank has.
    Computing,
    /// Moves shared data between ranks.
    Sharing,
}

/// One phase of the repetitions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Phase {
    /// The name of the phase.
    pub name: String,
    /// Computing or sharing.
    pub kind: Kind,
    /// The slowest rank's seconds.
    #[serde(deserialize_with = "in_order")]
    pub seconds: Spread,
}

/// A run of an application.
///
/// The time of a repetition, of a phase or of the sharing in a repetition is the slowest rank's time. Messages and
/// bytes are those of one repetition (the median), sent by all ranks together, including barriers between phases.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// The application.
    pub app: String,
    /// The implementation of the application.
    #[serde(rename = "impl")]
    pub implementation: String,
    /// Kernel or kind of input.
    #[serde(default)]
    pub variant: String,
    /// The number of ranks of the job.
    #[serde(deserialize_with = "ranks")]
    pub ranks: usize,
    /// Rows of a matrix, or keys.
    pub size: usize,
    /// The policy of a super-program. The program writes it with the figures of its launches.
    #[serde(default, skip_serializing)]
    pub policy: Option<String>,
    /// Other parameters, and results of some applications, by name: from a file, all numbers that have no field below.
    #[serde(flatten, deserialize_with = "numbers")]
    pub measures: BTreeMap<String, usize>,
    /// The number of repetitions.
    #[serde(deserialize_with = "reps")]
    pub reps: usize,
    /// The seed that replays the run.
    #[serde(skip_deserializing)]
    pub seed: u64,
    /// Time of a repetition.
    #[serde(deserialize_with = "in_order")]
    pub seconds: Spread,
    /// The time of each repetition, in order, for further calculations.
    #[serde(skip)]
    pub repetitions: Vec<f64>,
    /// The part of it that is sharing: the time for which ranks have waited for data.
    #[serde(deserialize_with = "in_order")]
    pub sharing_seconds: Spread,
    /// The time for which other data was in transit while ranks computed: of the rank with the minimum.
    #[serde(default, deserialize_with = "in_order")]
    pub hidden_seconds: Spread,
    /// The sequential program's time on rank 0 (the median).
    #[serde(deserialize_with = "seconds")]
    pub sequential_seconds: f64,
    /// The sequential time divided by the parallel time, both medians.
    #[serde(skip_deserializing)]
    pub speedup: f64,
    /// Transfers sent in a repetition; none if MPI carries the data.
    pub messages: Option<u64>,
    /// Bytes sent in a repetition.
    pub bytes: Option<u64>,
    /// All figures of an operation, if this is no program.
    #[serde(skip)]
    pub operation: Option<Figures>,
    /// The phases of a repetition.
    pub phases: Vec<Phase>,
    /// The busy share of the cores of rank 0's machine in the phases of sharing, if computing was kept apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores_busy: Option<f64>,
    /// True if every repetition's result was right on every rank.
    pub verified: bool,
}

/// The numbers that are results of a run; all other numbers are its parameters. `speedup` is a whole number only if
/// another program has written the file again, and `2.0` as `2`.
const FOUND: [&str; 16] = [
    "seed",
    "length",
    "nodes",
    "improvements",
    "speedup",
    "workers",
    "instructions",
    "block_loads",
    "merges",
    "entries",
    "barrier_messages",
    "diff_requests",
    "diff_bytes",
    "one_request_a_page",
    "false_sharing",
    "accumulated_bytes",
];

impl Report {
    /// Returns whether this library shares the data, in one of its forms.
    pub fn is_aurora(&self) -> bool {
        Measured::is_aurora(self)
    }

    /// Adds a parameter or a result.
    pub fn measure(mut self, name: &str, value: usize) -> Self {
        self.measures.insert(name.into(), value);
        self
    }

    /// Returns a figure by its name in the JSON object, or `None` if this run does not have it.
    pub fn figure(&self, name: &str) -> Option<Spread> {
        match (name, &self.operation) {
            ("seconds", _) => Some(self.seconds),
            ("sharing_seconds", None) => Some(self.sharing_seconds),
            (_, operation) => operation.as_ref()?.figure(name),
        }
    }

    /// Returns the time of some phases together. Its minimum and its maximum may combine different repetitions.
    pub fn phases(&self, names: &[&str]) -> Spread {
        let phases = self.phases.iter().filter(|phase| names.contains(&phase.name.as_str()));
        phases.fold(Spread::default(), |sum, phase| sum.plus(phase.seconds))
    }

    /// Returns the time of sharing, including the part that is hidden behind computing.
    pub fn shared(&self) -> Spread {
        self.sharing_seconds.plus(self.hidden_seconds)
    }

    /// Returns the parameters other than the size, by name: `updates`, `cols`.
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
