//! The repetitions of the job: new matrices, the sequential program, the parallel programs, verification.

use super::naive::multiply_by_elements;
use super::{Kernel, Loading, Matrices, multiply, sequential};
use crate::block::{by_weight, check_weights};
use crate::clock::{Clock, Laps, Pace};
use crate::implementation::{Conditions, Implementation, Offer, Program};
use crate::report::{Comparison, Report};
use crate::tally::{Repetition, Subject, Tally};
use crate::{agree, check};
use aurora_core::prelude::*;
use std::time::Instant;

/// The parameters of a run. Every rank must pass the same parameters.
#[derive(Clone, Debug)]
pub struct Mm2 {
    /// Rows and columns of the matrices.
    pub size: usize,
    /// The kernel that multiplies.
    pub kernel: Kernel,
    /// The implementations, which take turns.
    pub implementations: Vec<Implementation>,
    /// The number of repetitions, each with new matrices.
    pub reps: usize,
    /// The rule by which phases follow each other.
    pub pace: Pace,
    /// The seed of the matrices; `None` draws a new seed.
    pub seed: Option<u64>,
    /// The weights of the ranks. Each rank gets rows in proportion to its weight; without weights the blocks are equal.
    pub weights: Vec<f64>,
    /// Flips one bit of one element of each result, to show that the verification can fail.
    pub damage: bool,
}

impl Default for Mm2 {
    fn default() -> Self {
        let implementations = vec![Implementation::Aurora];
        let (kernel, pace, weights) = (Kernel::default(), Pace::default(), Vec::new());
        Mm2 { size: 704, kernel, implementations, reps: 5, pace, seed: None, weights, damage: false }
    }
}

/// Collective. Runs the two-stage multiplication `job.reps` times by each implementation and verifies every element of
/// both products. After each repetition it calls `progress` with the number of completed repetitions.
///
/// The report is the same on all ranks.
///
/// # Errors
/// A [`Refusal`](crate::implementation::Refusal) of an implementation that cannot run, or the error that ended the job.
pub fn run(world: &World, job: &Mm2, progress: &mut dyn FnMut(usize)) -> Result<Comparison<Report>> {
    let offer = Program("mm2");
    offer.check(&job.implementations, Conditions::of(world)).map_err(|(_, refusal)| Error::user(refusal))?;
    check_weights(&job.weights, &job.implementations)?;
    let seed = agree::seed(world, job.seed)?;
    let mut shared = Shared::new(world, job)?;
    let lanes = job.implementations.iter().map(|&implementation| Lane::new(world, job, implementation));
    let mut lanes = lanes.collect::<Result<Vec<_>>>()?;
    let uncounted = job.pace.uncounted();
    for rep in 0..uncounted + job.reps {
        let entries = Matrices::new(seed, rep);
        let answer = world.is_root().then(|| Answer::new(job, entries));
        for lane in &mut lanes {
            let laps = lane.multiplication.run(job.kernel, entries, job.pace, &mut shared)?;
            let repetition = shared.verify(world, job, laps, answer.as_ref())?;
            if rep >= uncounted {
                lane.tally.add(world, &repetition)?;
            }
        }
        if rep >= uncounted {
            progress(rep + 1 - uncounted);
        }
    }
    let subject = |implementation| Subject {
        app: offer.name(),
        implementation,
        variant: job.kernel.name(),
        size: job.size,
        seed,
    };
    Comparison::of(lanes.iter().map(|lane| lane.tally.report(world, subject(lane.implementation))).collect())
        .map_err(|error| Error::user(error))
}

/// One way to share the matrices.
pub trait Multiplication {
    /// Collective. Runs both stages with the matrices of `entries`, and leaves P and R in `shared`.
    ///
    /// # Errors
    /// The error that ended the job.
    fn run(&mut self, kernel: Kernel, entries: Matrices, pace: Pace, shared: &mut Shared) -> Result<Laps>;
}

/// One implementation with its measurements.
struct Lane<'w> {
    implementation: Implementation,
    multiplication: Box<dyn Multiplication + 'w>,
    tally: Tally,
}

impl<'w> Lane<'w> {
    fn new(world: &'w World, job: &Mm2, implementation: Implementation) -> Result<Self> {
        let multiplication: Box<dyn Multiplication + 'w> = match implementation {
            #[cfg(feature = "mpi")]
            mpi if mpi.is_mpi() => Box::new(super::mpi::OverMpi::new(world, job.size, mpi)?),
            Implementation::Sequential => Box::new(Alone { world, size: job.size }),
            other => {
                let loading = match other {
                    Implementation::Naive => None,
                    Implementation::AuroraWhole => Some(Loading::Whole),
                    _ => Some(Loading::Streaming),
                };
                Box::new(Aurora { world, loading, q: matrix(world, job)? })
            }
        };
        Ok(Lane { implementation, multiplication, tally: Tally::default() })
    }
}

