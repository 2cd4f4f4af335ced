//! `aurora ... --json` as a job: what it has said, and what was seen of it from outside.

use crate::machine::Ticks;
use crate::process;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::process::Command;
use std::time::Duration;

/// No job takes longer.
pub const LIMIT: Duration = Duration::from_secs(240);

/// What a job may take to end when it has said its figures: MPICH's sometimes do not.
const PARTING: Duration = Duration::from_secs(3);

/// What has come of a job.
#[derive(Clone, PartialEq, Debug)]
pub struct Heard {
    /// The object that it has printed.
    pub object: Map<String, Value>,
    /// The share of all cores' time that was worked while it ran.
    pub busy: Option<f64>,
    /// What was odd.
    pub remarks: Vec<String>,
}

/// Runs a command that ends with `aurora` and its words, and adds to these what makes it print figures for a program.
///
/// # Errors
/// Why there are no figures.
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
    // A job that finds wrong bytes fails; its figures tell so.
    let results = object.get("results").and_then(Value::as_array).into_iter().flatten();
    let verified = results.into_iter().all(|result| result["verified"] == true);
    if !(ended.success || ended.overdue || !verified) {
        return Err(failed("the job failed"));
    }
    let remarks = if ended.overdue { vec!["mpirun did not end by itself".into()] } else { Vec::new() };
    Ok(Heard { object, busy, remarks })
}

/// The figures of each implementation, and of each kind, of what a job has printed.
///
/// # Errors
/// That they have another form.
pub fn results<R: DeserializeOwned>(object: &Map<String, Value>) -> Result<Vec<R>, String> {
    serde_json::from_value(object.get("results").cloned().unwrap_or_default()).map_err(of_another_form)
}

fn of_another_form(error: serde_json::Error) -> String {
    format!("the job said figures of another form: {error}")
}

/// A job that is tried once more if it fails; the first failure is a remark then.
///
/// # Errors
/// Why both have failed.
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
