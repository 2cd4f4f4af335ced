//! The conversion of the arguments into a list of simulations.

use super::arguments::{CostsName, ModeName, SimulateArguments, TransfersName};
use super::lists::repeated;
use super::matrix::Blocks;
use super::memory;
use super::nodes::Counts;
use super::own::{CaseName, Limits, Versions, name};
use super::policies::Policies;
use super::search::Goal;
use super::speeds::{BadSpeeds, Cluster, Source};
use crate::refusal::{Reason, Refusal};
use aurora_super::dispatch::Config;
use aurora_super::policy::Version;
use aurora_super::sim::{Cost, Link, OwnSetting, Setting, SettingError, SuperProgram, Work, experiment};
use aurora_super::{Policy, Product};

/// The list of simulations.
#[derive(Clone, Debug)]
pub struct Plan {
    clusters: Vec<(Source, Cluster)>,
    /// The facts about blocks and links that are given.
    pub blocks: Blocks,
    /// The simulations, in their order.
    pub all: Vec<Planned>,
}

/// One policy, or version of a program, on a number of nodes of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Planned {
    /// The name.
    pub policy: &'static str,
    /// The number of nodes.
    pub nodes: u32,
    /// The index of the cluster.
    pub cluster: usize,
    /// The policy.
    pub how: Policy,
    /// The number of instructions in flight, if it is given.
    pub limit: Option<u32>,
}

/// The simulated machine.
#[derive(Clone, Debug)]
pub enum Machine {
    /// The machine of the papers.
    Paper(Setting),
    /// The machine of own mode.
    Own(OwnSetting),
}