/// The parallel program on shared matrices, or the program without a behaviour.
struct Aurora<'w> {
    world: &'w World,
    /// The way in which B is loaded; `None` for default access.
    loading: Option<Loading>,
    q: GVector<i32>,
}

impl Multiplication for Aurora<'_> {
    fn run(&mut self, kernel: Kernel, entries: Matrices, pace: Pace, shared: &mut Shared) -> Result<Laps> {
        let Aurora { world, loading, q } = self;
        let Shared { p, r, .. } = shared;
        check::fill(q, |i| entries.q(i))?;
        check::fill(r, |i| entries.r(i))?;
        let mut clock = Clock::paced(*world, pace)?;
        match *loading {
            Some(loading) => multiply(kernel, loading, q, r, p, &mut clock)?,
            None => multiply_by_elements(world, q, r, p, &mut clock)?,
        }
        clock.stop()
    }
}

/// The sequential program on rank 0, while the other ranks wait.
struct Alone<'w> {
    world: &'w World,
    size: usize,
}

impl Multiplication for Alone<'_> {
    fn run(&mut self, kernel: Kernel, entries: Matrices, pace: Pace, shared: &mut Shared) -> Result<Laps> {
        let (q, mut r, mut p) = if self.world.is_root() { matrices(self.size, entries) } else { Default::default() };
        let mut clock = Clock::paced(self.world, pace)?;
        clock.computing("multiply", || {
            if self.world.is_root() {
                sequential(kernel, &q, &mut r, &mut p, self.size);
            }
            Ok(())
        })?;
        let laps = clock.stop()?;
        check::spread(self.world, &p, &mut shared.p)?;
        check::spread(self.world, &r, &mut shared.r)?;
        Ok(laps)
    }
}

/// The verified matrices, which live through all repetitions.
#[derive(Debug)]
pub struct Shared {
    /// P, after the first stage.
    pub p: GVector<i32>,
    /// R, after the second stage.
    pub r: GVector<i32>,
    /// The expected values of P and R in turn, from the sequential program.
    expected: GVector<i32>,
}

impl Shared {
    fn new(world: &World, job: &Mm2) -> Result<Self> {
        Ok(Shared { p: matrix(world, job)?, r: matrix(world, job)?, expected: matrix(world, job)? })
    }

    /// Collective. Compares both products with rank 0's `answer`.
    fn verify(&mut self, world: &World, job: &Mm2, laps: Laps, answer: Option<&Answer>) -> Result<Repetition> {
        if job.damage {
            flip(world, &mut self.r)?;
        }
        let nothing: &[i32] = &[];
        let (p, r, seconds) = match answer {
            Some(answer) => (&answer.p[..], &answer.r[..], answer.seconds),
            None => (nothing, nothing, 0.0),
        };
        check::spread(world, p, &mut self.expected)?;
        let wrong_p = check::wrong_elements(&self.p, &self.expected)?;
        check::spread(world, r, &mut self.expected)?;
        let wrong_r = check::wrong_elements(&self.r, &self.expected)?;
        Ok(Repetition { laps, sequential: seconds, wrong: wrong_p + wrong_r })
    }
}

/// Collective. Makes one of the shared matrices.
fn matrix(world: &World, job: &Mm2) -> Result<GVector<i32>> {
    GVector::new(world, by_weight(MatrixDim::new(job.size, job.size), &job.weights))
}

/// The sequential program's result for the same matrices, and its time.
struct Answer {
    p: Vec<i32>,
    r: Vec<i32>,
    seconds: f64,
}

impl Answer {
    fn new(job: &Mm2, entries: Matrices) -> Self {
        let (q, mut r, mut p) = matrices(job.size, entries);
        let start = Instant::now();
        sequential(job.kernel, &q, &mut r, &mut p, job.size);
        let seconds = start.elapsed().as_secs_f64();
        Answer { p, r, seconds }
    }
}

/// Makes Q, R and memory for P on one rank.
fn matrices(size: usize, entries: Matrices) -> (Vec<i32>, Vec<i32>, Vec<i32>) {
    let elements = 0..size * size;
    let q: Vec<i32> = elements.clone().map(|i| entries.q(i)).collect();
    let r = elements.map(|i| entries.r(i)).collect();
    // Not zeros, because the measured program would then be the first to touch these pages.
    let p = vec![-1; q.len()];
    (q, r, p)
}

/// Flips a bit of the last element when all ranks have written their rows.
fn flip(world: &World, matrix: &mut GVector<i32>) -> Result<()> {
    world.barrier()?;
    if world.is_root()
        && let Some(last) = matrix.len().checked_sub(1)
    {
        let value = matrix.at(last)?;
        matrix.put(last, value ^ 1)?;
    }
    world.barrier()
}
