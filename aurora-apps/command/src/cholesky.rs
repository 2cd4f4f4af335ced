//! `aurora cholesky`: a super-program on ranks, in many launches.

use crate::arguments::{Repetitions, WorldArguments};
use crate::implementation::{self, Implementations};
use crate::launch;
use crate::memory::{self, Demand};
use crate::refusal::{Reason, Refusal};
use crate::table::Table;
use crate::values::number;
use crate::{measure, prepare};
use aurora_apps::cholesky::{self, Cholesky, CholeskyReport, MOST_OF_A_TILE, MOST_ROWS};
use aurora_apps::implementation::Program;
use aurora_apps::report::Comparison;
use aurora_super::Policy;
use clap::Args;
use std::fmt::{self, Display, Formatter};
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct CholeskyArguments {
    /// Rows and columns of the matrix
    #[arg(long, value_name = "N", default_value_t = 1536, value_parser = number::<u32>(1..=MOST_ROWS as u64))]
    pub size: u32,
    /// Rows and columns of a tile. Tiles at the right and lower border are smaller if the size is no multiple
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = number::<u32>(1..=MOST_OF_A_TILE as u64))]
    pub tile: u32,
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

impl CholeskyArguments {
    fn job(&self) -> Cholesky {
        Cholesky {
            size: self.size as usize,
            tile: self.tile as usize,
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
pub fn start(arguments: &CholeskyArguments) -> Result<ExitCode, Refusal> {
    let job = arguments.job();
    job.check().map_err(|reason| Refusal {
        argument: "--tile <N>",
        value: Some(arguments.tile.to_string()),
        reason: Reason::Cholesky(reason),
    })?;
    let start = prepare(&arguments.world, None)?;
    let bytes = memory::tiles(arguments.tile.into());
    launch::check_memory(Demand { argument: "--size <N>", value: arguments.size.into(), bytes }, &start.config)?;
    implementation::check(&Program("cholesky"), &job.implementations, &start.config)?;
    Ok(measure(start, job.reps, |world, progress| cholesky::run(world, &job, progress)))
}

impl Display for Table<'_, Comparison<CholeskyReport>> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (number, report) in self.0.results.iter().enumerate() {
            let space = if number > 0 { "\n" } else { "" };
            write!(f, "{space}{}", Table(&report.run))?;
            writeln!(f, "residual   {:.2} x machine epsilon x norm of A", report.residual)?;
            report.launches.iter().try_for_each(|launches| write!(f, "\n{}", Table(launches)))?;
        }
        Ok(())
    }
}
