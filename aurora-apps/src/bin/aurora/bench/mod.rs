//! `aurora bench`: one operation between ranks, by one implementation or several.

pub mod arguments;
mod table;

use crate::implementation;
use crate::memory::{self, Demand};
use crate::refusal::Refusal;
use crate::{measure, prepare};
use arguments::BenchCommand;
use aurora_apps::bench::{self, Operation};
use aurora_core::Surroundings;
use std::process::ExitCode;

/// Runs it and prints its report.
///
/// # Errors
/// The argument that cannot be.
pub fn start(command: &BenchCommand, starter: Surroundings) -> Result<ExitCode, Refusal> {
    let (world, job) = (command.common().world, command.job());
    let config = prepare(world, starter, demand(job.operation))?;
    implementation::check(&job.operation, &job.implementations, &config, starter)?;
    Ok(measure(config, world, starter, job.reps, |world, progress| bench::run(world, &job, progress)))
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
