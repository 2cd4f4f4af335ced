//! The study's jobs: all implementations of a program in turns on a lab, and computing alone.

use super::case::Case;
use super::grid::{Plan, mpi};
use super::record::{Record, Seen};
use crate::job::{Binaries, CONGESTION_CONTROL, Network, version};
use crate::tuning::Wishes;
use aurora_suite::heard::{self, LIMIT};
use aurora_suite::machine;
use aurora_suite::mpi::Flavour;
use aurora_suite::netlab::Lab;
use aurora_suite::process;
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
        let mut command = process::alone(Command::new(self.binaries.of(Flavour::Open)));
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
        let heard = heard::hear(command, self.damage)?;
        Record::new(heard.object, circumstances(format!("aurora {typed}"), labels), seen)
    }

    /// A job on a lab of its own, tried again if it fails.
    ///
    /// # Errors
    /// Why there are no figures.
    pub fn on_lab(&self, plan: &Plan) -> Result<Record, String> {
        heard::attempts(|| self.attempt(plan), |record| &mut record.study.remarks)
    }

    fn attempt(&self, plan: &Plan) -> Result<Record, String> {
        let lab = Lab::up_with(plan.network.shape, plan.nodes, &[CONGESTION_CONTROL]);
        let lab = lab.map_err(|refusal| refusal.to_string())?;
        let (command, typed) = self.command(plan, &lab);
        let heard = heard::hear(command, self.damage)?;
        let counters = lab.counters().map_err(|refusal| refusal.to_string())?;
        let seen = Seen {
            key: plan.key(),
            commit: self.commit.clone(),
            reps: self.reps,
            busy: heard.busy,
            network: Some(Network::of(&counters)),
            variables: plan.tuning(&self.wishes).words(),
            remarks: heard.remarks,
        };
        let labels = json!({
            "network": plan.network.words,
            "mpi": format!("{} {}", mpi(plan.flavour), version(plan.flavour)),
            "setting": plan.setting.name(),
            "nodes": plan.nodes.to_string(),
            "kind": "measured",
            "phases": "apart",
        });
        Record::new(heard.object, circumstances(typed, labels), seen)
    }

    /// The command, and how one would type it.
    fn command(&self, plan: &Plan, lab: &Lab) -> (Command, String) {
        let mut command = process::alone(lab.mpirun(plan.flavour, 1));
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
        let reps = format!("--reps={}", self.reps);
        command.args(arguments).arg(&reps);
        let damage = if self.damage { " --damage" } else { "" };
        format!("{} {reps}{damage} --json", arguments.join(" "))
    }
}

/// What `aurora report` wants to know beside the figures.
fn circumstances(command: String, labels: Value) -> Map<String, Value> {
    let date = machine::said("date", &["-u", "+%FT%TZ"], "");
    let all = json!({ "command": command, "machine": machine::description(), "date": date, "labels": labels });
    all.as_object().cloned().unwrap_or_default()
}
