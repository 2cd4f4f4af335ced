//! What carries out the iterations of one variant, on every rank.

use super::case::{Variant, Work};
use super::scope::Scopes;
use aurora_apps::bench::{Job, Operation, Series, Took};
use aurora_apps::mm2::{self, Mm2};
use aurora_apps::psrs::{self, Psrs};
use aurora_apps::report::{Comparison, Measured, Report};
use aurora_core::prelude::*;

/// A variant, ready to run.
pub enum Stage<'w> {
    /// An operation, with its memory.
    Series(Box<Series<'w>>),
    /// A scope, with its table.
    Scopes(&'w World, Box<Scopes>),
    /// A program, which makes its memory by itself.
    Program(&'w World, Program),
}

/// A program, with how often it repeats itself still open.
#[derive(Clone, Debug)]
pub enum Program {
    /// The two-stage multiplication.
    Mm2(Mm2),
    /// The sort.
    Psrs(Psrs),
}

impl<'w> Stage<'w> {
    /// Collective. With `damage` its results are wrong.
    pub fn new(world: &'w World, variant: Variant, damage: bool) -> Result<Self> {
        let implementations = vec![variant.by];
        let operation = match variant.case.work {
            Work::Operation(operation) => operation,
            Work::LoadAndRead(bytes) => Operation::ReadCache { bytes, late: None },
            Work::Scope(scope) => return Ok(Stage::Scopes(world, Box::new(Scopes::new(world, scope, damage)?))),
            Work::Mm2(size) => {
                let program = Program::Mm2(Mm2 { size, implementations, damage, ..Mm2::default() });
                return Ok(Stage::Program(world, program));
            }
            Work::Psrs(keys) => {
                let program = Program::Psrs(Psrs { keys, implementations, damage, ..Psrs::default() });
                return Ok(Stage::Program(world, program));
            }
        };
        let job = Job { operation, implementations, reps: 0, seed: None, damage };
        Ok(Stage::Series(Box::new(Series::new(world, &job)?)))
    }

    /// Collective. So many iterations; `progress` hears of each, or of some at a time.
    pub fn run(&mut self, iterations: u64, progress: &mut dyn FnMut()) -> Result<Took> {
        match self {
            Stage::Series(series) => series.run(iterations, progress),
            Stage::Scopes(world, scopes) => scopes.run(world, iterations, progress),
            Stage::Program(world, program) => program.run(world, iterations, progress),
        }
    }
}

impl Program {
    /// Collective. One repetition more than `iterations`, of which the first does not count: it touches new memory.
    fn run(&mut self, world: &World, iterations: u64, progress: &mut dyn FnMut()) -> Result<Took> {
        let reps = usize::try_from(iterations).unwrap_or(usize::MAX).saturating_add(1);
        let mut progress = |_| progress();
        let comparison: Comparison<Report> = match self {
            Program::Mm2(job) => mm2::run(world, &Mm2 { reps, ..job.clone() }, &mut progress)?,
            Program::Psrs(job) => psrs::run(world, &Psrs { reps, ..job.clone() }, &mut progress)?,
        };
        let seconds = comparison.main.repetitions.iter().skip(1).sum();
        Ok(Took { seconds, with_read: 0.0, wrong: if comparison.verified() { 0.0 } else { 1.0 } })
    }
}
