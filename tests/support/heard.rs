//! `aurora ... --json` as a job: its output, and the measurements from outside.

use crate::machine::Ticks;
use crate::process;
use aurora_apps::report::Report;
use aurora_apps::report::recorded::recorded;
use serde_json::{Map, Value};
use std::fmt::Display;
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
    /// The figures of each implementation, and of each kind, in it.
    pub results: Vec<Report>,
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
    let results = results(&object).map_err(|why| failed(&why))?;
    // A job that finds wrong bytes fails, and its figures contain that.
    let verified = results.iter().all(|result| result.verified);
    if !(ended.success || ended.overdue || !verified) {
        return Err(failed("the job failed"));
    }
    let remarks = if ended.overdue { vec!["mpirun did not end by itself".into()] } else { Vec::new() };
    Ok(Heard { object, results, busy, remarks })
}

/// The figures of each implementation, and of each kind, in a job's output.
///
/// # Errors
/// If the figures have another form.
pub fn results(object: &Map<String, Value>) -> Result<Vec<Report>, String> {
    let run = recorded("", 1, object.clone().into()).map_err(of_another_form)?;
    run.map(|run| run.results().to_vec()).ok_or_else(|| of_another_form("neither a program nor an operation"))
}

fn of_another_form(error: impl Display) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use aurora_apps::report::figures::Figures;
    use serde_json::{from_value, json};

    #[test]
    fn a_job_whose_figures_cannot_be_read_has_none() {
        let figures = Figures { implementation: "aurora".into(), ranks: 2, reps: 10, ..Figures::default() };
        let read = |name: &str, value: Value| {
            let mut figures = json!(figures);
            figures[name] = value;
            results(&from_value(json!({ "results": [figures] })).expect("an object"))
        };
        assert_eq!(read("reps", json!(10)), Ok(vec![figures.clone().into()]));
        for (name, value, expected) in [
            ("seconds", json!(null), "null"),
            ("seconds", json!({ "min": 1.0, "median": 1.0, "max": 0.0 }), "not in order"),
            ("reps", json!(0), "repeated 0 times"),
        ] {
            let error = read(name, value).expect_err(expected);
            assert!(error.starts_with("the job said figures of another form: "), "{error}");
            assert!(error.contains(expected), "{error}");
        }
        assert!(results(&Map::new()).is_err_and(|error| error.ends_with("neither a program nor an operation")));
    }
}
