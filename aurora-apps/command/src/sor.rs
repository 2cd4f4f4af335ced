//! `aurora sor`: red-black successive over-relaxation.

use crate::arguments::{Repetitions, WorldArguments};
use crate::implementation::{self, Implementations};
use crate::refusal::{Reason, Refusal};
use crate::{measure, prepare};
use aurora_apps::implementation::{Implementation, Program};
use aurora_apps::sor::{self, Problem, Sor};
use clap::{Args, ValueEnum};
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct SorArguments {
    /// The matrix
    #[arg(long, value_enum, default_value_t)]
    pub size: SizeName,
    #[command(flatten)]
    pub implementations: Implementations,
    #[command(flatten)]
    pub repetitions: Repetitions,
    #[command(flatten)]
    pub world: WorldArguments,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default)]
pub enum SizeName {
    /// 1000 x 1000 of 64 bits, 100 iterations: size A of Java Grande, with its published sum
    #[default]
    A,
    /// 1500 x 1500: size B
    B,
    /// 2000 x 2000: size C
    C,
    /// 1024 x 3072 of 32 bits, 101 half-sweeps: the comparison of TreadMarks with PVM
    Paper,
    /// 50 x 70 of 64 bits, 10 iterations: also element by element
    S,
}

impl SorArguments {
    fn job(&self) -> Sor {
        Sor {
            problem: match self.size {
                SizeName::A => Problem::A,
                SizeName::B => Problem::B,
                SizeName::C => Problem::C,
                SizeName::Paper => Problem::PAPER,
                SizeName::S => Problem::S,
            },
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
pub fn start(arguments: &SorArguments) -> Result<ExitCode, Refusal> {
    let job = arguments.job();
    job.check().map_err(|reason| Refusal {
        argument: "--impl <IMPL>",
        value: Some(Implementation::Naive.name().into()),
        reason: Reason::Sor(reason),
    })?;
    let start = prepare(&arguments.world, None)?;
    implementation::check(&Program("sor"), &job.implementations, &start.config)?;
    Ok(measure(start, job.reps, |world, progress| sor::run(world, &job, progress)))
}
