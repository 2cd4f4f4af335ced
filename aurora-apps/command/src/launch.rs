//! From `--ranks` and `--route` to a world, in agreement with the launcher of this process.

use crate::arguments::{RouteName, WorldArguments};
use crate::memory::Demand;
use crate::refusal::{Reason, Refusal};
use aurora_core::prelude::*;
use aurora_core::{LaunchInfo, Route};
use std::io::IsTerminal;

/// Returns whether this process reports wrong arguments to the user; all ranks find the same errors. Launchers read the
/// stderr of ranks, so a process whose stderr is a terminal runs in a shell that has inherited a launcher's variables.
pub fn speaks(starter: LaunchInfo) -> bool {
    match starter {
        LaunchInfo::Alone => true,
        LaunchInfo::Step { rank, .. } => rank.is_none_or(|rank| rank == 0) || std::io::stderr().is_terminal(),
        LaunchInfo::Rank => false,
    }
}

/// Returns the configuration of the world that the arguments describe.
///
/// # Errors
/// The wrong argument.
pub fn config(world: &WorldArguments) -> Result<Config, Refusal> {
    let config = match world.ranks {
        Some(ranks) => Config::default().ranks(ranks as usize),
        None => Config::default(),
    };
    if let LaunchInfo::Step { size: Some(size), .. } = config.launch_info() {
        if let Some(ranks) = world.ranks.filter(|ranks| *ranks as usize != size) {
            return Err(Refusal {
                argument: "--ranks <N>",
                value: Some(ranks.to_string()),
                reason: Reason::OtherSize { started: size },
            });
        }
        if world.route == RouteName::Local && size > 1 {
            return Err(Refusal {
                argument: "--route <ROUTE>",
                value: Some("local".into()),
                reason: Reason::NotThreads,
            });
        }
    }
    Ok(match world.route {
        RouteName::Auto => config,
        RouteName::Local => config.route(Route::Local),
        RouteName::Shm => config.route(Route::Shm),
        RouteName::Udp => config.route(Route::Udp),
    })
}

/// Checks that each rank has a weight, as far as the number of ranks is known, and that at least one weight is not 0.
/// Without weights all ranks are equal.
pub fn check_weights(weights: &[f64], config: &Config) -> Result<(), Refusal> {
    let ranks = config.planned_ranks().ok().flatten().unwrap_or(weights.len());
    let reason = match weights {
        [] => return Ok(()),
        weights if weights.len() != ranks => Reason::Weights { given: weights.len(), ranks },
        weights if weights.iter().all(|weight| *weight == 0.0) => Reason::NoWeight,
        _ => return Ok(()),
    };
    let value = weights.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
    Err(Refusal { argument: "--weights <W,W,..>", value: Some(value), reason })
}

/// Checks that the data fits this machine. Only the process that reports errors checks: other processes would see the
/// memory that is left after its allocations.
pub fn check_memory<F: Fn(u64, u64) -> u128>(demand: Demand<F>, config: &Config) -> Result<(), Refusal> {
    let starter = config.launch_info();
    let ranks = match starter {
        // Errors of the configuration are left for the start to report.
        LaunchInfo::Alone => config.planned_ranks().ok().flatten().unwrap_or(1),
        LaunchInfo::Step { local_size, .. } if speaks(starter) => local_size.unwrap_or(1),
        LaunchInfo::Step { .. } | LaunchInfo::Rank => return Ok(()),
    };
    match aurora_core::available_memory() {
        Some(available) => demand.check(ranks as u64, available as u64),
        None => Ok(()),
    }
}
