//! The repetitions: new matrices, the sequential program, the super-program, verification.

use super::report::{Measurement, in_words};
use super::sequential::checksums_of;
use super::{Launch, Matrices, Product, Sparse, SparseMm, SparseReport, checksums, product, sequential};
use crate::agree;
use crate::checksum::wrong;
use crate::clock::{Clock, Laps, Work};
use crate::implementation::{Implementation, Program};
use crate::job::{App, Job, Repetitions};
use crate::report::Comparison;
use crate::tally::Repetition;
use aurora_core::prelude::*;
use aurora_super::{Dense, Super, SuperProgram};
use std::time::Instant;

/// The phase of a repetition.
const MULTIPLY: &str = "C <- A x B";

impl App for SparseMm {
    const PROGRAM: Program = Program("sparse-mm");
    type Report = SparseReport;

    /// Verifies every element.
    fn run(world: &World, job: &Job<Self>, progress: &mut dyn FnMut(usize)) -> Result<Comparison<SparseReport>> {
        let SparseMm { size, density, block, .. } = job.program;
        job.program.check().map_err(|error| Error::user(error))?;
        agree::same(world, job)?;
        let mut reps = Repetitions::new(world, job, progress, |_| Ok(Vec::new()))?;
        for rep in reps.numbers() {
            let matrices = Matrices::new(&job.program, reps.seed, rep);
            let answer = world.is_root().then(|| Answer::new(matrices));
            reps.run(rep, |implementation, launches| {
                let (laps, found) = match implementation {
                    Implementation::Sequential => alone(world, matrices)?,
                    _ => by_super_program(world, job, matrices, launches)?,
                };
                let (wrong, sequential) =
                    answer.as_ref().map_or((0, 0.0), |answer| (answer.wrong(&found), answer.seconds));
                Ok(Repetition { laps, sequential, wrong })
            })?;
        }
        reps.compare(&in_words(density), size, |run, launches| SparseReport {
            run: run.measure("block", block),
            density,
            launch: Launch::of(launches),
        })
    }
}

/// Collective. The super-program: its times, and the checksums of C's blocks, which rank 0 needs.
fn by_super_program(
    world: &World,
    job: &Job<SparseMm>,
    matrices: Matrices,
    launches: &mut Vec<Measurement>,
) -> Result<(Laps, Vec<u64>)> {
    let super_program = job.program.policy.map_or_else(Super::default, |policy| Super::default().policy(policy));
    let sp = super_program.start(world)?;
    let begin = Instant::now();
    let mut timed = None;
    let time = |launch: Work<'_>| {
        let creation = world.all_gather(begin.elapsed().as_secs_f64())?.into_iter().fold(0.0, f64::max);
        let before = sp.report()?;
        let mut clock = Clock::start(world)?;
        clock.computing(MULTIPLY, launch)?;
        timed = Some((clock.stop()?, creation, sp.report()?.since(&before)));
        Ok(())
    };
    let product = product(&sp, matrices, time)?;
    let (laps, creation, done) = timed.expect("the super-program has launched it");
    if job.damage {
        damage(&sp, product, matrices.blocks())?;
    }
    launches.push(Measurement { creation, launch: done, entries: product.1 });
    Ok((laps, checksums(&sp, product)?))
}

/// Collective. Changes the last element of the last block of C, on its owner.
fn damage(sp: &SuperProgram<'_>, (c, _): Product, blocks: u32) -> Result<()> {
    let change = |block: &mut Dense<f64>| {
        if let Some(last) = block.values_mut().last_mut() {
            *last += 1.0;
        }
    };
    sp.each(1, change, move |_: u32| (c.at((blocks - 1, blocks - 1)),))
}

/// Collective. Runs the sequential program in its turn on rank 0, while the other ranks wait.
fn alone(world: &World, matrices: Matrices) -> Result<(Laps, Vec<u64>)> {
    let mut data = world.is_root().then(|| Data::new(matrices));
    let mut clock = Clock::start(world)?;
    clock.computing(MULTIPLY, || {
        data.iter_mut().for_each(Data::multiply);
        Ok(())
    })?;
    let laps = clock.stop()?;
    Ok((laps, data.map_or_else(Vec::new, |data| checksums_of(&data.c, matrices))))
}

/// The whole matrices.
struct Data {
    a: Sparse,
    b: Sparse,
    c: Vec<f64>,
    size: usize,
}

impl Data {
    fn new(of: Matrices) -> Self {
        let size = of.size();
        // Not zeros, because the measured program would then be the first to touch these pages.
        Data { a: Sparse::new(of, |at| of.a(at)), b: Sparse::new(of, |at| of.b(at)), c: vec![-1.0; size * size], size }
    }

    fn multiply(&mut self) {
        sequential(&self.a, &self.b, &mut self.c, self.size);
    }
}

/// The checksums of the sequential program's result, and its time.
struct Answer {
    checksums: Vec<u64>,
    seconds: f64,
}

impl Answer {
    fn new(matrices: Matrices) -> Self {
        let mut data = Data::new(matrices);
        let start = Instant::now();
        data.multiply();
        let seconds = start.elapsed().as_secs_f64();
        Answer { checksums: checksums_of(&data.c, matrices), seconds }
    }

    /// The number of wrong blocks.
    fn wrong(&self, found: &[u64]) -> u64 {
        wrong(&self.checksums, found)
    }
}
