//! Jobs of `aurora bench`, each on a lab of its own.

use crate::row::{Row, Stage};
use crate::tuning::{Tuning, Wishes};
pub use aurora_apps::report::Spread;
use aurora_suite::machine::{self, Ticks};
use aurora_suite::mpi::Flavour;
use aurora_suite::netlab::Lab;
use aurora_suite::process::{self, Ended};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// No job takes longer.
pub const LIMIT: Duration = Duration::from_secs(240);

/// What a job may take to end when it has said its figures: MPICH's sometimes do not.
pub const PARTING: Duration = Duration::from_secs(3);

/// So often is a job tried.
pub const ATTEMPTS: usize = 2;

/// What most systems use; ours may have another default.
pub const CONGESTION_CONTROL: &str = "cc=cubic";

/// The `aurora` of each MPI.
#[derive(Args, Clone, Debug)]
pub struct Binaries {
    /// The `aurora` built for Open MPI
    #[arg(long, value_name = "FILE")]
    openmpi: PathBuf,
    /// The `aurora` built for MPICH
    #[arg(long, value_name = "FILE")]
    mpich: PathBuf,
}

impl Binaries {
    pub fn of(&self, flavour: Flavour) -> &Path {
        match flavour {
            Flavour::Open => &self.openmpi,
            Flavour::Mpich => &self.mpich,
        }
    }
}

/// The version of an MPI.
pub fn version(flavour: Flavour) -> String {
    let (program, word) = match flavour {
        Flavour::Open => ("mpirun.openmpi", "mpirun"),
        Flavour::Mpich => ("mpirun.mpich", "Version:"),
    };
    let said = machine::said(program, &["--version"], word);
    said.split_whitespace().last().unwrap_or("unknown").to_string()
}

/// What starts a job's ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Starter {
    Mpi(Flavour),
    Itself,
}

impl Starter {
    /// For which MPI the `aurora` is built that it starts.
    fn flavour(self) -> Flavour {
        match self {
            Starter::Mpi(flavour) => flavour,
            Starter::Itself => Flavour::Open,
        }
    }
}

impl fmt::Display for Starter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Starter::Mpi(Flavour::Open) => "Open MPI",
            Starter::Mpi(Flavour::Mpich) => "MPICH",
            Starter::Itself => "no MPI",
        })
    }
}

/// What one implementation took, as `aurora bench --json` says it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Figures {
    #[serde(rename = "impl")]
    pub implementation: String,
    pub ranks: usize,
    pub reps: usize,
    pub verified: bool,
    pub seconds: Spread,
    pub cpu_seconds: Spread,
    pub messages_sent: Option<Spread>,
    pub bytes_sent: Option<Spread>,
    pub packets_sent: Option<Spread>,
    pub packets_resent: Option<Spread>,
}

impl Figures {
    pub fn is_aurora(&self) -> bool {
        self.implementation == "aurora"
    }
}

#[derive(Deserialize)]
struct Said {
    results: Vec<Figures>,
}

/// What a job said, and what was seen of it from outside.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub starter: Starter,
    pub tuning: Tuning,
    pub results: Vec<Figures>,
    /// The share of all cores' time that was worked while it ran.
    pub busy: Option<f64>,
    /// What the network has counted, all nodes together, if there was one.
    pub network: Option<Network>,
    /// What was odd.
    pub remarks: Vec<String>,
}

/// Packets that did not arrive, and those that TCP sent again.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Network {
    pub overflowed: u64,
    pub lost: u64,
    pub tcp_resent: u64,
}

impl Network {
    pub fn of(counters: &BTreeMap<String, u64>) -> Self {
        let sum = |ending: &str| counters.iter().filter(|(name, _)| name.ends_with(ending)).map(|(_, n)| n).sum();
        Network { overflowed: sum("_drops"), lost: sum("switch.lost"), tcp_resent: sum(".tcp_resent") }
    }
}

/// A job that has not been run has no figures: why.
pub type Ran = Result<Outcome, String>;

/// All jobs of a table; rows that need the same one share it.
pub struct Jobs {
    pub binaries: Binaries,
    pub reps: usize,
    pub damage: bool,
    pub wishes: Wishes,
    pub done: Vec<(Plan, Ran)>,
}

/// A job as it is to be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    pub stage: Stage,
    /// What follows `aurora`.
    pub arguments: Vec<String>,
    pub starter: Starter,
    pub tuning: Tuning,
}

