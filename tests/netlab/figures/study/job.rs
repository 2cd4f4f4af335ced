//! The study's jobs: all implementations of a program in turns on a lab, and computing alone.

use super::case::Case;
use super::grid::Plan;
use super::record::{Record, Study};
use crate::mpis::Mpis;
use aurora_suite::figures::job::{Run, Stage, Tuning};
use aurora_suite::machine;
use aurora_suite::mpi::Flavour;
use serde_json::{Value, json};
use std::path::Path;

/// A job, and what is known of it beforehand.
#[derive(Clone, Debug)]
pub struct Job {
    /// By which it is known in the file.
    pub key: String,
    pub run: Run,
    /// For `aurora report`.
    labels: Value,
}

impl Job {
    /// The sequential program, in the only process of this machine that does anything.
    pub fn alone(case: Case, kernel: &str, reps: usize) -> Job {
        let option = (case.program.kernels.len() > 1).then(|| format!("--kernel={kernel}"));
        let words = case.arguments().into_iter().chain(option).chain(["--impl=aurora".into()]);
        Job {
            key: format!("alone/{}/{kernel}", case.name),
            run: Run::new(Stage::Alone { ranks: 1, mtu: None }, Flavour::Open, words, reps),
            labels: json!({ "kind": "computing alone", "nodes": "1", "kernel": kernel }),
        }
    }

    /// All implementations on a lab. `patient` makes MPI's ranks wait instead of poll.
    pub fn on_lab(plan: &Plan, mpis: &Mpis, patient: &Path, reps: usize) -> Job {
        let Plan { network, case, nodes, flavour, setting } = *plan;
        let impls = format!("--impl={}", case.program.implementations.join(","));
        let words = case.arguments().into_iter().chain(["--apart".into(), impls]);
        let tuning = if setting.tuned { mpis.best(flavour, case.program.name) } else { Tuning::DEFAULTS };
        let preload = (!setting.polling).then(|| patient.to_owned());
        let stage = Stage::Lab { nodes, shape: network.shape };
        Job {
            key: plan.key(),
            run: Run { tuning, preload, ..Run::new(stage, flavour, words, reps) },
            labels: json!({
                "network": network.words,
                "mpi": format!("{} {}", flavour.words(), flavour.version()),
                "setting": setting.name,
                "nodes": nodes.to_string(),
                "kind": "measured",
                "phases": "apart",
            }),
        }
    }

    /// How one would type it.
    fn typed(&self, damage: bool) -> String {
        let damage = if damage { " --damage" } else { "" };
        let aurora = format!("aurora {}{damage} --json", self.run.arguments().join(" "));
        let Stage::Lab { nodes, .. } = self.run.stage else { return aurora };
        let variable = |(name, value): (String, String)| match value.contains(' ') {
            true => format!("{name}='{value}' "),
            false => format!("{name}={value} "),
        };
        let variables: String = self.run.variables().into_iter().map(variable).collect();
        format!("{variables}tests/netlab/netlab mpirun LAB {} {nodes} {aurora}", self.run.flavour)
    }

    /// Runs it.
    ///
    /// # Errors
    /// Why there are no figures.
    pub fn record(&self, mpis: &Mpis, commit: &str, damage: bool) -> Result<Record, String> {
        let outcome = self.run.outcome(mpis.aurora(self.run.flavour), damage)?;
        let study = Study {
            key: self.key.clone(),
            commit: commit.into(),
            reps: self.run.reps,
            variables: self.run.tuning.words(),
            seen: outcome.seen,
        };
        // What `aurora report` wants to know beside the figures.
        let circumstances = json!({
            "command": self.typed(damage),
            "machine": machine::description(),
            "date": machine::said("date", &["-u", "+%FT%TZ"], ""),
            "labels": self.labels,
        });
        Record::new(outcome.object, circumstances, study)
    }
}
