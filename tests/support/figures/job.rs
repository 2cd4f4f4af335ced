//! Jobs of `aurora ... --json`: the places where they run, and their results.

use crate::heard::{self, LIMIT};
use crate::mpi::Flavour;
use crate::netlab::{Lab, Shape};
use crate::{machine, process};
use aurora_apps::report::Report;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The place of a job, and the program that starts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// This machine, by mpirun.
    Node,
    /// An emulated cluster of this shape, by mpirun, one rank on each node.
    Lab(Shape),
    /// This machine, started by `aurora` itself, with IP packets of the given number of bytes instead of the usual one.
    Alone(Option<usize>),
}

/// The number of cores for tables, if there are fewer cores than ranks. The ranks then share cores, and a rank that
/// polls takes the time of another rank.
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

/// The name of an MPI's default setting.
pub const DEFAULTS: &str = "defaults";

/// A job to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// The place.
    pub stage: Stage,
    /// The number of ranks.
    pub ranks: usize,
    /// The MPI for which its `aurora` is built, and whose mpirun starts it.
    pub flavour: Flavour,
    /// The name of the MPI's setting, for tables.
    pub setting: &'static str,
    /// The variables of the setting: `A=1 B=2`.
    pub variables: String,
    /// A library that the ranks preload, but not the program that starts them.
    pub preload: Option<PathBuf>,
    /// The arguments of `aurora`, without the format of its results.
    pub words: String,
    /// The number of repetitions.
    pub reps: usize,
}

impl Run {
    /// A job with the default setting of Open MPI.
    pub fn new(stage: Stage, ranks: usize, words: &str, reps: usize) -> Self {
        let alone = if matches!(stage, Stage::Alone(_)) { format!(" --ranks={ranks}") } else { String::new() };
        let words = format!("{words} --reps={reps}{alone}");
        let (flavour, variables) = (Flavour::Open, String::new());
        Run { stage, ranks, flavour, setting: DEFAULTS, variables, preload: None, words, reps }
    }

    /// The name of the program that starts the job.
    pub fn starter(&self) -> &'static str {
        if matches!(self.stage, Stage::Alone(_)) { "no MPI" } else { self.flavour.words() }
    }

    /// The name of the starter, and the setting.
    pub fn setup(&self) -> String {
        format!("{}, {}", self.starter(), self.setting)
    }

    /// The options of mpirun on this machine. Ranks are not bound to cores. With more ranks than cores the options also
    /// allow oversubscription, so that Open MPI's ranks yield while they wait.
    pub fn mpirun(&self) -> String {
        let more = if self.ranks > machine::allowed_cores() { " --oversubscribe" } else { "" };
        format!("-n {} --bind-to none{more}", self.ranks)
    }

    /// The variables that the command gets in addition to the variables of all jobs.
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

    /// Runs the job once with this `aurora`, on an emulated cluster of its own if it needs one. Returns an error if
    /// there are no figures.
    pub fn attempt(&self, aurora: &Path, damage: bool) -> Result<Outcome, String> {
        let lab = match self.stage {
            // The default of most systems; the default of this system may differ.
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
        Ok(Outcome { run: self.clone(), object: heard.object, results: heard.results, seen })
    }

    /// Like [`Self::attempt`], but a job on an emulated cluster that fails is run once more, with a remark.
    pub fn outcome(&self, aurora: &Path, damage: bool) -> Result<Outcome, String> {
        let attempt = || self.attempt(aurora, damage);
        match self.stage {
            Stage::Node => attempt(),
            _ => heard::attempts(attempt, |outcome| &mut outcome.seen.remarks),
        }
    }
}

/// The output of a job, and the measurements from outside.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The job.
    pub run: Run,
    /// The object that it has printed.
    pub object: Map<String, Value>,
    /// The figures in it.
    pub results: Vec<Report>,
    /// The measurements from outside.
    pub seen: Seen,
}

/// The measurements of a job from outside.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Seen {
    /// The used share of all cores' time during the job, its start and its verification included.
    pub busy: Option<f64>,
    /// The packets on its network that full queues dropped, that the switch dropped as configured, and that TCP sent
    /// again.
    pub network: Option<[u64; 3]>,
    /// Remarks about unusual events.
    pub remarks: Vec<String>,
}

impl Seen {
    /// A line for a list, with the variables that set up the MPI.
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
