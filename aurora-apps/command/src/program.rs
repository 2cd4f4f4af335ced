//! The programs: the checks before ranks are started, and the measurement.

use crate::arguments::MeasuredArguments;
use crate::launch::{check_memory, check_weights, speaks};
use crate::memory::{self, Demand};
use crate::refusal::{Reason, Refusal};
use crate::table::Table;
use crate::{implementation, measure, prepare};
use aurora_apps::cholesky::Cholesky;
use aurora_apps::diffusion::Diffusion;
use aurora_apps::histogram::Histogram;
use aurora_apps::implementation::Implementation;
use aurora_apps::indexgather::IndexGather;
use aurora_apps::job::{App, Job};
use aurora_apps::mm2::Mm2;
use aurora_apps::psrs::Psrs;
use aurora_apps::report::Comparison;
use aurora_apps::sor::Sor;
use aurora_apps::sparse_mm::SparseMm;
use aurora_apps::tsp::Tsp;
use aurora_apps::wordcount::WordCount;
use aurora_core::prelude::*;
use std::fmt::Display;
use std::process::ExitCode;

/// A program of the command.
pub trait Checked: App {
    /// Checks that the job is possible in a world with this configuration: its parameters, and its memory.
    ///
    /// # Errors
    /// The argument that is impossible.
    fn check(job: &Job<Self>, config: &Config) -> Result<(), Refusal>;
}

/// Runs, verifies and measures a program.
///
/// # Errors
/// The argument that is impossible.
pub fn start<P: Checked>(arguments: &MeasuredArguments<P>) -> Result<ExitCode, Refusal>
where
    for<'r> Table<'r, Comparison<P::Report>>: Display,
{
    let MeasuredArguments { job, world } = arguments;
    let start = prepare(world)?;
    P::check(job, &start.config)?;
    implementation::check(&P::PROGRAM, &job.implementations, &start.config)?;
    Ok(measure(start, job.reps, |world, progress| P::run(world, job, progress)))
}

/// Returns whether other implementations than this library run too.
fn beside_others<P: App>(job: &Job<P>) -> bool {
    job.implementations.iter().any(|implementation| *implementation != Implementation::Aurora)
}

impl Checked for Mm2 {
    fn check(job: &Job<Self>, config: &Config) -> Result<(), Refusal> {
        let bytes = if beside_others(job) { memory::matrices_beside_others } else { memory::matrices };
        check_memory(Demand { argument: "--size <N>", value: job.program.size, bytes }, config)?;
        check_weights(&job.program.weights, config)
    }
}

impl Checked for Psrs {
    fn check(job: &Job<Self>, config: &Config) -> Result<(), Refusal> {
        let bytes = if beside_others(job) { memory::keys_beside_others } else { memory::keys };
        check_memory(Demand { argument: "--keys <N>", value: job.program.keys, bytes }, config)
    }
}

impl Checked for Histogram {
    fn check(job: &Job<Self>, config: &Config) -> Result<(), Refusal> {
        check_memory(Demand { argument: "--table <N>", value: job.program.table, bytes: memory::counters }, config)
    }
}

impl Checked for WordCount {
    fn check(job: &Job<Self>, config: &Config) -> Result<(), Refusal> {
        let WordCount { bytes, words } = job.program;
        check_memory(Demand { argument: "--bytes <B>", value: bytes, bytes: memory::texts }, config)?;
        check_memory(Demand { argument: "--words <N>", value: words, bytes: memory::words }, config)
    }
}

impl Checked for IndexGather {
    fn check(job: &Job<Self>, config: &Config) -> Result<(), Refusal> {
        let IndexGather { table, reads } = job.program;
        check_memory(Demand { argument: "--table <N>", value: table, bytes: memory::tables }, config)?;
        check_memory(Demand { argument: "--reads <N>", value: reads, bytes: memory::lookups }, config)
    }
}

impl Checked for Diffusion {
    fn check(job: &Job<Self>, config: &Config) -> Result<(), Refusal> {
        let Diffusion { rows, cols, weights, .. } = &job.program;
        let bytes = if beside_others(job) { memory::plates_beside_others } else { memory::plates };
        check_memory(Demand { argument: "--rows <N> times --cols <N>", value: rows * cols, bytes }, config)?;
        check_weights(weights, config)
    }
}

impl Checked for Sor {
    fn check(job: &Job<Self>, _: &Config) -> Result<(), Refusal> {
        let value = Some(Implementation::Naive.name().into());
        job.check().map_err(|reason| Refusal { argument: "--impl <IMPL>", value, reason: Reason::Sor(reason) })
    }
}

impl Checked for SparseMm {
    fn check(job: &Job<Self>, config: &Config) -> Result<(), Refusal> {
        let SparseMm { size, density, block, .. } = job.program;
        let value = Some(block.to_string());
        let refusal = |reason| Refusal { argument: "--block <N>", value, reason: Reason::Sparse(reason) };
        job.program.check().map_err(refusal)?;
        let bytes = memory::sparse(density, block as u64);
        check_memory(Demand { argument: "--size <N>", value: size, bytes }, config)
    }
}

impl Checked for Cholesky {
    fn check(job: &Job<Self>, config: &Config) -> Result<(), Refusal> {
        let Cholesky { size, tile, .. } = job.program;
        let value = Some(tile.to_string());
        let refusal = |reason| Refusal { argument: "--tile <N>", value, reason: Reason::Cholesky(reason) };
        job.program.check().map_err(refusal)?;
        check_memory(Demand { argument: "--size <N>", value: size, bytes: memory::tiles(tile as u64) }, config)
    }
}

impl Checked for Tsp {
    fn check(job: &Job<Self>, config: &Config) -> Result<(), Refusal> {
        if !speaks(config.launch_info()) {
            return Ok(());
        }
        let value = job.program.file.as_ref().map(|file| file.display().to_string());
        let refusal = |fault| Refusal { argument: "--file <X.tsp>", value, reason: Reason::File(fault) };
        job.program.check().map_err(refusal)
    }
}
