//! `aurora simulate`: super-programs in virtual time, by each policy on clusters of several sizes.

pub mod arguments;
mod figures;
mod nodes;
mod policies;
pub mod speeds;
mod table;

use crate::launch::speaks;
use crate::progress::Progress;
use crate::refusal::{Reason, Refusal};
use crate::{labelled, line, say};
use arguments::SimulateArguments;
use aurora_apps::report::circumstances::Circumstances;
use aurora_core::Surroundings;
use aurora_super::sim::{Setting, SettingError};
use aurora_super::{Policy, Product};
use figures::Figures;
use nodes::Counts;
use serde::Serialize;
use speeds::{BadSpeeds, Cluster};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use table::Table;

/// One policy on so many nodes: what was simulated, and what it came to.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    policy: &'static str,
    nodes: u32,
    mode: &'static str,
    speeds: String,
    transfers: &'static str,
    blocks: u32,
    reps: u32,
    seed: u64,
    load: f64,
    work: u32,
    #[serde(flatten)]
    figures: Figures,
}

/// Simulates and prints. No ranks are started for it, and of those that a launcher has started one does it.
///
/// # Errors
/// An argument that cannot be.
pub fn start(arguments: &SimulateArguments, starter: Surroundings) -> Result<ExitCode, Refusal> {
    if !speaks(starter) {
        return Ok(ExitCode::SUCCESS);
    }
    let circumstances = Circumstances::here(labelled(&arguments.labels)?, false);
    let settings = settings(arguments)?;
    let reps = arguments.reps as usize;
    let progress = Mutex::new((Progress::new(reps * settings.len(), !arguments.json), 0));
    let done = || {
        let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.1 += 1;
        let done = progress.1;
        progress.0.done(done);
    };
    let mut points = Vec::new();
    for (name, setting) in &settings {
        let figures = Figures::of(arguments.mode, setting, arguments.reps, done);
        let point = Point {
            policy: name,
            nodes: setting.speeds.len() as u32,
            mode: arguments.mode.name(),
            speeds: arguments.speeds.to_string(),
            transfers: arguments.transfers.name(),
            blocks: arguments.blocks,
            reps: arguments.reps,
            seed: arguments.seed,
            load: arguments.load,
            work: arguments.work,
            figures: figures.map_err(|error| refusal(arguments, error))?,
        };
        if arguments.json {
            // As soon as it is known: the next may take a while.
            if let Err(code) = say(&line(&circumstances, &point)) {
                return Ok(code);
            }
        }
        points.push(point);
    }
    drop(progress);
    let said = if arguments.json { Ok(()) } else { say(&Table(&points).to_string()) };
    Ok(said.err().unwrap_or(ExitCode::SUCCESS))
}

/// All that are to be simulated, with the names of their policies.
fn settings(arguments: &SimulateArguments) -> Result<Vec<(&'static str, Setting)>, Refusal> {
    let of_speeds = |error: BadSpeeds| Refusal {
        argument: "--speeds <SPEEDS>",
        value: arguments.speeds.to_string(),
        reason: Reason::Speeds(error),
    };
    let cluster = Cluster::read(&arguments.speeds).map_err(of_speeds)?;
    let counts = match (&arguments.nodes, cluster.nodes()) {
        (Some(Counts(counts)), _) => counts.clone(),
        (None, Some(all)) => vec![all],
        (None, None) => vec![2, 4, 8, 16, 32, 64],
    };
    check_memory(arguments, counts.iter().copied().max().unwrap_or(1))?;
    let program = Product::square(arguments.blocks).expect("so many blocks have numbers");
    let mut settings = Vec::new();
    for nodes in counts {
        let speeds = cluster.of(nodes).map_err(of_speeds)?;
        for (name, policy) in &arguments.policy.0 {
            let setting = setting(arguments, program, *policy, speeds.clone());
            setting.check().map_err(|error| refusal(arguments, error))?;
            settings.push((*name, setting));
        }
    }
    Ok(settings)
}

fn setting(arguments: &SimulateArguments, program: Product, policy: Policy, speeds: Vec<f64>) -> Setting {
    let mut setting = Setting::new(policy, speeds, arguments.seed);
    setting.program = program;
    setting.transfers = arguments.transfers.into();
    setting.work.below = arguments.work;
    setting.load = arguments.load;
    setting
}

/// What the arguments' own rules have let through, as said by the simulator.
fn refusal(arguments: &SimulateArguments, error: SettingError) -> Refusal {
    let (argument, value) = match error {
        SettingError::Load(load) => ("--load <UNITS>", load.to_string()),
        SettingError::Speed { .. } => ("--speeds <SPEEDS>", arguments.speeds.to_string()),
        _ => ("--nodes <LIST>", String::new()),
    };
    Refusal { argument, value, reason: Reason::Simulation(error.to_string()) }
}

fn check_memory(arguments: &SimulateArguments, nodes: u32) -> Result<(), Refusal> {
    let at_once = (rayon::current_num_threads() as u128).min(arguments.reps.into());
    let needed = at_once * bytes(nodes, arguments.blocks);
    match aurora_core::available_memory() {
        Some(available) if needed > available as u128 => Err(Refusal {
            argument: "--nodes <LIST>",
            value: nodes.to_string(),
            reason: Reason::Nodes { blocks: arguments.blocks, needed, available: available as u64 },
        }),
        _ => Ok(()),
    }
}

/// What a repetition takes: a node has a bit for each block, and the dispatcher some words.
fn bytes(nodes: u32, blocks: u32) -> u128 {
    let blocks = 3 * u128::from(blocks).pow(2);
    u128::from(nodes) * (blocks / 8 + 1000) + 100 * blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_says_what_would() {
        assert!(bytes(4096, 128) < 64 << 20 && bytes(1 << 16, 1024) > 24 << 30);
        let reason = Reason::Nodes { blocks: 1024, needed: bytes(1 << 16, 1024), available: 23 << 30 };
        let text = reason.to_string();
        assert!(text.contains("24 GiB of memory and 23 GiB are available: ask for fewer nodes"), "{text}");
    }
}
