//! Jobs of `aurora ... --json`: where they run, and what has come of them.

use crate::heard::{self, LIMIT};
use crate::mpi::Flavour;
use crate::netlab::{Lab, Shape};
use crate::{machine, process};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a job runs, and what starts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// This machine, by mpirun.
    Node,
    /// An emulated cluster of this shape, by mpirun, one rank on each node.
    Lab(Shape),
    /// This machine, by `aurora` itself; with IP packets of so many bytes, if not as usual.
    Alone(Option<usize>),
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

#[test]
fn a_table_says_where_ranks_take_turns() {
    let crowds = [(2, 2), (1, 2), (2, 4), (4, 4)].map(|(cores, ranks)| crowd(cores, ranks));
    assert_eq!(crowds, ["", " on 1 core", " on 2 cores", ""]);
}

/// What an MPI is called as it comes.
pub const DEFAULTS: &str = "defaults";

/// A job as it is to be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// Where.
    pub stage: Stage,
    /// How many ranks it has.
    pub ranks: usize,
    /// For which MPI its `aurora` is built, whose mpirun starts it.
    pub flavour: Flavour,
    /// How that is set up, for tables.
    pub setting: &'static str,
    /// By which variables: `A=1 B=2`.
    pub variables: String,
    /// What its ranks load first, and what starts them does not.
    pub preload: Option<PathBuf>,
    /// What follows `aurora`, but the form of its figures.
    pub words: String,
    /// How often it repeats everything.
    pub reps: usize,
}

impl Run {
    /// With Open MPI as it comes.
    pub fn new(stage: Stage, ranks: usize, words: &str, reps: usize) -> Self {
        let alone = if matches!(stage, Stage::Alone(_)) { format!(" --ranks={ranks}") } else { String::new() };
        let words = format!("{words} --reps={reps}{alone}");
        let (flavour, variables) = (Flavour::Open, String::new());
        Run { stage, ranks, flavour, setting: DEFAULTS, variables, preload: None, words, reps }
    }

    /// What starts it, in words.
    pub fn starter(&self) -> &'static str {
        if matches!(self.stage, Stage::Alone(_)) { "no MPI" } else { self.flavour.words() }
    }

    /// The same, and how that is set up.
    pub fn setup(&self) -> String {
        format!("{}, {}", self.starter(), self.setting)
    }

    /// What is told mpirun on this machine: to keep nobody on a core; and where there are more ranks than cores, that
    /// this is meant, which makes Open MPI's yield while they wait.
    pub fn mpirun(&self) -> String {
        let more = if self.ranks > machine::allowed_cores() { " --oversubscribe" } else { "" };
        format!("-n {} --bind-to none{more}", self.ranks)
    }

    /// Variables that the command gets beside those of all jobs.
    pub fn environment(&self) -> Vec<(&str, String)> {
        let preload = self.preload.as_ref().map(|library| match self.flavour {
            Flavour::Open => ("OMPI_EXTRA", format!("-x LD_PRELOAD={}", library.display())),
            Flavour::Mpich => ("MPICH_EXTRA", format!("-genv LD_PRELOAD {}", library.display())),
        });
        let variables = self.variables.split(' ').filter_map(|variable| variable.split_once('='));
        preload.into_iter().chain(variables.map(|(name, value)| (name, value.into()))).collect()
    }

    fn command(&self, aurora: &Path, lab: Option<&Lab>) -> Command {
        let mut command = process::alone(match (self.stage, lab) {
            (_, Some(lab)) => lab.mpirun(self.flavour, 1),
            (Stage::Alone(_), _) => Command::new(aurora),
            _ => Command::new(format!("mpirun.{}", self.flavour)),
        });
        match self.stage {
            Stage::Node => command.args(self.mpirun().split(' ')).arg(aurora),
            Stage::Lab(_) => command.arg(aurora).env("NETLAB_TIMEOUT", LIMIT.as_secs().to_string()),
            Stage::Alone(mtu) => command.envs(mtu.map(|mtu| ("AURORA_MTU", mtu.to_string()))),
        };
        command.args(self.words.split(' ')).envs(self.environment());
        command
    }

    /// Runs it once by this `aurora`, on an emulated cluster of its own where it needs one; or says why there are no
    /// figures.
    pub fn attempt(&self, aurora: &Path, damage: bool) -> Result<Outcome, String> {
        let lab = match self.stage {
            // What most systems use; ours may have another default.
            Stage::Lab(shape) => Some(Lab::up_with(shape, self.ranks, &["cc=cubic"])),
            _ => None,
        };
        let lab = lab.transpose().map_err(|refusal| refusal.to_string())?;
        let heard = heard::hear(self.command(aurora, lab.as_ref()), damage)?;
        let counters = lab.map(|lab| lab.counters()).transpose().map_err(|refusal| refusal.to_string())?;
        let network = counters.map(|counters| {
            ["_drops", "switch.lost", ".tcp_resent"]
                .map(|ending| counters.iter().filter(|(name, _)| name.ends_with(ending)).map(|(_, count)| count).sum())
        });
        let seen = Seen { busy: heard.busy, network, remarks: heard.remarks };
        Ok(Outcome { run: self.clone(), object: heard.object, seen })
    }

    /// The same, but an emulated cluster is tried once more if it fails, which is a remark then.
    pub fn outcome(&self, aurora: &Path, damage: bool) -> Result<Outcome, String> {
        let attempt = || self.attempt(aurora, damage);
        match self.stage {
            Stage::Node => attempt(),
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

/// What is seen of a job from outside.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Seen {
    /// The share of all cores' time that was worked while it ran, its start and its verification included.
    pub busy: Option<f64>,
    /// Packets on its network that full queues dropped, that the switch lost as told, and that TCP sent again.
    pub network: Option<[u64; 3]>,
    /// What was odd.
    pub remarks: Vec<String>,
}

impl Seen {
    /// For a list, with the variables that set up the MPI.
    pub fn words(&self, variables: &str) -> String {
        let variables = if variables.is_empty() { String::new() } else { format!(" (`{variables}`)") };
        let busy = self.busy.unwrap_or(f64::NAN) * 100.0;
        let network = self.network.map_or(String::new(), |[overflowed, lost, resent]| {
            format!(", {overflowed} packets dropped by full queues, {lost} lost, {resent} sent again by TCP")
        });
        let remarks: String = self.remarks.iter().map(|remark| format!("; {remark}")).collect();
        format!("{variables}: cores {busy:.0} % busy in the whole job{network}{remarks}")
    }
}
