//! `aurora ... --json` as a job: its output, and the measurements from outside.

use crate::machine::Ticks;
use crate::process;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::process::Command;
use std::time::Duration;

/// The time limit of a job.
pub const LIMIT: Duration = Duration::from_secs(240);

/// The time in which a job must end after it has printed its figures. Some of MPICH's jobs do not end.
const PARTING: Duration = Duration::from_secs(3);

/// The result of a job.
#[derive(Clone, PartialEq, Debug)]
pub struct Heard {
    /// The object that it has printed.
    pub object: Map<String, Value>,
    /// The used share of all cores' time during the job.
    pub busy: Option<f64>,
    /// Remarks about unusual events.
    pub remarks: Vec<String>,
}

/// Runs a command that ends with `aurora` and its arguments, and adds the argument `--json`.
///
/// # Errors
/// The reason why there are no figures.
pub fn hear(mut command: Command, damage: bool) -> Result<Heard, String> {
    command.arg("--json").args(damage.then_some("--damage"));
    let before = Ticks::now();
    let ended = process::run_patiently(command, |last| match last {
        Some(line) if line.starts_with('{') => PARTING,
        _ => LIMIT,
    });
    let busy = before.zip(Ticks::now()).and_then(|(before, after)| after.busy_since(before));
    let ended = ended.map_err(|error| error.to_string())?;
    let failed =
        |why: &str| format!("{why}; it said: {}", ended.errors.split_whitespace().collect::<Vec<_>>().join(" "));
    let line = ended.lines.iter().rfind(|line| line.starts_with('{'));
    let line = line.ok_or_else(|| failed("the job said no figures"))?;
    let object: Map<String, Value> = serde_json::from_str(line).map_err(|error| failed(&of_another_form(error)))?;
    // A job that finds wrong bytes fails, and its figures contain that.
    let results = object.get("results").and_then(Value::as_array).into_iter().flatten();
    let verified = results.into_iter().all(|result| result["verified"] == true);
    if !(ended.success || ended.overdue || !verified) {
        return Err(failed("the job failed"));
    }
    let remarks = if ended.overdue { vec!["mpirun did not end by itself".into()] } else { Vec::new() };
    Ok(Heard { object, busy, remarks })
}

/// The figures of each implementation, and of each kind, in a job's output.
///
/// # Errors
/// If the figures have another form.
pub fn results<R: DeserializeOwned>(object: &Map<String, Value>) -> Result<Vec<R>, String> {
    serde_json::from_value(object.get("results").cloned().unwrap_or_default()).map_err(of_another_form)
}

fn of_another_form(error: serde_json::Error) -> String {
    format!("the job said figures of another form: {error}")
}

/// Runs a job a second time if it fails. The first error is then a remark.
///
/// # Errors
/// Both errors.
pub fn attempts<T>(
    mut attempt: impl FnMut() -> Result<T, String>,
    remarks: impl Fn(&mut T) -> &mut Vec<String>,
) -> Result<T, String> {
    let first = match attempt() {
        Ok(done) => return Ok(done),
        Err(why) => why,
    };
    let mut done = attempt().map_err(|again| format!("{first}; again: {again}"))?;
    remarks(&mut done).push(format!("a first attempt failed: {first}"));
    Ok(done)
}
