//! The repetitions of the job: new matrices, the sequential program, the parallel programs, verification.

use super::naive::multiply_by_elements;
use super::{Kernel, Loading, Matrices, multiply, sequential};
use crate::block::{by_weight, check_weights};
use crate::check;
use crate::clock::{Clock, Laps, Pace, apart};
use crate::implementation::{Implementation, Program};
use crate::job::{App, Job, Repetitions};
use crate::report::{Comparison, Report};
use crate::tally::Repetition;
use crate::values::{number, weight};
use aurora_core::prelude::*;
use clap::{ArgAction, Args};
use std::time::Instant;

/// The parameters of a run.
#[derive(Args, Clone, Debug)]
pub struct Mm2 {
    /// Rows and columns of the matrices.
    #[arg(long, value_name = "N", default_value_t = 704, value_parser = number::<usize>(1..=u32::MAX.into()))]
    pub size: usize,
    /// Inner loop of the multiplication.
    #[arg(long, value_enum, default_value_t)]
    pub kernel: Kernel,
    /// Separate computing and sharing by barriers, for nodes that share cores, such as an emulated cluster.
    #[arg(long = "apart", action = ArgAction::SetTrue, value_parser = apart())]
    pub pace: Pace,
    /// Speeds of the ranks, a number for each: `1,3` gives rank 1 three times as many rows as rank 0 [default: equal
    /// blocks].
    #[arg(long, value_name = "W,W,..", value_delimiter = ',', value_parser = weight, allow_negative_numbers = true)]
    pub weights: Vec<f64>,
}

impl App for Mm2 {
    const PROGRAM: Program = Program("mm2");
    type Report = Report;

    /// Verifies every element of both products.
    fn run(world: &World, job: &Job<Self>, progress: &mut dyn FnMut(usize)) -> Result<Comparison<Report>> {
        let mm2 = &job.program;
        check_weights(&mm2.weights, &job.implementations)?;
        let reps = Repetitions::new(world, job, progress, |implementation| multiplication(world, mm2, implementation))?;
        let mut reps = reps.uncounted(mm2.pace.uncounted());
        let mut shared = Shared::new(world, mm2)?;
        for rep in reps.numbers() {
            let entries = Matrices::new(reps.seed, rep);
            let answer = world.is_root().then(|| Answer::new(mm2, entries));
            reps.run(rep, |_, lane| {
                let laps = lane.run(mm2.kernel, entries, mm2.pace, &mut shared)?;
                shared.verify(world, job.damage, laps, answer.as_ref())
            })?;
        }
        reps.compare(mm2.kernel.name(), mm2.size, |report, _| report)
    }
}

/// One way to share the matrices.
pub trait Multiplication {
    /// Collective. Runs both stages with the matrices of `entries`, and leaves P and R in `shared`.
    ///
    /// # Errors
    /// The error that ended the job.
    fn run(&mut self, kernel: Kernel, entries: Matrices, pace: Pace, shared: &mut Shared) -> Result<Laps>;
}

fn multiplication<'w>(
    world: &'w World,
    job: &Mm2,
    implementation: Implementation,
) -> Result<Box<dyn Multiplication + 'w>> {
    Ok(match implementation {
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
    })
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
    fn verify(&mut self, world: &World, damage: bool, laps: Laps, answer: Option<&Answer>) -> Result<Repetition> {
        if damage {
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
