//! The model of unequal machines: a table of runs, recomputed, with predictions.

use super::decimals;
use aurora_super::model::{Agreement, Curve, Decimal, Makespans, Row};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, from_value};
use std::fmt::{self, Display, Formatter};

/// The output of `aurora model`, in the form that the command writes and the page reads. Efficiencies are in per cent,
/// times in seconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Model {
    /// The file of the table.
    pub file: String,
    /// The machines.
    pub machines: Vec<Machine>,
    /// The runs.
    pub runs: Vec<Run>,
    /// The contradictions in the table.
    pub findings: Vec<Found>,
    /// The predictions.
    pub predictions: Vec<Predicted>,
    /// The program as a farm, if it is one.
    pub farm: Option<Farmed>,
}

/// A machine of the model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// The name.
    pub name: String,
    /// The time on one processor.
    pub seconds: f64,
    /// The power weight by equation (2).
    pub power_weight: f64,
    /// The weight in the row `PW` of the table, if it has one.
    pub printed_power_weight: Option<Decimal>,
    /// The agreement of both weights.
    pub agreement: Option<Agreement>,
}

/// A run of the table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The place in the table.
    pub row: Row,
    /// The number of processors of each machine.
    pub processors: Vec<u32>,
    /// The elapsed time.
    pub seconds: Decimal,
    /// The printed time, if another time is used.
    pub printed_seconds: Option<Decimal>,
    /// The speed-up by equation (3).
    pub speedup: Number,
    /// The efficiency by equation (6).
    pub efficiency: Number,
    /// H, equation (7).
    pub heterogeneity: f64,
    /// H'.
    pub heterogeneity_per_processor: f64,
}

/// A number, and its printed value.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Number {
    /// The value by the equations.
    pub recomputed: f64,
    /// The value in the table.
    pub printed: Option<Decimal>,
    /// The agreement of both.
    pub agreement: Option<Agreement>,
}

/// A contradiction in the table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Found {
    /// The place, the error and the remedy.
    pub text: String,
    /// The parts of an `aurora_super::model::Finding`.
    #[serde(flatten)]
    pub finding: Value,
}

/// A prediction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Predicted {
    /// The configuration.
    pub configuration: String,
    /// The efficiency that is assumed.
    pub efficiency: f64,
    /// The predicted speed-up.
    pub speedup: f64,
    /// The predicted time.
    pub seconds: f64,
    /// The measured time of that configuration, if there is a run of it.
    pub measured: Option<f64>,
    /// The source of the efficiency.
    pub from: Origin,
    /// The reasons to doubt the prediction.
    #[serde(default)]
    pub warnings: Vec<String>,
}

impl Predicted {
    /// Returns by how many per cent the prediction is longer than the measured time.
    pub fn off(&self) -> Option<f64> {
        self.measured.map(|measured| 100.0 * (self.seconds / measured - 1.0))
    }
}

/// The source of a prediction's efficiency.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The run on this configuration, which the user has named.
    Measured(String),
    /// The run on this configuration, the nearest one.
    Nearest(String),
    /// A curve through the runs.
    Curve(Curve),
    /// The user.
    Given,
}

impl Display for Origin {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Measured(configuration) => write!(f, "{configuration}"),
            Origin::Nearest(configuration) => write!(f, "{configuration}, the nearest measured"),
            Origin::Given => write!(f, "given"),
            Origin::Curve(Curve { serial_fraction, deviation, runs }) => {
                write!(f, "curve 1 / (1 + {} (n - 1)) through ", decimals(*serial_fraction, 4, 3))?;
                match runs {
                    // The deviation from one run is 0 and says nothing.
                    1 => write!(f, "1 run"),
                    _ => write!(f, "{runs} runs, deviation {:.1} %", 100.0 * deviation),
                }
            }
        }
    }
}

/// The program as a farm of equal units.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Farmed {
    /// The number of units.
    pub units: u32,
    /// The time of a unit on a processor of the fastest machine.
    pub unit_seconds: f64,
    /// The fastest machine.
    pub fastest: String,
    /// The times on each configuration.
    pub configurations: Vec<OnFarm>,
}

