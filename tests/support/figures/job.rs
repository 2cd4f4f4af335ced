//! Jobs of `aurora ... --json`: where they run, and what has come of them.

use crate::heard::{self, LIMIT};
use crate::mpi::Flavour;
use crate::netlab::{Lab, Shape};
use crate::{machine, process};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a job runs, and what starts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// This machine, by mpirun.
    Node {
        /// How many ranks.
        ranks: usize,
    },
    /// An emulated cluster, by mpirun, one rank on each node.
    Lab {
        /// How many nodes.
        nodes: usize,
        /// What its network is like.
        shape: Shape,
    },
    /// This machine, by `aurora` itself.
    Alone {
        /// How many ranks.
        ranks: usize,
        /// The size of their IP packets, if it is another than usual.
        mtu: Option<usize>,
    },
}

impl Stage {
    /// How many ranks run there.
    pub fn ranks(self) -> usize {
        match self {
            Stage::Node { ranks } | Stage::Lab { nodes: ranks, .. } | Stage::Alone { ranks, .. } => ranks,
        }
    }

    /// Its ranks, for tables.
    pub fn words(self) -> String {
        match self {
            Stage::Node { ranks } => format!("{ranks} ranks{}", crowd(machine::allowed_cores(), ranks)),
            _ => format!("N = {}", self.ranks()),
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stage::Node { .. } => write!(f, "{} on this machine", self.words()),
            Stage::Lab { nodes, shape: shape @ Shape { rate, mtu, queue_kb, .. } } => {
                write!(f, "{nodes} nodes, {rate}, MTU {mtu}, port queue {queue_kb} KB, loss {} %", shape.percent())
            }
            Stage::Alone { ranks: 2, mtu: Some(mtu) } => {
                write!(f, "Two processes on loopback, IP packets of {mtu} bytes")
            }
            Stage::Alone { ranks, .. } => write!(f, "{ranks} processes of this machine"),
        }
    }
}

/// On how many cores so many ranks are, if these are fewer: then they take turns, and who polls while he waits takes
/// another's time.
pub fn crowd(cores: usize, ranks: usize) -> String {
    match cores {
        _ if ranks <= cores => String::new(),
        1 => " on 1 core".into(),
        _ => format!(" on {cores} cores"),
    }
}

/// Variables of an MPI's environment, and what they are called together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tuning {
    /// For tables.
    pub name: &'static str,
    /// Names and values.
    pub variables: Vec<(String, String)>,
}

impl Tuning {
    /// As an MPI comes.
    pub const DEFAULTS: Tuning = Tuning { name: "defaults", variables: Vec::new() };

    /// `A=1 B=2`.
    pub fn words(&self) -> String {
        self.variables.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }
}

/// A job as it is to be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// Where.
    pub stage: Stage,
    /// For which MPI its `aurora` is built, whose mpirun starts it.
    pub flavour: Flavour,
    /// How that is set up.
    pub tuning: Tuning,
    /// What its ranks load first, and what starts them does not.
    pub preload: Option<PathBuf>,
    /// What follows `aurora`.
    pub words: Vec<String>,
    /// How often it repeats everything.
    pub reps: usize,
}

impl Run {
    /// With an MPI as it comes.
    pub fn new(stage: Stage, flavour: Flavour, words: impl IntoIterator<Item = String>, reps: usize) -> Self {
        let words = words.into_iter().chain([format!("--reps={reps}")]).collect();
        Run { stage, flavour, tuning: Tuning::DEFAULTS, preload: None, words, reps }
    }

