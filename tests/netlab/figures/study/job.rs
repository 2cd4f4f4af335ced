//! The study's jobs: all implementations of a program in turns on a lab, and computing alone.

use super::case::Case;
use super::grid::{Plan, mpi};
use super::record::{Record, Seen};
use crate::job::{ATTEMPTS, Binaries, CONGESTION_CONTROL, LIMIT, Network, PARTING, version};
use crate::tuning::Wishes;
use aurora_suite::machine::{self, Ticks};
use aurora_suite::mpi::Flavour;
use aurora_suite::netlab::Lab;
use aurora_suite::process::{self, Ended};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::process::Command;

/// All that jobs have in common.
#[derive(Debug)]
pub struct Jobs {
    pub binaries: Binaries,
    /// What makes MPI's ranks wait instead of poll.
    pub patient: PathBuf,
    pub reps: usize,
    pub damage: bool,
    pub wishes: Wishes,
    pub commit: String,
}

impl Jobs {
    /// The key of computing alone.
    pub fn alone_key(case: Case, kernel: &str) -> String {
        format!("alone/{}/{kernel}", case.name())
    }

    /// The sequential program, in the only process of this machine that does anything.
    ///
    /// # Errors
    /// Why there are no figures.
    pub fn alone(&self, case: Case, kernel: &str) -> Result<Record, String> {
        let mut arguments = case.arguments();
        if case.program() == "mm2" {
            arguments.push(format!("--kernel={kernel}"));
        }
        arguments.extend(["--ranks=1".into(), "--impl=aurora".into()]);
        let mut command = Command::new(self.binaries.of(Flavour::Open));
        let typed = self.complete(&mut command, &arguments);
        let labels = json!({ "kind": "computing alone", "nodes": "1", "kernel": kernel });
        let seen = Seen {
            key: Self::alone_key(case, kernel),
            commit: self.commit.clone(),
            reps: self.reps,
            busy: None,
            network: None,
            variables: String::new(),
            remarks: Vec::new(),
        };
        let ended = process::run(command, LIMIT).map_err(|error| error.to_string())?;
        record(&ended, circumstances(format!("aurora {typed}"), labels), seen)
    }

    /// A job on a lab of its own, tried again if it fails.
    ///
    /// # Errors
    /// Why there are no figures.
    pub fn on_lab(&self, plan: &Plan) -> Result<Record, String> {
        let mut failures = Vec::new();
        for _ in 0..ATTEMPTS {
            match self.attempt(plan) {
                Ok(mut record) => {
                    let told = failures.iter().map(|why| format!("a first attempt failed: {why}"));
                    record.study.remarks.extend(told);
                    return Ok(record);
                }
                Err(why) => failures.push(why),
            }
        }
        Err(failures.join("; again: "))
    }

    fn attempt(&self, plan: &Plan) -> Result<Record, String> {
        let lab = Lab::up_with(plan.network.shape, plan.nodes, &[CONGESTION_CONTROL]);
        let lab = lab.map_err(|refusal| refusal.to_string())?;
        let (command, typed) = self.command(plan, &lab);
        let before = Ticks::now();
        let ended = process::run_patiently(command, |last| match last {
            Some(line) if line.starts_with('{') => PARTING,
            _ => LIMIT,
        });
        let busy = before.zip(Ticks::now()).and_then(|(before, after)| after.busy_since(before));
        let ended = ended.map_err(|error| error.to_string())?;
        let counters = lab.counters().map_err(|refusal| refusal.to_string())?;
        let seen = Seen {
            key: plan.key(),
            commit: self.commit.clone(),
            reps: self.reps,
            busy,
            network: Some(Network::of(&counters)),
            variables: plan.tuning(&self.wishes).words(),
            remarks: if ended.overdue { vec!["mpirun did not end by itself".into()] } else { Vec::new() },
        };
        let labels = json!({
            "network": plan.network.words,
            "mpi": format!("{} {}", mpi(plan.flavour), version(plan.flavour)),
            "setting": plan.setting.name(),
            "nodes": plan.nodes.to_string(),
            "kind": "measured",
            "phases": "apart",
        });
        record(&ended, circumstances(typed, labels), seen)
    }

    /// The command, and how one would type it.
    fn command(&self, plan: &Plan, lab: &Lab) -> (Command, String) {
        let mut command = lab.mpirun(plan.flavour, 1);
        command.arg(self.binaries.of(plan.flavour));
        let mut arguments = plan.case.arguments();
        arguments.extend(["--apart".into(), format!("--impl={}", plan.case.implementations().join(","))]);
        let words = self.complete(&mut command, &arguments);
        let tuning = plan.tuning(&self.wishes);
        command.envs(tuning.variables.iter().map(|(name, value)| (name, value)));
        command.env("NETLAB_TIMEOUT", LIMIT.as_secs().to_string());
        let mut typed = format!("tests/netlab/netlab mpirun LAB {} {} aurora {words}", plan.flavour, plan.nodes);
        if !tuning.variables.is_empty() {
            typed = format!("{} {typed}", tuning.words());
        }
        if !plan.setting.polling {
            // For the ranks alone, not for what starts them.
            let patient = self.patient.display();
            let (variable, value) = match plan.flavour {
                Flavour::Open => ("OMPI_EXTRA", format!("-x LD_PRELOAD={patient}")),
                Flavour::Mpich => ("MPICH_EXTRA", format!("-genv LD_PRELOAD {patient}")),
            };
            typed = format!("{variable}='{value}' {typed}");
            command.env(variable, value);
        }
        (command, typed)
    }

    /// Adds what all jobs have; all arguments of the program in words.
    fn complete(&self, command: &mut Command, arguments: &[String]) -> String {
        for variable in aurora_core::VARIABLES {
            command.env_remove(variable);
        }
        let mut arguments = arguments.to_vec();
        arguments.push(format!("--reps={}", self.reps));
        if self.damage {
            arguments.push("--damage".into());
        }
        arguments.push("--json".into());
        command.args(&arguments);
        arguments.join(" ")
    }
}

/// What `aurora report` wants to know beside the figures.
fn circumstances(command: String, labels: Value) -> Map<String, Value> {
    let date = machine::said("date", &["-u", "+%FT%TZ"], "");
    let all = json!({ "command": command, "machine": machine::description(), "date": date, "labels": labels });
    all.as_object().cloned().unwrap_or_default()
}

fn record(ended: &Ended, extra: Map<String, Value>, seen: Seen) -> Result<Record, String> {
    let failed =
        |why: &str| format!("{why}; it said: {}", ended.errors.split_whitespace().collect::<Vec<_>>().join(" "));
    let line = ended.lines.iter().rfind(|line| line.starts_with('{'));
    let record = Record::new(line.ok_or_else(|| failed("the job said no figures"))?, extra, seen)?;
    // A job that finds a wrong result fails; its figures tell so.
    let verified = record.runs()?.iter().all(|run| run.verified);
    match ended.success || ended.overdue || !verified {
        true => Ok(record),
        false => Err(failed("the job failed")),
    }
}
