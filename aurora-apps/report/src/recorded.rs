//! What a file says of runs: as [`Report`](super::Report) and the figures of `aurora bench`, with names that are
//! not known beforehand, and checked.

use super::checked::{in_order, in_order_or_none, ranks, reps, seconds};
use super::circumstances::Circumstances;
use super::figures::Figures;
use super::simulation::Simulation;
use super::{AURORA, Spread};
use crate::Kind;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// One JSON object: implementations that took turns in one job.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The file as the user named it.
    pub file: String,
    /// The line on which the object begins, from 1 on.
    pub line: usize,
    /// The object as it was read: two that are the same are one run.
    pub object: Value,
    /// How it came about.
    pub circumstances: Circumstances,
    /// The figures.
    pub what: What,
}

/// Of what.
#[derive(Clone, Debug)]
pub enum What {
    /// Of an application.
    Program(Vec<Program>),
    /// Of one operation.
    Bench(Vec<Figures>),
    /// Of a super-program in virtual time.
    Simulation(Box<Simulation>),
}

/// One implementation of an application.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
pub struct Program {
    /// Which application.
    pub app: String,
    /// Which implementation.
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
    /// Repetitions.
    #[serde(deserialize_with = "reps")]
    pub reps: usize,
    /// Time of a repetition.
    #[serde(deserialize_with = "in_order")]
    pub seconds: Spread,
    /// Of that, sharing.
    #[serde(deserialize_with = "in_order")]
    pub sharing_seconds: Spread,
    /// What was shared while ranks computed. None in files from before that was told.
    #[serde(default, deserialize_with = "in_order_or_none")]
    pub hidden_seconds: Option<Spread>,
    /// The sequential program's time in the same job.
    #[serde(deserialize_with = "seconds")]
    pub sequential_seconds: f64,
    /// Transfers sent in a repetition.
    pub messages: Option<u64>,
    /// Bytes sent in a repetition.
    pub bytes: Option<u64>,
    /// The phases of a repetition.
    pub phases: Vec<RecordedPhase>,
    /// The share of the cores that was busy in the phases of sharing, where these were kept apart.
    pub cores_busy: Option<f64>,
    /// Whether every result was right.
    pub verified: bool,
    /// What else stands there: some of it was asked for.
    #[serde(flatten)]
    pub rest: BTreeMap<String, Value>,
}

/// One phase of the repetitions.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct RecordedPhase {
    /// What was done.
    pub name: String,
    /// Computing or sharing.
    pub kind: Kind,
    /// The slowest rank's seconds.
    #[serde(deserialize_with = "in_order")]
    pub seconds: Spread,
}

/// Numbers that a run came to; all others were asked for. The last one is a whole number only where another program has
/// written the file again, and `2.0` as `2`.
const FOUND: [&str; 5] = ["seed", "length", "nodes", "improvements", "speedup"];

impl Program {
    /// Whether it is this library that shares, in one of its forms.
    pub fn is_aurora(&self) -> bool {
        self.implementation.starts_with(AURORA)
    }

    /// The time of some phases together. Their least and their most need not be of the same repetition.
    pub fn phases(&self, names: &[&str]) -> Spread {
        let phases = self.phases.iter().filter(|phase| names.contains(&phase.name.as_str()));
        phases.fold(Spread::default(), |sum, phase| sum.plus(phase.seconds))
    }

    /// What was asked for beside its size, by name: `updates`, `cols`.
    pub fn asked(&self) -> BTreeMap<String, u64> {
        let numbers = self.rest.iter().filter_map(|(name, value)| Some((name.clone(), value.as_u64()?)));
        numbers.filter(|(name, _)| !FOUND.contains(&name.as_str())).collect()
    }
}

/// From the object that stands at `line`.
///
/// # Errors
/// What is missing or cannot be; none for an object of some other kind.
pub fn recorded(file: &str, line: usize, value: Value) -> Result<Option<Recorded>, String> {
    let results = |value: &Value| match value.get("results") {
        Some(results) => results.clone(),
        // An object of one implementation alone is a run too.
        None => Value::Array(vec![value.clone()]),
    };
    let told = |error: serde_json::Error| error.to_string();
    if value.get("results").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        return Err("it has no results".into());
    }
    let what = if value.get("app").is_some() {
        What::Program(serde_json::from_value(results(&value)).map_err(told)?)
    } else if value.get("bench").is_some() {
        What::Bench(serde_json::from_value(results(&value)).map_err(told)?)
    } else if value.get("policy").is_some() {
        What::Simulation(Box::new(Simulation::deserialize(&value).map_err(told)?))
    } else {
        return Ok(None);
    };
    let circumstances = Circumstances::deserialize(&value).map_err(told)?;
    Ok(Some(Recorded { file: file.into(), line, object: value, circumstances, what }))
}
