//! `aurora bench`: one operation between ranks, by one implementation or several.

pub mod arguments;
mod table;

use crate::memory::{self, Demand};
use crate::refusal::{Reason, Refusal};
use crate::{measure, prepare};
use arguments::BenchCommand;
use aurora_apps::bench::{self, Conditions, Job, Operation};
use aurora_core::Surroundings;
use aurora_core::prelude::*;
use std::process::ExitCode;

/// Runs it and prints its report.
///
/// # Errors
/// The argument that cannot be.
pub fn start(command: &BenchCommand, starter: Surroundings) -> Result<ExitCode, Refusal> {
    let (world, job) = (command.common().world, command.job());
    let config = prepare(world, starter, demand(job.operation))?;
    check(&job, &config, starter)?;
    Ok(measure(config, world, starter, job.reps, |world, progress| bench::run(world, &job, progress)))
}

/// Whether the implementations can be had, as far as that can be known before the job starts.
fn check(job: &Job, config: &Config, starter: Surroundings) -> Result<(), Refusal> {
    let under_mpirun = match starter {
        Surroundings::Alone => false,
        Surroundings::Step { .. } => true,
        // Who has started this rank has looked.
        Surroundings::Rank => return Ok(()),
    };
    // What is wrong with the configuration, the start will say.
    let conditions = Conditions { ranks: config.planned_ranks().ok().flatten(), under_mpirun };
    job.check(conditions).map_err(|(implementation, refusal)| {
        let (argument, value) = match refusal {
            bench::Refusal::TooFewRanks { ranks, .. } => ("--ranks <N>", ranks.to_string()),
            _ => ("--impl <IMPL>", implementation.name().into()),
        };
        Refusal { argument, value, reason: Reason::Bench(refusal) }
    })
}

fn demand(operation: Operation) -> Option<Demand> {
    let of_bytes = |bytes: usize, of| Some(Demand { argument: "--bytes <B>", value: bytes as u64, bytes: of });
    match operation {
        Operation::ReadCache { bytes, .. } => of_bytes(bytes, memory::caches),
        Operation::Exchange { keys } => {
            Some(Demand { argument: "--keys <N>", value: keys as u64, bytes: memory::exchanged })
        }
        Operation::Gather { bytes, .. } => of_bytes(bytes, memory::gathered),
        Operation::Stream { bytes } => of_bytes(bytes, memory::streamed),
        Operation::Get { .. } | Operation::Put { .. } | Operation::Barrier => None,
    }
}
