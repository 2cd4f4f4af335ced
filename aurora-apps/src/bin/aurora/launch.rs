//! From `--ranks` and `--route` to a world, in agreement with whoever started this process.

use crate::arguments::{RouteName, WorldArguments};
use crate::memory::{self, Demand};
use crate::refusal::{Reason, Refusal};
use aurora_core::Route;
use aurora_core::prelude::*;
use std::env;

/// Who started this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Starter {
    /// A user, or a rank that a user started: the job's size is ours to choose.
    User,
    /// One of our own ranks.
    Rank,
    /// A step of MPI or Slurm.
    Step {
        /// This process's rank.
        rank: u32,
        /// How many there are.
        size: u32,
    },
}

impl Starter {
    /// Looks at the environment.
    pub fn detect() -> Self {
        let number = |name: &str| env::var(name).ok()?.parse().ok();
        let step = |rank: &str, size: &str| {
            Some(Starter::Step {
                size: number(size)?,
                rank: number(rank)?,
            })
        };
        if env::var_os("AURORA_JOB").is_some() {
            return Starter::Rank;
        }
        step("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")
            .or_else(|| step("PMI_RANK", "PMI_SIZE"))
            .or_else(|| step("SLURM_PROCID", "SLURM_STEP_NUM_TASKS").filter(Starter::is_parallel))
            .unwrap_or(Starter::User)
    }

    /// Slurm also runs programs that are no parallel job: one task is one ordinary process.
    fn is_parallel(&self) -> bool {
        !matches!(self, Starter::Step { size: 1, .. })
    }

    /// Whether this process tells the user about wrong arguments; all ranks find the same ones wrong.
    pub fn speaks(self) -> bool {
        matches!(self, Starter::User | Starter::Step { rank: 0, .. })
    }
}

/// The world that the arguments ask for.
///
/// # Errors
/// The argument that cannot be.
pub fn config(world: WorldArguments, starter: Starter) -> Result<Config, Refusal> {
    if let Starter::Step { size, .. } = starter {
        if let Some(ranks) = world.ranks.filter(|ranks| *ranks != size) {
            return Err(Refusal {
                argument: "--ranks <N>",
                value: ranks.to_string(),
                reason: Reason::OtherSize { started: size },
            });
        }
        if world.route == RouteName::Local && size > 1 {
            return Err(Refusal {
                argument: "--route <ROUTE>",
                value: "local".into(),
                reason: Reason::NotThreads,
            });
        }
    }
    let config = match world.ranks {
        Some(ranks) => Config::default().ranks(ranks as usize),
        None => Config::default(),
    };
    Ok(match world.route {
        RouteName::Auto => config,
        RouteName::Local => config.route(Route::Local),
        RouteName::Udp => config.route(Route::Udp),
    })
}

/// Whether the data fits this machine. Only the process that speaks looks: the others would see what is left after it.
pub fn check_memory(
    demand: Demand,
    world: WorldArguments,
    starter: Starter,
) -> Result<(), Refusal> {
    let ranks = match starter {
        Starter::User => world.ranks.map_or_else(default_ranks, |n| n as usize) as u64,
        // How many of them are on this machine we cannot know yet.
        Starter::Step { rank: 0, .. } => 1,
        Starter::Step { .. } | Starter::Rank => return Ok(()),
    };
    match memory::available() {
        Some(available) => demand.check(ranks, available),
        None => Ok(()),
    }
}

/// The cores, at most 4, as the library does it.
fn default_ranks() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().min(4))
}