/// A name, and the policy that hands out instructions.
type Named = (&'static str, Policy);

/// Returns all simulations that the arguments describe: by cluster, by nodes, by instructions in flight, by policy.
///
/// # Errors
/// A wrong argument.
pub fn plan(arguments: &SimulateArguments) -> Result<Plan, Refusal> {
    check_mode(arguments)?;
    if let Some(source) = repeated(arguments.speeds.iter().map(ToString::to_string)) {
        return Err(refused("--speeds <SPEEDS>", &source, Reason::Speeds(BadSpeeds::Twice)));
    }
    let read = |source: &Source| match Cluster::read(source) {
        Ok(cluster) => Ok((source.clone(), cluster)),
        Err(error) => Err(of_speeds(source, error)),
    };
    let clusters = arguments.speeds.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let mut plan = Plan { clusters, blocks: Blocks::of(arguments)?, all: Vec::new() };
    let counts = plan.counts(arguments);
    memory::check(arguments, counts.iter().copied().max().unwrap_or(1))?;
    let policies = policies(arguments);
    if arguments.own.results_stay && policies.iter().all(|(_, how)| how.version != Version::Remote) {
        return Err(Refusal { argument: "--results-stay", value: None, reason: Reason::ResultsStay });
    }
    for cluster in 0..plan.clusters.len() {
        for nodes in counts.iter().copied() {
            for limit in limits(arguments) {
                let all = policies.iter().map(|(policy, how)| Planned { policy, nodes, cluster, how: *how, limit });
                let first = plan.all.len();
                plan.all.extend(all);
                // A refusal does not depend on the policy.
                if let Some(planned) = plan.all.get(first) {
                    plan.machine(arguments, planned)?;
                }
            }
        }
    }
    Ok(plan)
}

impl Plan {
    /// Returns the machine of a simulation. A machine has the speeds of its nodes, so it is not made before it is
    /// needed.
    ///
    /// # Errors
    /// A wrong argument.
    pub fn machine(&self, arguments: &SimulateArguments, planned: &Planned) -> Result<Machine, Refusal> {
        let (source, cluster) = &self.clusters[planned.cluster];
        let speeds = cluster.of(planned.nodes).map_err(|error| of_speeds(source, error))?;
        self.with_speeds(arguments, planned, speeds).map_err(|error| refusal_of(arguments, planned.nodes, error))
    }

    /// Returns the speeds of the nodes of a simulation, as on the command line.
    pub fn speeds(&self, planned: &Planned) -> String {
        self.clusters[planned.cluster].0.to_string()
    }

    /// Returns the speeds of the first nodes of a simulation's cluster, at most `most`.
    pub fn first_speeds(&self, planned: &Planned, most: u32) -> Vec<f64> {
        let (_, cluster) = &self.clusters[planned.cluster];
        cluster.of(cluster.nodes().unwrap_or(most)).unwrap_or_default()
    }

    /// Returns a simulation of each policy, and its numbers of nodes.
    pub fn by_policy(&self) -> Vec<(Planned, Vec<u32>)> {
        let mut all: Vec<(Planned, Vec<u32>)> = Vec::new();
        for planned in &self.all {
            let place = |of: &Planned| (of.cluster, of.policy, of.limit);
            match all.iter_mut().find(|(first, _)| place(first) == place(planned)) {
                Some((_, nodes)) => nodes.push(planned.nodes),
                None => all.push((*planned, vec![planned.nodes])),
            }
        }
        all
    }

    fn counts(&self, arguments: &SimulateArguments) -> Vec<u32> {
        let listed = self.clusters.iter().find_map(|(_, cluster)| cluster.nodes());
        match (&arguments.nodes, listed, case(arguments)) {
            (Some(Counts(counts)), _, _) => counts.clone(),
            (None, _, None) if Goal::of(arguments).is_some() => vec![1],
            (None, Some(all), _) => vec![all],
            (None, None, Some(case)) => case.nodes(),
            (None, None, None) => vec![2, 4, 8, 16, 32, 64],
        }
    }

    fn with_speeds(
        &self,
        arguments: &SimulateArguments,
        planned: &Planned,
        speeds: Vec<f64>,
    ) -> Result<Machine, SettingError> {
        let Planned { how: policy, limit, .. } = *planned;
        let seed = arguments.seed;
        let program = Product::square(arguments.blocks).expect("so many blocks have numbers");
        let mean = f64::from(work(arguments)) / 2.0;
        if arguments.mode == ModeName::Paper {
            let of = Setting::new(policy, speeds, seed);
            let setting = Setting {
                program,
                transfers: arguments.transfers.into(),
                cost: cost(arguments, mean),
                load: self.blocks.wire().or(arguments.load).unwrap_or(of.load),
                ..of
            };
            setting.check()?;
            return Ok(Machine::Paper(setting));
        }
        let nodes = speeds.len() as u32;
        let mut setting = match case(arguments) {
            Some(case) => of_case(arguments, case, nodes, limit.unwrap_or(1))?,
            None => {
                let of = OwnSetting::new(policy, speeds, seed);
                let (link, load) = (self.blocks.link().unwrap_or(of.link), arguments.load.unwrap_or(of.link.sending));
                OwnSetting {
                    program,
                    cost: cost(arguments, mean),
                    link: Link { sending: load, receiving: load, ..link },
                    bytes: self.blocks.bytes.unwrap_or(of.bytes),
                    result_bytes: self.blocks.result_bytes.unwrap_or(of.result_bytes),
                    ..of
                }
            }
        };
        setting.dispatch = Config { policy, seed, ..setting.dispatch };
        setting.limits.in_flight = limit.unwrap_or(setting.limits.in_flight);
        setting.link.latency = arguments.own.latency.unwrap_or(setting.link.latency);
        setting.dispatcher = arguments.own.dispatcher.unwrap_or(setting.dispatcher);
        setting.results_stay = arguments.own.results_stay;
        setting.check()?;
        Ok(Machine::Own(setting))
    }
}

fn of_case(
    arguments: &SimulateArguments,
    case: CaseName,
    nodes: u32,
    threads: u32,
) -> Result<OwnSetting, SettingError> {
    let any = SuperProgram::ALL[0];
    let setting = match (case, arguments.own.latency) {
        (CaseName::Experiment, _) => experiment(nodes, threads, arguments.seed),
        (CaseName::Data(case), Some(latency)) => case.with_latency(any, nodes, threads, latency),
        (CaseName::Data(case), None) => case.setting(any, nodes, threads)?,
    };
    Ok(OwnSetting { cost: cost(arguments, setting.cost.mean()), ..setting })
}

fn of_speeds(source: &Source, error: BadSpeeds) -> Refusal {
    refused("--speeds <SPEEDS>", source, Reason::Speeds(error))
}

/// Returns the case of a paper that is given.
pub fn case(arguments: &SimulateArguments) -> Option<CaseName> {
    arguments.own.case
}

/// Returns whether the costs of instructions are drawn.
pub fn costs(arguments: &SimulateArguments) -> CostsName {
    let of_case = matches!(case(arguments), Some(CaseName::Data(_)));
    arguments.costs.unwrap_or(if of_case { CostsName::Equal } else { CostsName::Drawn })
}

/// Returns twice the mean cost of an instruction of a product, in units.
pub fn work(arguments: &SimulateArguments) -> u32 {
    arguments.instruction.map_or(arguments.work, |milliseconds| (2_000.0 * milliseconds).round() as u32)
}

/// Returns the costs of instructions with this mean, in units.
fn cost(arguments: &SimulateArguments, mean: f64) -> Cost {
    match costs(arguments) {
        CostsName::Equal => Cost::Fixed(mean),
        CostsName::Drawn => Cost::Drawn(Work { below: (2.0 * mean).round() as u32, seed: arguments.seed }),
    }
}

/// Returns the policies, or the policies of versions.
fn policies(arguments: &SimulateArguments) -> Vec<Named> {
    let versions =
        |versions: &[SuperProgram]| versions.iter().map(|version| (name(version), version.policy())).collect();
    match (&arguments.own.variant, &arguments.policy, case(arguments)) {
        (Some(all), _, _) => versions(&all.by(arguments.own.schedule)),
        (None, Some(Policies(policies)), _) => policies.clone(),
        (None, None, Some(CaseName::Data(case))) => {
            let tried = case.versions.join(",").parse::<Versions>();
            versions(&tried.map(|tried| tried.by(arguments.own.schedule)).unwrap_or_default())
        }
        (None, None, Some(CaseName::Experiment)) => vec![("R", Policy::R)],
        (None, None, None) => Policy::ALL.to_vec(),
    }
}

/// Returns the given numbers of instructions in flight; `None` is the machine's own number.
fn limits(arguments: &SimulateArguments) -> Vec<Option<u32>> {
    match (&arguments.own.in_flight, case(arguments)) {
        (Some(Limits(limits)), _) => limits.iter().copied().map(Some).collect(),
        (None, Some(case)) => case.threads().iter().copied().map(Some).collect(),
        (None, None) => vec![None],
    }
}

/// Refuses options that the mode does not have, or that need others.
fn check_mode(arguments: &SimulateArguments) -> Result<(), Refusal> {
    let own = &arguments.own;
    let given = [
        ("--variant <LIST>", own.variant.is_some()),
        ("--schedule <SCHEDULE>", own.schedule.is_some()),
        ("--in-flight <LIST>", own.in_flight.is_some()),
        ("--latency <UNITS>", own.latency.is_some()),
        ("--dispatcher <UNITS>", own.dispatcher.is_some()),
        ("--results-stay", own.results_stay),
        ("--case <CASE>", case(arguments).is_some()),
    ];
    let refuse = |argument, reason| Err(Refusal { argument, value: None, reason });
    let is_paper = arguments.mode == ModeName::Paper;
    let only_own = given.iter().find(|(_, is_given)| is_paper && *is_given);
    if let Some((argument, _)) = only_own {
        return refuse(argument, Reason::OwnMode);
    }
    let has_versions =
        own.variant.is_some() || matches!(case(arguments), Some(CaseName::Data(_))) && arguments.policy.is_none();
    if own.schedule.is_some() && !has_versions {
        return refuse("--schedule <SCHEDULE>", Reason::Schedule);
    }
    if arguments.mode == ModeName::Own && arguments.transfers == TransfersName::Multicast {
        return Err(refused("--transfers <TRANSFERS>", &"multicast", Reason::PaperMode));
    }
    let matrix = &arguments.matrix;
    match (matrix.rows.is_some() || matrix.block_bytes.is_some(), matrix.bandwidth.is_some()) {
        (true, false) if is_paper && matrix.rows.is_some() => refuse("--rows <N>", Reason::NoBandwidth),
        (true, false) if is_paper => refuse("--block-bytes <BYTES>", Reason::NoBandwidth),
        (false, true) if is_paper => refuse("--bandwidth <MBIT>", Reason::NoBlock),
        (true, true) if is_paper && arguments.load.is_some() => refuse("--load <UNITS>", Reason::TwoLoads),
        _ => Ok(()),
    }
}

pub fn refused(argument: &'static str, value: &dyn ToString, reason: Reason) -> Refusal {
    Refusal { argument, value: Some(value.to_string()), reason }
}

/// Converts an error of the simulator, for values that the arguments' own rules accept.
pub fn refusal_of(arguments: &SimulateArguments, nodes: u32, error: SettingError) -> Refusal {
    let (argument, value): (_, &dyn ToString) = match &error {
        SettingError::Load(load) => ("--load <UNITS>", load),
        SettingError::Speed { .. } => ("--speeds <SPEEDS>", &arguments.speeds[0]),
        _ => ("--nodes <LIST>", &nodes),
    };
    let help = if matches!(error, SettingError::NoLatency { .. }) { " by `--latency`" } else { "" };
    refused(argument, value, Reason::Simulation(format!("{error}{help}")))
}
