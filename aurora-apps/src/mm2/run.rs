//! The repetitions of the main job: new matrices, the sequential program, the parallel one, verification.

use super::parallel::{FIRST, SECOND};
use super::{Kernel, Matrices, Multiplier, sequential};
use crate::clock::{Clock, Laps};
use crate::report::{Repetition, Report};
use crate::tally::{Subject, Tally};
use crate::{agree, check};
use aurora_core::prelude::*;
use std::time::Instant;

/// What to run. Every rank must ask for the same.
#[derive(Clone, Copy, Debug)]
pub struct Mm2 {
    /// Rows and columns of the matrices.
    pub size: usize,
    /// What multiplies.
    pub kernel: Kernel,
    /// How often, each time with new matrices.
    pub reps: usize,
    /// What the matrices are made from; `None` draws a new seed.
    pub seed: Option<u64>,
    /// Flips one bit of one element of each result, to show that the verification can fail.
    pub damage: bool,
}

impl Default for Mm2 {
    fn default() -> Self {
        Mm2 { size: 704, kernel: Kernel::default(), reps: 5, seed: None, damage: false }
    }
}

/// Collective. Runs the two-stage multiplication `job.reps` times and verifies every element of both products.
/// After each repetition `progress` hears how many are done.
///
/// The report is the same on all ranks.
pub fn run(world: &World, job: &Mm2, progress: &mut dyn FnMut(usize)) -> Result<Report> {
    let seed = agree::seed(world, job.seed)?;
    let mut shared = Shared::new(world, job.size)?;
    let mut tally = Tally::default();
    for rep in 0..job.reps {
        let repetition = shared.repetition(world, job, Matrices::new(seed, rep))?;
        tally.add(world, &repetition)?;
        progress(rep + 1);
    }
    let subject = Subject { app: "mm2", variant: job.kernel.name(), size: job.size, seed };
    Ok(tally.report(world, subject))
}

/// The shared matrices, which live through all repetitions.
struct Shared {
    q: GVector<i32>,
    r: GVector<i32>,
    p: GVector<i32>,
    /// What P and R must be, from the sequential program.
    expected: GVector<i32>,
}

impl Shared {
    fn new(world: &World, size: usize) -> Result<Self> {
        let matrix = || GVector::new(world, MatrixDim::new(size, size));
        Ok(Shared { q: matrix()?, r: matrix()?, p: matrix()?, expected: matrix()? })
    }

    fn repetition(&mut self, world: &World, job: &Mm2, entries: Matrices) -> Result<Repetition> {
        check::fill(&mut self.q, |i| entries.q(i))?;
        check::fill(&mut self.r, |i| entries.r(i))?;
        let answer = world.is_root().then(|| Answer::new(job, entries));
        let laps = self.multiply(world, job.kernel)?;
        if job.damage {
            flip(world, &mut self.r)?;
        }
        let nothing: &[i32] = &[];
        let (p, r, seconds) = match &answer {
            Some(answer) => (&answer.p[..], &answer.r[..], answer.seconds),
            None => (nothing, nothing, 0.0),
        };
        check::spread(world, p, &mut self.expected)?;
        let wrong_p = check::wrong_elements(&self.p, &self.expected)?;
        check::spread(world, r, &mut self.expected)?;
        let wrong_r = check::wrong_elements(&self.r, &self.expected)?;
        Ok(Repetition { laps, sequential: seconds, wrong: wrong_p + wrong_r })
    }

    /// The parallel program.
    fn multiply(&mut self, world: &World, kernel: Kernel) -> Result<Laps> {
        let Shared { q, r, p, .. } = self;
        let mut clock = Clock::start(world)?;
        let mut stages = Multiplier::new(kernel, &mut clock);
        stages.at(FIRST).mmultiply(q, r, p)?;
        stages.at(SECOND).mmultiply(q, p, r)?;
        clock.stop()
    }
}

/// What the sequential program computes from the same matrices, and how long it takes.
struct Answer {
    p: Vec<i32>,
    r: Vec<i32>,
    seconds: f64,
}

impl Answer {
    fn new(job: &Mm2, entries: Matrices) -> Self {
        let elements = 0..job.size * job.size;
        let q: Vec<i32> = elements.clone().map(|i| entries.q(i)).collect();
        let mut r: Vec<i32> = elements.map(|i| entries.r(i)).collect();
        // Not zeros: those would be pages that the measured program is the first to touch.
        let mut p = vec![-1; q.len()];
        let start = Instant::now();
        sequential(job.kernel, &q, &mut r, &mut p, job.size);
        let seconds = start.elapsed().as_secs_f64();
        Answer { p, r, seconds }
    }
}

/// Flips a bit of the last element.
fn flip(world: &World, matrix: &mut GVector<i32>) -> Result<()> {
    if world.is_root()
        && let Some(last) = matrix.len().checked_sub(1)
    {
        let value = matrix.at(last)?;
        matrix.put(last, value ^ 1)?;
    }
    world.barrier()
}
