//! Jobs of `aurora bench`, each on a lab of its own.

use crate::row::{Row, Stage};
use crate::tuning::{Tuning, Wishes};
pub use aurora_apps::report::Spread;
pub use aurora_apps::report::figures::Figures;
use aurora_suite::heard::{self, LIMIT};
use aurora_suite::machine;
use aurora_suite::mpi::Flavour;
use aurora_suite::netlab::Lab;
use aurora_suite::process;
use clap::Args;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

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
        let aurora = self.binaries.of(plan.starter.flavour());
        let ran = heard::attempts(|| attempt(&plan, aurora, self.damage), |outcome: &mut Outcome| &mut outcome.remarks);
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
    let heard = heard::hear(command(plan, aurora, lab.as_ref()), damage)?;
    let network = lab.map(|lab| lab.counters().map_err(|refusal| refusal.to_string())).transpose()?;
    Ok(Outcome {
        starter: plan.starter,
        tuning: plan.tuning.clone(),
        results: heard.results()?,
        busy: heard.busy,
        network: network.as_ref().map(Network::of),
        remarks: heard.remarks,
    })
}

fn command(plan: &Plan, aurora: &Path, lab: Option<&Lab>) -> Command {
    let mut command = process::alone(match (plan.starter, lab) {
        (Starter::Mpi(flavour), Some(lab)) => {
            let mut command = lab.mpirun(flavour, 1);
            command.arg(aurora);
            command
        }
        _ => Command::new(aurora),
    });
    command.args(&plan.arguments);
    if let Stage::Loopback { mtu } = plan.stage {
        command.arg(format!("--ranks={}", plan.stage.ranks())).env("AURORA_MTU", mtu.to_string());
    }
    command.env("NETLAB_TIMEOUT", LIMIT.as_secs().to_string());
    command.envs(plan.tuning.variables.iter().map(|(name, value)| (name, value)));
    command
}