impl Jobs {
    /// The jobs of a row: each MPI as it comes and tuned, or, without one, a single job.
    pub fn of(&mut self, row: &Row) -> Vec<Ran> {
        self.plans(row).into_iter().map(|plan| self.ran(plan)).collect()
    }

    fn plans(&self, row: &Row) -> Vec<Plan> {
        let reps = format!("--reps={}", self.reps);
        let arguments = [&["bench".into()], &row.arguments()[..], &[reps]].concat();
        let plan = |starter, tuning| Plan { stage: row.stage, arguments: arguments.clone(), starter, tuning };
        match row.stage {
            Stage::Loopback { .. } => vec![plan(Starter::Itself, Tuning::defaults())],
            Stage::Lab { .. } => [Flavour::Open, Flavour::Mpich]
                .into_iter()
                .flat_map(|flavour| {
                    let best = Tuning::best(flavour, row.operation, &self.wishes);
                    [Tuning::defaults(), best].map(|tuning| plan(Starter::Mpi(flavour), tuning))
                })
                .collect(),
        }
    }

    fn ran(&mut self, plan: Plan) -> Ran {
        if let Some((_, ran)) = self.done.iter().find(|(done, _)| *done == plan) {
            return ran.clone();
        }
        let mut failures = Vec::new();
        let mut ran = Err(String::new());
        for _ in 0..ATTEMPTS {
            ran = attempt(&plan, self.binaries.of(plan.starter.flavour()), self.damage);
            match &mut ran {
                Ok(outcome) => {
                    outcome.remarks.extend(failures.drain(..).map(|why| format!("a first attempt failed: {why}")));
                    break;
                }
                Err(why) => failures.push(why.clone()),
            }
        }
        self.done.push((plan, ran.clone()));
        ran
    }
}

/// Runs `aurora` once, on a lab of its own.
pub fn attempt(plan: &Plan, aurora: &Path, damage: bool) -> Ran {
    let lab = match plan.stage {
        Stage::Lab { nodes, shape } => {
            Some(Lab::up_with(shape, nodes, &[CONGESTION_CONTROL]).map_err(|refusal| refusal.to_string())?)
        }
        Stage::Loopback { .. } => None,
    };
    let before = Ticks::now();
    let ended = process::run_patiently(command(plan, aurora, lab.as_ref(), damage), |last| match last {
        Some(line) if line.starts_with('{') => PARTING,
        _ => LIMIT,
    });
    let busy = before.zip(Ticks::now()).and_then(|(before, after)| after.busy_since(before));
    let ended = ended.map_err(|error| error.to_string())?;
    let results = figures(&ended)?;
    let network = match lab {
        Some(lab) => Some(Network::of(&lab.counters().map_err(|refusal| refusal.to_string())?)),
        None => None,
    };
    let remarks = if ended.overdue { vec!["mpirun did not end by itself".into()] } else { Vec::new() };
    Ok(Outcome { starter: plan.starter, tuning: plan.tuning.clone(), results, busy, network, remarks })
}

fn command(plan: &Plan, aurora: &Path, lab: Option<&Lab>, damage: bool) -> Command {
    let mut command = match (plan.starter, lab) {
        (Starter::Mpi(flavour), Some(lab)) => {
            let mut command = lab.mpirun(flavour, 1);
            command.arg(aurora);
            command
        }
        _ => Command::new(aurora),
    };
    for variable in aurora_core::VARIABLES {
        command.env_remove(variable);
    }
    command.args(&plan.arguments).arg("--json").args(damage.then_some("--damage"));
    if let Stage::Loopback { mtu } = plan.stage {
        command.arg(format!("--ranks={}", plan.stage.ranks())).env("AURORA_MTU", mtu.to_string());
    }
    command.env("NETLAB_TIMEOUT", LIMIT.as_secs().to_string());
    command.envs(plan.tuning.variables.iter().map(|(name, value)| (name, value)));
    command
}

fn figures(ended: &Ended) -> Result<Vec<Figures>, String> {
    let failed =
        |why: &str| format!("{why}; it said: {}", ended.errors.split_whitespace().collect::<Vec<_>>().join(" "));
    let line =
        ended.lines.iter().rfind(|line| line.starts_with('{')).ok_or_else(|| failed("the job said no figures"))?;
    let said: Said =
        serde_json::from_str(line).map_err(|error| failed(&format!("figures of another form: {error}")))?;
    // A job that finds wrong bytes fails; its figures tell so.
    let verified = said.results.iter().all(|figures| figures.verified);
    match ended.success || ended.overdue || !verified {
        true => Ok(said.results),
        false => Err(failed("the job failed")),
    }
}
