//! What a file says of runs: as [`Report`](super::Report) and the figures of `aurora bench`, with names that are
//! not known beforehand, and checked.

use super::Spread;
use super::circumstances::Circumstances;
use super::simulation::Simulation;
use crate::Kind;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

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
    Bench(Vec<Bench>),
    /// Of a super-program in virtual time.
    Simulation(Box<Simulation>),
}

/// One implementation of an application.
#[derive(Clone, Debug, Deserialize)]
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
    #[serde(deserialize_with = "positive")]
    pub ranks: usize,
    /// Rows of a matrix, or keys.
    pub size: usize,
    /// Repetitions.
    #[serde(deserialize_with = "countable")]
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
    #[serde(deserialize_with = "finite")]
    pub sequential_seconds: f64,
    /// Transfers sent in a repetition.
    pub messages: Option<u64>,
    /// Bytes sent in a repetition.
    pub bytes: Option<u64>,
    /// The phases of a repetition.
    pub phases: Vec<RecordedPhase>,
    /// Whether every result was right.
    pub verified: bool,
    /// What else stands there: some of it was asked for.
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// One phase of the repetitions.
#[derive(Clone, Debug, Deserialize)]
pub struct RecordedPhase {
    /// What was done.
    pub name: String,
    /// Computing or sharing.
    pub kind: Kind,
    /// The slowest rank's seconds.
    #[serde(deserialize_with = "in_order")]
    pub seconds: Spread,
}

/// One implementation of an operation.
#[derive(Clone, Debug, Deserialize)]
pub struct Bench {
    /// Which operation.
    pub bench: String,
    /// Which implementation.
    #[serde(rename = "impl")]
    pub implementation: String,
    /// What was special about it.
    #[serde(default)]
    pub variant: String,
    /// Of what kind of memory.
    pub memory: Option<String>,
    /// Of what kind of access.
    pub access: Option<String>,
    /// Ranks of the job.
    #[serde(deserialize_with = "positive")]
    pub ranks: usize,
    /// What is moved.
    pub bytes: usize,
    /// Repetitions.
    #[serde(deserialize_with = "countable")]
    pub reps: usize,
    /// Whether everything that arrived was right.
    pub verified: bool,
    /// The slowest rank's time.
    #[serde(deserialize_with = "in_order")]
    pub seconds: Spread,
    /// Packets that carried bytes again.
    #[serde(default, deserialize_with = "in_order_or_none")]
    pub packets_resent: Option<Spread>,
}

/// Numbers that a run came to; all others were asked for. The last two are whole numbers only where another program has
/// written the file again, and `2.0` as `2`.
const FOUND: [&str; 6] = ["seed", "length", "nodes", "improvements", "speedup", "cores_busy"];

impl Program {
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

/// No job has more ranks.
const MOST_RANKS: usize = 16_384;

/// Nobody waits for more repetitions.
const MOST_REPS: usize = 1 << 32;

/// Seconds and counts that can be. With greater and smaller ones quotients are no numbers any more.
const SENSIBLE: RangeInclusive<f64> = 1e-30..=1e12;

fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match usize::deserialize(deserializer)? {
        ranks @ 1..=MOST_RANKS => Ok(ranks),
        ranks => Err(serde::de::Error::custom(format!("there is no job of {ranks} ranks"))),
    }
}

/// Repetitions of many runs are added up.
fn countable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match usize::deserialize(deserializer)? {
        reps @ 1..=MOST_REPS => Ok(reps),
        reps => Err(serde::de::Error::custom(format!("nothing is repeated {reps} times"))),
    }
}

fn is_sensible(value: f64) -> bool {
    value == 0.0 || SENSIBLE.contains(&value)
}

fn finite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    if is_sensible(value) { Ok(value) } else { Err(serde::de::Error::custom(format!("{value:e} s is no time"))) }
}

fn in_order<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Spread, D::Error> {
    checked(Spread::deserialize(deserializer)?)
}

fn in_order_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Spread>, D::Error> {
    Option::<Spread>::deserialize(deserializer)?.map(checked).transpose()
}

fn checked<E: serde::de::Error>(of: Spread) -> Result<Spread, E> {
    let Spread { min, median, max } = of;
    if ![min, median, max].into_iter().all(is_sensible) {
        return Err(E::custom(format!("min {min:e}, median {median:e}, max {max:e} cannot be")));
    }
    if min <= median && median <= max {
        return Ok(of);
    }
    Err(E::custom(format!("min {min}, median {median}, max {max} are not in order")))
}
