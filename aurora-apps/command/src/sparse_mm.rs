//! `aurora sparse-mm`: a super-program on ranks.

use crate::arguments::{Repetitions, WorldArguments};
use crate::implementation::{self, Implementations};
use crate::launch;
use crate::memory::{self, Demand};
use crate::refusal::{Reason, Refusal};
use crate::table::{Table, line};
use crate::values::{density, number};
use crate::{measure, prepare};
use aurora_apps::implementation::Program;
use aurora_apps::report::Comparison;
use aurora_apps::sparse_mm::{self, Launch, MOST_OF_A_BLOCK, MOST_ROWS, SparseMm, SparseReport};
use aurora_super::Policy;
use clap::Args;
use std::fmt::{self, Display, Formatter};
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct SparseMmArguments {
    /// Rows and columns of the matrices
    #[arg(long, value_name = "N", default_value_t = 2048, value_parser = number::<u32>(1..=MOST_ROWS as u64))]
    pub size: u32,
    /// Probability that an element of A or B is not zero: a fraction or a percentage
    #[arg(long, value_name = "P", default_value = "12.5%", value_parser = density, allow_negative_numbers = true)]
    pub density: f64,
    /// Rows and columns of a block. Blocks at the right and lower border are smaller if the size is no multiple
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = number::<u32>(1..=MOST_OF_A_BLOCK as u64))]
    pub block: u32,
    /// Policy by which ranks get instructions: syn, S, R, SR, SS, tail or ect [default: AURORA_SUPER_POLICY, or tail]
    #[arg(long, value_name = "NAME")]
    pub policy: Option<Policy>,
    #[command(flatten)]
    pub implementations: Implementations,
    #[command(flatten)]
    pub repetitions: Repetitions,
    #[command(flatten)]
    pub world: WorldArguments,
}

impl SparseMmArguments {
    fn job(&self) -> SparseMm {
        SparseMm {
            size: self.size as usize,
            density: self.density,
            block: self.block as usize,
            policy: self.policy,
            implementations: self.implementations.list.clone(),
            reps: self.repetitions.reps as usize,
            seed: self.repetitions.seed,
            damage: self.repetitions.damage,
        }
    }
}

/// Runs, verifies and measures the program.
///
/// # Errors
/// The argument that is impossible.
pub fn start(arguments: &SparseMmArguments) -> Result<ExitCode, Refusal> {
    let job = arguments.job();
    job.check().map_err(|reason| Refusal {
        argument: "--block <N>",
        value: Some(arguments.block.to_string()),
        reason: Reason::Sparse(reason),
    })?;
    let start = prepare(&arguments.world, None)?;
    let bytes = memory::sparse(job.density, arguments.block.into());
    let demand = Demand { argument: "--size <N>", value: arguments.size.into(), bytes };
    launch::check_memory(demand, &start.config)?;
    implementation::check(&Program("sparse-mm"), &job.implementations, &start.config)?;
    Ok(measure(start, job.reps, |world, progress| sparse_mm::run(world, &job, progress)))
}

impl Display for Table<'_, Comparison<SparseReport>> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (number, report) in self.0.results.iter().enumerate() {
            let space = if number > 0 { "\n" } else { "" };
            write!(f, "{space}{}", Table(&report.run))?;
            report.launch.iter().try_for_each(|launch| write!(f, "\n{}", Table(launch)))?;
        }
        Ok(())
    }
}

impl Display for Table<'_, Launch> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let launch = self.0;
        writeln!(f, "{:34}{:>12}{:>12}{:>12}", "before the launch: seconds", "min", "median", "max")?;
        line(f, "creation of blocks", launch.creation_seconds)?;
        writeln!(f, "entries       {}\n", launch.entries)?;
        Table(&launch.figures).fmt(f)
    }
}
