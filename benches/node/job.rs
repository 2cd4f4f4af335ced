//! Jobs of `aurora` on this machine, started by Open MPI's mpirun.

use crate::row::Job;
use aurora_suite::{heard, machine, process};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    let mut command = process::alone(Command::new("mpirun.openmpi"));
    command.args(mpirun(ranks)).arg(aurora).args(arguments);
    let heard = heard::hear(command, damage)?;
    Ok(Said { results: heard.results()?, reps, busy: heard.busy })
}