/// The times of a farm on a configuration.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OnFarm {
    /// The configuration.
    pub configuration: String,
    /// The measured time, if there is a run of this configuration with the units of the farm.
    pub measured: Option<f64>,
    /// The calculated times.
    #[serde(flatten)]
    pub makespans: Makespans,
}

impl Model {
    /// Reads the model from an object of `aurora model --json`.
    ///
    /// # Errors
    /// The missing or wrong part, with its name.
    pub(crate) fn of(object: &Value) -> Result<Self, String> {
        for name in ["machines", "runs", "predictions", "farm"] {
            if let Some(flaw) = object.get(name).and_then(|value| flaw(name, name, value)) {
                return Err(flaw);
            }
        }
        let model = Model {
            file: part(object, "file")?,
            machines: parts(object, "machines")?,
            runs: parts(object, "runs")?,
            findings: parts(object, "findings")?,
            predictions: parts(object, "predictions")?,
            farm: part(object, "farm")?,
        };
        let machines = model.machines.len();
        if machines == 0 || model.runs.is_empty() {
            return Err("it has no `machines` or no `runs`".into());
        }
        if let Some(index) = model.machines.iter().position(|machine| machine.power_weight > 1.0) {
            return Err(format!("`machines[{index}].power_weight` is above 1, the weight of the fastest machine"));
        }
        let is_wrong = |run: &Run| run.processors.len() != machines || run.total() == 0;
        match model.runs.iter().position(is_wrong) {
            Some(index) => Err(format!("`runs[{index}].processors` are not the processors of {machines} machines")),
            None => Ok(model),
        }
    }

    /// Returns the configuration of a run: `SH=4,CSNT=2`.
    pub fn configuration(&self, run: &Run) -> String {
        let used = self.machines.iter().zip(&run.processors).filter(|(_, count)| **count > 0);
        used.map(|(machine, count)| format!("{}={count}", machine.name)).collect::<Vec<_>>().join(",")
    }
}

impl Run {
    /// Returns the number of processors of all machines together.
    pub fn total(&self) -> u64 {
        self.processors.iter().copied().map(u64::from).sum()
    }
}

fn part<T: DeserializeOwned>(object: &Value, name: &str) -> Result<T, String> {
    let value = object.get(name).cloned().unwrap_or_default();
    from_value(value).map_err(|error| format!("`{name}`: {error}"))
}

fn parts<T: DeserializeOwned>(object: &Value, name: &str) -> Result<Vec<T>, String> {
    let list = object.get(name).and_then(Value::as_array).ok_or_else(|| format!("it has no list `{name}`"))?;
    let read = |(index, value): (usize, &Value)| {
        from_value(value.clone()).map_err(|error| format!("`{name}[{index}]`: {error}"))
    };
    list.iter().enumerate().map(read).collect()
}

/// The numbers that may be 0.
const FROM_0: [&str; 5] =
    ["processors", "heterogeneity", "heterogeneity_per_processor", "serial_fraction", "deviation"];

/// The numbers that are written as texts.
const PRINTED: [&str; 4] = ["seconds", "printed_seconds", "printed", "printed_power_weight"];

/// Returns the first number in `value` that the model cannot have, with its place. `key` is the innermost name of the
/// place.
fn flaw(place: &str, key: &str, value: &Value) -> Option<String> {
    let number = match value {
        Value::Object(of) => return of.iter().find_map(|(key, value)| flaw(&format!("{place}.{key}"), key, value)),
        Value::Array(of) => {
            let mut parts = of.iter().enumerate();
            return parts.find_map(|(index, value)| flaw(&format!("{place}[{index}]"), key, value));
        }
        Value::Number(number) => number.as_f64()?,
        Value::String(text) if PRINTED.contains(&key) => text.parse().unwrap_or(f64::NAN),
        _ => return None,
    };
    let from_0 = FROM_0.contains(&key);
    let is_possible = number.is_finite() && (number > 0.0 || from_0 && number == 0.0);
    let kind = if from_0 { "a number from 0 on" } else { "a positive number" };
    (!is_possible).then(|| format!("`{place}` is {value}, and not {kind}"))
}
