//! The conversion of the arguments into a list of simulations.

use super::arguments::{ModeName, SimulateArguments, TransfersName};
use super::memory;
use super::nodes::Counts;
use super::own::{Limits, Versions, name};
use super::policies::Policies;
use super::speeds::{BadSpeeds, Cluster};
use crate::refusal::{Reason, Refusal};
use aurora_super::dispatch::Config;
use aurora_super::sim::{Case, Link, OwnSetting, Setting, SettingError, SuperProgram};
use aurora_super::{Policy, Product};

/// The list of simulations.
#[derive(Clone, Debug)]
pub struct Plan {
    cluster: Cluster,
    /// The simulations, in their order.
    pub all: Vec<Planned>,
}

/// One policy, or version of a program, on a number of nodes.
#[derive(Clone, Copy, Debug)]
pub struct Planned {
    /// The name.
    pub policy: &'static str,
    /// The number of nodes.
    pub nodes: u32,
    how: Policy,
    limit: Option<u32>,
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

/// Returns all simulations that the arguments describe: by nodes, by instructions in flight, by policy.
///
/// # Errors
/// A wrong argument.
pub fn plan(arguments: &SimulateArguments) -> Result<Plan, Refusal> {
    check_mode(arguments)?;
    let cluster = Cluster::read(&arguments.speeds).map_err(|error| of_speeds(arguments, error))?;
    let case = case(arguments);
    let counts = match (&arguments.nodes, cluster.nodes(), case) {
        (Some(Counts(counts)), _, _) => counts.clone(),
        (None, Some(all), _) => vec![all],
        (None, None, Some(_)) => vec![2, 4, 6, 8],
        (None, None, None) => vec![2, 4, 8, 16, 32, 64],
    };
    memory::check(arguments, counts.iter().copied().max().unwrap_or(1))?;
    let mut plan = Plan { cluster, all: Vec::new() };
    for nodes in counts {
        for limit in limits(arguments) {
            let first = plan.all.len();
            let policies = policies(arguments).into_iter();
            plan.all.extend(policies.map(|(policy, how)| Planned { policy, nodes, how, limit }));
            // A refusal does not depend on the policy.
            if let Some(planned) = plan.all.get(first) {
                plan.machine(arguments, planned)?;
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
        let Planned { nodes, how, limit, .. } = *planned;
        let speeds = self.cluster.of(nodes).map_err(|error| of_speeds(arguments, error))?;
        machine(arguments, how, speeds, limit).map_err(|error| refusal_of(arguments, nodes, error))
    }
}

fn of_speeds(arguments: &SimulateArguments, error: BadSpeeds) -> Refusal {
    refused("--speeds <SPEEDS>", &arguments.speeds, Reason::Speeds(error))
}

/// Returns the case of S0 that is given.
pub fn case(arguments: &SimulateArguments) -> Option<Case> {
    arguments.own.case
}

/// Returns the policies, or the policies of versions.
fn policies(arguments: &SimulateArguments) -> Vec<Named> {
    let versions =
        |versions: &[SuperProgram]| versions.iter().map(|version| (name(version), version.policy())).collect();
    match (&arguments.own.variant, &arguments.policy, case(arguments)) {
        (Some(all), _, _) => versions(&all.by(arguments.own.schedule)),
        (None, Some(Policies(policies)), _) => policies.clone(),
        (None, None, Some(case)) => {
            let tried = case.versions.join(",").parse::<Versions>();
            versions(&tried.map(|tried| tried.by(arguments.own.schedule)).unwrap_or_default())
        }
        (None, None, None) => Policy::ALL.to_vec(),
    }
}

/// Returns the given numbers of instructions in flight; `None` is the machine's own number.
fn limits(arguments: &SimulateArguments) -> Vec<Option<u32>> {
    match (&arguments.own.in_flight, case(arguments)) {
        (Some(Limits(limits)), _) => limits.iter().copied().map(Some).collect(),
        (None, Some(case)) => case.threads.iter().copied().map(Some).collect(),
        (None, None) => vec![None],
    }
}

fn machine(
    arguments: &SimulateArguments,
    policy: Policy,
    speeds: Vec<f64>,
    limit: Option<u32>,
) -> Result<Machine, SettingError> {
    let program = || Product::square(arguments.blocks).expect("so many blocks have numbers");
    if arguments.mode == ModeName::Paper {
        let mut setting = Setting::new(policy, speeds, arguments.seed);
        setting.program = program();
        setting.transfers = arguments.transfers.into();
        setting.work.below = arguments.work;
        setting.load = arguments.load;
        setting.check()?;
        return Ok(Machine::Paper(setting));
    }
    let latency = arguments.own.latency;
    let setting = match case(arguments) {
        Some(case) => {
            let (any, nodes, threads) = (SuperProgram::ALL[0], speeds.len() as u32, limit.unwrap_or(1));
            let setting = match latency {
                Some(latency) => case.with_latency(any, nodes, threads, latency),
                None => case.setting(any, nodes, threads)?,
            };
            OwnSetting { dispatch: Config { seed: arguments.seed, ..Config::new(policy) }, ..setting }
        }
        None => {
            let mut setting = OwnSetting::new(policy, speeds, arguments.seed);
            setting.program = program();
            setting.limits.in_flight = limit.unwrap_or(setting.limits.in_flight);
            setting.link = Link { sending: arguments.load, receiving: arguments.load, ..setting.link };
            setting.link.latency = latency.unwrap_or(setting.link.latency);
            if let aurora_super::sim::Cost::Drawn(work) = &mut setting.cost {
                work.below = arguments.work;
            }
            setting
        }
    };
    setting.check()?;
    Ok(Machine::Own(setting))
}

/// Refuses options that the mode does not have.
fn check_mode(arguments: &SimulateArguments) -> Result<(), Refusal> {
    let own = &arguments.own;
    let given = [
        ("--variant <LIST>", own.variant.is_some()),
        ("--schedule <SCHEDULE>", own.schedule.is_some()),
        ("--in-flight <LIST>", own.in_flight.is_some()),
        ("--latency <UNITS>", own.latency.is_some()),
        ("--case <CASE>", case(arguments).is_some()),
    ];
    let only_own = given.iter().find(|(_, is_given)| arguments.mode == ModeName::Paper && *is_given);
    if let Some((argument, _)) = only_own {
        return Err(Refusal { argument, value: None, reason: Reason::OwnMode });
    }
    let has_versions = own.variant.is_some() || case(arguments).is_some() && arguments.policy.is_none();
    if own.schedule.is_some() && !has_versions {
        return Err(Refusal { argument: "--schedule <SCHEDULE>", value: None, reason: Reason::Schedule });
    }
    if arguments.mode == ModeName::Own && arguments.transfers == TransfersName::Multicast {
        return Err(refused("--transfers <TRANSFERS>", &"multicast", Reason::PaperMode));
    }
    Ok(())
}

pub fn refused(argument: &'static str, value: &dyn ToString, reason: Reason) -> Refusal {
    Refusal { argument, value: Some(value.to_string()), reason }
}

/// Converts an error of the simulator, for values that the arguments' own rules accept.
pub fn refusal_of(arguments: &SimulateArguments, nodes: u32, error: SettingError) -> Refusal {
    let (argument, value): (_, &dyn ToString) = match &error {
        SettingError::Load(load) => ("--load <UNITS>", load),
        SettingError::Speed { .. } => ("--speeds <SPEEDS>", &arguments.speeds),
        _ => ("--nodes <LIST>", &nodes),
    };
    let help = if matches!(error, SettingError::NoLatency { .. }) { " by `--latency`" } else { "" };
    refused(argument, value, Reason::Simulation(format!("{error}{help}")))
}
