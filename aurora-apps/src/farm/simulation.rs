//! The simulation of a repetition, and the prediction of the model.

use super::Farm;
use aurora_super::execute::Limits;
use aurora_super::model::{self, Machines, Makespans};
use aurora_super::policy::Pace;
use aurora_super::sim::{Link, Outcome, OwnSetting, SettingError, SlowDown, own};
use aurora_super::{Policy, dispatch};

/// Simulates a repetition in own mode, with the dispatcher's settings of the runtime.
pub(super) fn simulated(farm: &Farm, speeds: &[f64], policy: Policy, seed: u64) -> Result<Outcome, SettingError> {
    let known = if farm.known_speeds { speeds.to_vec() } else { vec![1.0; speeds.len()] };
    // The dispatcher learns the speeds that it does not know.
    let slow = |(node, speed): (usize, &f64)| SlowDown { node: node as u32, at: 0.0, factor: *speed };
    let slow_downs = speeds.iter().enumerate().filter(|_| !farm.known_speeds).map(slow).collect();
    let in_steps = policy.pace == Pace::Steps;
    let setting = OwnSetting {
        program: farm.shape(),
        cost: farm.cost(seed),
        dispatch: dispatch::Config::on_ranks(policy, 1, farm.in_flight),
        limits: Limits { running: 1, in_flight: if in_steps { 1 } else { farm.in_flight }, budget: None },
        // Messages of a few bytes between ranks of one machine.
        link: Link { message: 50.0, latency: 100.0, ..Link::FREE },
        bytes: 8,
        result_bytes: 8,
        slow_downs,
        ..OwnSetting::new(policy, known, seed)
    };
    own(&setting).map(|outcome| outcome.common)
}

/// Predicts the time of equal units on ranks of these speeds.
pub(super) fn predicted(farm: &Farm, speeds: &[f64]) -> Result<Makespans, model::Error> {
    // Ranks of equal speed are processors of one machine.
    let mut machines: Vec<(f64, u32)> = Vec::new();
    for speed in speeds {
        match machines.iter_mut().find(|(known, _)| known == speed) {
            Some((_, count)) => *count += 1,
            None => machines.push((*speed, 1)),
        }
    }
    let name = |at: usize| format!("m{at}");
    let configuration: Vec<String> =
        machines.iter().enumerate().map(|(at, (_, count))| format!("{}={count}", name(at))).collect();
    let machines = Machines::from_speeds(machines.iter().enumerate().map(|(at, (speed, _))| (name(at), *speed)))?;
    let units = farm.units.try_into().expect("the number of units has been checked");
    let configuration = machines.configuration(&configuration.join(","))?;
    model::Farm::new(units, farm.unit_seconds)?.makespans(&machines, &configuration)
}
