//! The job of a program: its parameters, the implementations that take turns, and the repetitions.

use crate::agree;
use crate::implementation::{Conditions, Implementation, Offer, Program};
use crate::report::{Comparison, Measured, Report};
use crate::tally::{Repetition, Tally};
use crate::values::number;
use aurora_core::prelude::*;
use clap::Args;
use serde::Serialize;
use std::fmt::Debug;
use std::ops::Range;

/// A program that is run, verified and measured. Its fields are the parameters on the command line.
pub trait App: Args + Clone + Debug + Sync {
    /// The program's name, and its implementations.
    const PROGRAM: Program;
    /// The report of an implementation.
    type Report: Measured + Serialize + Send;

    /// Collective. Runs and verifies all repetitions of the job by each implementation. It calls `progress` with the
    /// number of completed repetitions. The report is the same on all ranks.
    ///
    /// # Errors
    /// A [`Refusal`](crate::implementation::Refusal) of an implementation that cannot run, the reason why the
    /// parameters are impossible, or the error that ended the job.
    fn run(world: &World, job: &Job<Self>, progress: &mut dyn FnMut(usize)) -> Result<Comparison<Self::Report>>;
}

/// The parameters of a run. Every rank must pass the same parameters.
#[derive(Args, Clone, Debug)]
pub struct Job<P: Args> {
    /// The program, with its own parameters.
    #[command(flatten)]
    pub program: P,
    /// Implementation to run. Several, separated by commas, take turns in one job.
    #[arg(id = IMPLEMENTATIONS, long = "impl", value_name = "IMPL", value_delimiter = ',')]
    #[arg(value_enum, default_values_t = [Implementation::default()])]
    pub implementations: Vec<Implementation>,
    /// Number of repetitions, each with new data.
    #[arg(long, value_name = "N", default_value_t = REPS, value_parser = number::<usize>(1..=1_000_000))]
    pub reps: usize,
    /// Seed of the data [default: a new one each time].
    #[arg(long, value_name = "N", value_parser = number::<u64>(0..))]
    pub seed: Option<u64>,
    /// Damage each result before it is verified.
    ///
    /// It shows that the verification can fail.
    #[arg(long, hide = true)]
    pub damage: bool,
}

/// The default number of repetitions.
const REPS: usize = 5;

/// The id of `--impl` in clap. The command replaces the parser by one that accepts the program's implementations only.
pub const IMPLEMENTATIONS: &str = "implementations";

impl<P: Args> Job<P> {
    /// Returns the job of `program` with the default implementation, number of repetitions and seed.
    pub fn of(program: P) -> Self {
        Job { program, implementations: vec![Implementation::default()], reps: REPS, seed: None, damage: false }
    }
}

/// Returns the parameters of a command line that has no arguments.
///
/// # Panics
/// A parameter has no default.
pub fn defaults<P: Args>() -> P {
    let command = P::augment_args(clap::Command::new("")).no_binary_name(true);
    let parsed = command.try_get_matches_from([""; 0]).and_then(|matches| P::from_arg_matches(&matches));
    parsed.expect("each parameter has a default")
}

/// The repetitions of a job, in each of which its implementations take turns. `L` has the state of one implementation.
pub struct Repetitions<'a, L> {
    world: &'a World,
    program: Program,
    /// The seed of the data, which is the same on all ranks.
    pub seed: u64,
    reps: usize,
    uncounted: usize,
    lanes: Vec<(Implementation, L, Tally)>,
    progress: &'a mut dyn FnMut(usize),
}

impl<'a, L> Repetitions<'a, L> {
    /// Collective. Checks that all implementations of the job can run, agrees on a seed, and makes the state of each
    /// implementation by `lane`.
    ///
    /// # Errors
    /// A [`Refusal`](crate::implementation::Refusal), an error of `lane`, or the error that ended the job.
    #[track_caller]
    pub fn new<P: App>(
        world: &'a World,
        job: &Job<P>,
        progress: &'a mut dyn FnMut(usize),
        mut lane: impl FnMut(Implementation) -> Result<L>,
    ) -> Result<Self> {
        let Job { implementations, reps, seed, .. } = job;
        if let Err((_, refusal)) = P::PROGRAM.check(implementations, Conditions::of(world)) {
            return Err(Error::user(refusal));
        }
        let seed = agree::seed(world, *seed)?;
        let lanes = implementations.iter().map(|of| Ok((*of, lane(*of)?, Tally::default())));
        let lanes = lanes.collect::<Result<_>>()?;
        Ok(Repetitions { world, program: P::PROGRAM, seed, reps: *reps, uncounted: 0, lanes, progress })
    }

    /// Runs `uncounted` more repetitions first. Neither the reports nor `progress` count them.
    pub fn uncounted(self, uncounted: usize) -> Self {
        Repetitions { uncounted, ..self }
    }

    /// Returns the numbers of all repetitions.
    pub fn numbers(&self) -> Range<usize> {
        0..self.uncounted + self.reps
    }

    /// Collective. Runs repetition `rep` by each implementation in turn.
    ///
    /// # Errors
    /// The first error of `run`, or the error that ended the job.
    pub fn run(&mut self, rep: usize, mut run: impl FnMut(Implementation, &mut L) -> Result<Repetition>) -> Result<()> {
        let counted = (rep + 1).saturating_sub(self.uncounted);
        for (implementation, lane, tally) in &mut self.lanes {
            let repetition = run(*implementation, lane)?;
            if counted > 0 {
                tally.add(self.world, &repetition)?;
            }
        }
        if counted > 0 {
            (self.progress)(counted);
        }
        Ok(())
    }

    /// Returns the reports of all implementations, which `finish` completes. `variant` is the kernel or the kind of
    /// input, and `size` the number of rows or elements.
    ///
    /// # Errors
    /// There are no implementations.
    pub fn compare<R: Measured + Clone>(
        &self,
        variant: &str,
        size: usize,
        finish: impl Fn(Report, &L) -> R,
    ) -> Result<Comparison<R>> {
        let report = |(implementation, lane, tally): &(Implementation, L, Tally)| {
            let (app, variant, seed) = (self.program.name().into(), variant.into(), self.seed);
            finish(Report { app, variant, size, seed, ..tally.report(self.world, *implementation) }, lane)
        };
        Comparison::of(self.lanes.iter().map(report).collect()).map_err(|error| Error::user(error))
    }
}
