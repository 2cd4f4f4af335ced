//! `aurora bench`: one operation between ranks, by one implementation or several.

pub mod arguments;
pub mod check_cost;
mod table;

use crate::implementation;
use crate::launch::check_memory;
use crate::memory::{self, Bytes, Demand};
use crate::refusal::{Reason, Refusal};
use crate::{measure, prepare};
use arguments::{BenchCommand, OperationCommand};
use aurora_apps::bench::{self, Operation};
use aurora_core::LaunchInfo;
use std::process::ExitCode;

/// Runs the operation and prints its report.
///
/// # Errors
/// The wrong argument.
pub fn start(command: &BenchCommand, starter: LaunchInfo) -> Result<ExitCode, Refusal> {
    match command {
        BenchCommand::Operation(command) => measured(command),
        BenchCommand::CheckCost(arguments) => Ok(check_cost::show(arguments, starter)),
    }
}

fn measured(command: &OperationCommand) -> Result<ExitCode, Refusal> {
    let job = command.job();
    let start = prepare(&command.common().world)?;
    demand(job.operation).map_or(Ok(()), |demand| check_memory(demand, &start.config))?;
    check(job.operation)?;
    implementation::check(&job.operation, &job.implementations, &start.config)?;
    Ok(measure(start, job.reps, |world, progress| bench::run(world, &job, progress)))
}

fn check(operation: Operation) -> Result<(), Refusal> {
    match operation {
        Operation::Reads { reads, batch, .. } if batch > reads => {
            Err(Refusal { argument: "--batch <N>", value: Some(batch.to_string()), reason: Reason::Batch { reads } })
        }
        _ => Ok(()),
    }
}

fn demand(operation: Operation) -> Option<Demand> {
    let of_bytes = |bytes: usize, of: Bytes| Some(Demand { argument: "--bytes <B>", value: bytes, bytes: of });
    match operation {
        Operation::ReadCache { bytes, .. } => of_bytes(bytes, memory::caches),
        Operation::Exchange { keys } => Some(Demand { argument: "--keys <N>", value: keys, bytes: memory::exchanged }),
        Operation::Gather { bytes, .. } => of_bytes(bytes, memory::gathered),
        Operation::Stream { bytes } => of_bytes(bytes, memory::streamed),
        Operation::Copy { bytes, .. } => of_bytes(bytes, memory::copied),
        Operation::Updates { table, .. } | Operation::Reads { table, .. } => {
            Some(Demand { argument: "--table <T>", value: table, bytes: memory::tables })
        }
        Operation::FirstTouch { bytes, .. } => of_bytes(bytes, memory::touched),
        Operation::AllReduce { .. } => of_bytes(operation.bytes(), memory::reduced),
        Operation::Get { .. }
        | Operation::Put { .. }
        | Operation::FetchAdd { .. }
        | Operation::ScalarSum
        | Operation::Local { .. }
        | Operation::Barrier => None,
    }
}
