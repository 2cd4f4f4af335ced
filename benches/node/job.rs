//! Jobs of `aurora` on this machine, started by Open MPI's mpirun.

use crate::row::Job;
use aurora_suite::machine::{self, Ticks};
use aurora_suite::process::{self, Ended};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// No job takes longer.
const LIMIT: Duration = Duration::from_secs(240);

/// What mpirun is told, for so many ranks: to keep nobody on a core; and where there are more ranks than cores, that
/// this is meant, which makes Open MPI's yield while they wait.
pub fn mpirun(ranks: usize) -> Vec<String> {
    let more = if ranks > machine::allowed_cores() { " --oversubscribe" } else { "" };
    format!("-n {ranks} --bind-to none{more}").split(' ').map(String::from).collect()
}

/// What a job said, and what was seen of it from outside.
#[derive(Clone, Debug)]
pub struct Said {
    /// Those of each implementation, and of each kind.
    pub results: Vec<Value>,
    /// So often everything was to be repeated.
    pub reps: usize,
    /// The share of all cores' time that was worked while it ran.
    pub busy: Option<f64>,
}

/// A job that has not been run has no figures: why.
pub type Ran = Result<Said, Vec<String>>;

/// All jobs of a table.
pub struct Jobs {
    pub aurora: PathBuf,
    pub reps: usize,
    pub damage: bool,
    pub done: Vec<(Job, Ran)>,
}

impl Jobs {
    /// A job, which is run when it is first asked for.
    pub fn of(&mut self, job: Job) -> Ran {
        if let Some((_, ran)) = self.done.iter().find(|(done, _)| *done == job) {
            return ran.clone();
        }
        let ran = self.run(job).map_err(|why| vec![why]);
        self.done.push((job, ran.clone()));
        ran
    }

    /// What follows `aurora`.
    pub fn arguments(&self, job: Job) -> Vec<String> {
        let reps = self.reps.div_ceil(job.fewer);
        job.words.split(' ').map(String::from).chain([format!("--reps={reps}")]).collect()
    }

    fn run(&self, job: Job) -> Result<Said, String> {
        run(&self.aurora, job.ranks, &self.arguments(job), self.reps.div_ceil(job.fewer), self.damage)
    }
}

/// Runs `aurora` with these arguments, which make it repeat everything `reps` times.
pub fn run(aurora: &Path, ranks: usize, arguments: &[String], reps: usize, damage: bool) -> Result<Said, String> {
    let mut command = Command::new("mpirun.openmpi");
    command.args(mpirun(ranks)).arg(aurora).args(arguments).arg("--json").args(damage.then_some("--damage"));
    command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    for variable in aurora_core::VARIABLES {
        command.env_remove(variable);
    }
    let before = Ticks::now();
    let ended = process::run(command, LIMIT).map_err(|error| error.to_string())?;
    let busy = before.zip(Ticks::now()).and_then(|(before, after)| after.busy_since(before));
    Ok(Said { results: results(&ended)?, reps, busy })
}

fn results(ended: &Ended) -> Result<Vec<Value>, String> {
    let said = || ended.errors.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = ended.lines.iter().rfind(|line| line.starts_with('{'));
    let line = line.ok_or_else(|| format!("the job said no figures; it said: {}", said()))?;
    let report: Value = serde_json::from_str(line).map_err(|error| format!("figures of another form: {error}"))?;
    report["results"].as_array().cloned().ok_or_else(|| "a report without results".into())
}