    /// What starts it, in words.
    pub fn starter(&self) -> &'static str {
        if matches!(self.stage, Stage::Alone { .. }) { "no MPI" } else { self.flavour.words() }
    }

    /// All that follows `aurora` but the form of its figures.
    pub fn arguments(&self) -> Vec<String> {
        let ranks = match self.stage {
            Stage::Alone { ranks, .. } => Some(format!("--ranks={ranks}")),
            _ => None,
        };
        self.words.iter().cloned().chain(ranks).collect()
    }

    /// What is told mpirun on this machine: to keep nobody on a core; and where there are more ranks than cores, that
    /// this is meant, which makes Open MPI's yield while they wait.
    pub fn mpirun(&self) -> Vec<String> {
        let ranks = self.stage.ranks();
        let more = if ranks > machine::allowed_cores() { " --oversubscribe" } else { "" };
        format!("-n {ranks} --bind-to none{more}").split(' ').map(String::from).collect()
    }

    /// Variables that the command gets beside those of all jobs.
    pub fn variables(&self) -> Vec<(String, String)> {
        let preload = self.preload.as_ref().map(|library| match self.flavour {
            Flavour::Open => ("OMPI_EXTRA".into(), format!("-x LD_PRELOAD={}", library.display())),
            Flavour::Mpich => ("MPICH_EXTRA".into(), format!("-genv LD_PRELOAD {}", library.display())),
        });
        preload.into_iter().chain(self.tuning.variables.iter().cloned()).collect()
    }

    fn command(&self, aurora: &Path, lab: Option<&Lab>) -> Command {
        let started = |mut mpirun: Command| {
            mpirun.arg(aurora);
            mpirun
        };
        let mut command = process::alone(match (self.stage, lab) {
            (Stage::Node { .. }, _) => {
                let mut mpirun = Command::new(format!("mpirun.{}", self.flavour));
                mpirun.args(self.mpirun());
                started(mpirun)
            }
            (_, Some(lab)) => started(lab.mpirun(self.flavour, 1)),
            _ => Command::new(aurora),
        });
        command.args(self.arguments()).envs(self.variables());
        match self.stage {
            Stage::Lab { .. } => command.env("NETLAB_TIMEOUT", LIMIT.as_secs().to_string()),
            Stage::Alone { mtu: Some(mtu), .. } => command.env("AURORA_MTU", mtu.to_string()),
            _ => &mut command,
        };
        command
    }

    /// Runs it once by this `aurora`; on an emulated cluster of its own where it needs one.
    ///
    /// # Errors
    /// Why there are no figures.
    pub fn attempt(&self, aurora: &Path, damage: bool) -> Result<Outcome, String> {
        let lab = match self.stage {
            // What most systems use; ours may have another default.
            Stage::Lab { nodes, shape } => {
                Some(Lab::up_with(shape, nodes, &["cc=cubic"]).map_err(|refusal| refusal.to_string())?)
            }
            _ => None,
        };
        let heard = heard::hear(self.command(aurora, lab.as_ref()), damage)?;
        let counters = lab.map(|lab| lab.counters().map_err(|refusal| refusal.to_string())).transpose()?;
        let network = counters.as_ref().map(Network::of);
        let seen = Seen { busy: heard.busy, network, remarks: heard.remarks };
        Ok(Outcome { run: self.clone(), object: heard.object, seen })
    }

    /// The same, but an emulated cluster is tried once more if it fails, which is a remark then.
    ///
    /// # Errors
    /// Why there are no figures.
    pub fn outcome(&self, aurora: &Path, damage: bool) -> Result<Outcome, String> {
        let attempt = || self.attempt(aurora, damage);
        match self.stage {
            Stage::Node { .. } => attempt(),
            _ => heard::attempts(attempt, |outcome| &mut outcome.seen.remarks),
        }
    }
}

/// What a job has said, and what was seen of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The job.
    pub run: Run,
    /// The object that it has printed.
    pub object: Map<String, Value>,
    /// From outside.
    pub seen: Seen,
}

impl Outcome {
    /// What it has said of each implementation, and of each kind.
    pub fn results(&self) -> &[Value] {
        self.object.get("results").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// What was seen of it, in words.
    pub fn conditions(&self) -> String {
        format!("{}, {}{}", self.run.starter(), self.run.tuning.name, self.seen.words(&self.run.tuning.words()))
    }
}

/// What is seen of a job from outside.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Seen {
    /// The share of all cores' time that was worked while it ran, its start and its verification included.
    pub busy: Option<f64>,
    /// What its network has counted, all nodes together.
    pub network: Option<Network>,
    /// What was odd.
    pub remarks: Vec<String>,
}

impl Seen {
    /// For a list, with the variables that set up the MPI.
    pub fn words(&self, variables: &str) -> String {
        let variables = if variables.is_empty() { String::new() } else { format!(" (`{variables}`)") };
        let busy = self.busy.unwrap_or(f64::NAN) * 100.0;
        let network = self.network.map_or(String::new(), |Network { overflowed, lost, tcp_resent }| {
            format!(", {overflowed} packets dropped by full queues, {lost} lost, {tcp_resent} sent again by TCP")
        });
        let remarks: String = self.remarks.iter().map(|remark| format!("; {remark}")).collect();
        format!("{variables}: cores {busy:.0} % busy in the whole job{network}{remarks}")
    }
}

/// Packets that did not arrive, and those that TCP sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Network {
    /// Dropped by full queues.
    pub overflowed: u64,
    /// Dropped by the switch, which was told to.
    pub lost: u64,
    /// Sent again by TCP.
    pub tcp_resent: u64,
}

impl Network {
    fn of(counters: &BTreeMap<String, u64>) -> Self {
        let sum = |ending: &str| counters.iter().filter(|(name, _)| name.ends_with(ending)).map(|(_, n)| n).sum();
        Network { overflowed: sum("_drops"), lost: sum("switch.lost"), tcp_resent: sum(".tcp_resent") }
    }
}
