//! The repetitions: a matrix, the sequential program, the parallel ones, verification.

use super::job::JAVA_GRANDE_SEED;
use super::kernel::{half_of, parity};
use super::parallel::UPDATE;
use super::{
    BLACK, Halves, Precision, Problem, RED, Real, Sor, Start, half_sweep_by_elements, half_sweeps,
    half_sweeps_by_pages, half_sweeps_by_treadmarks, row_sum, sequential,
};
use crate::check;
use crate::clock::{Clock, Kind, Laps};
use crate::implementation::{Implementation, Program};
use crate::job::{App, Job, Repetitions};
use crate::report::{Comparison, Report};
use crate::tally::Repetition;
use aurora_core::prelude::*;
use aurora_treadmarks::{Array, Counts, Tmk};
use std::time::Instant;

/// The greatest difference from a published sum.
const TOLERANCE: f64 = 1e-12;

impl App for Sor {
    const PROGRAM: Program = Program("sor");
    type Report = Report;

    /// Verifies every element, and the sum if it is published.
    fn run(world: &World, job: &Job<Self>, progress: &mut dyn FnMut(usize)) -> Result<Comparison<Report>> {
        // Java Grande has one input for all seeds.
        let seed = job.program.problem.published.map(|_| JAVA_GRANDE_SEED).or(job.seed);
        let job = &Job { seed, ..job.clone() };
        match job.program.problem.precision {
            Precision::Single => run_as::<f32>(world, job, progress),
            Precision::Double => run_as::<f64>(world, job, progress),
        }
    }
}

fn run_as<T: Real>(world: &World, job: &Job<Sor>, progress: &mut dyn FnMut(usize)) -> Result<Comparison<Report>> {
    job.check().map_err(|refusal| Error::user(refusal))?;
    let problem = &job.program.problem;
    let mut reps = Repetitions::new(world, job, progress, |_| Ok(None))?;
    let mut shared = Shared::<T>::new(world, problem)?;
    for rep in reps.numbers() {
        let start = problem.start(reps.seed, rep);
        let answer = world.is_root().then(|| Answer::new(problem, start));
        reps.run(rep, |implementation, counts| {
            let laps = relaxation(implementation)(world, problem, start, &mut shared)?;
            *counts = shared.counts.take();
            shared.verify(world, job, laps, answer.as_ref())
        })?;
    }
    reps.compare(problem.name, problem.rows, |report, counts| {
        let causes = counts.map(causes).into_iter().flatten();
        causes.fold(report, |report, (name, count)| report.measure(name, count as usize))
    })
}

/// Collective. One way to carry out all half-sweeps from `start` on; it leaves the matrix in [`Shared`].
type Relaxation<T> = fn(&World, &Problem, Start, &mut Shared<T>) -> Result<Laps>;

fn relaxation<T: Real>(implementation: Implementation) -> Relaxation<T> {
    match implementation {
        Implementation::Pages => by_pages,
        Implementation::Treadmarks => by_treadmarks,
        Implementation::Naive => by_elements,
        Implementation::Sequential => alone,
        _ => by_halos,
    }
}

/// The program with HaloCaches.
fn by_halos<T: Real>(world: &World, problem: &Problem, start: Start, shared: &mut Shared<T>) -> Result<Laps> {
    shared.fill(problem, start)?;
    let mut clock = Clock::start(world)?;
    half_sweeps(&mut shared.red, &mut shared.black, problem.cols, problem.half_sweeps, &mut clock)?;
    clock.stop()
}

/// The program with Paged scopes.
fn by_pages<T: Real>(world: &World, problem: &Problem, start: Start, shared: &mut Shared<T>) -> Result<Laps> {
    shared.fill(problem, start)?;
    let mut clock = Clock::start(world)?;
    half_sweeps_by_pages(&mut shared.red, &mut shared.black, problem.cols, problem.half_sweeps, &mut clock)?;
    clock.stop()
}

/// The program with arrays of TreadMarks. The time includes the first fetches of other ranks' rows, and not the
/// creation of the arrays.
fn by_treadmarks<T: Real>(world: &World, problem: &Problem, start: Start, shared: &mut Shared<T>) -> Result<Laps> {
    shared.fill(problem, start)?;
    let (half, mine) = (problem.half_cols(), shared.red.local_rows());
    let elements = mine.start * half..mine.end * half;
    let tmk = Tmk::new(world)?;
    let shared_half = |of: &GVector<T>| -> Result<Array<T>> {
        let mut array = tmk.array(problem.rows * half, half)?;
        let own = of.owner_computes()?;
        array.write(elements.clone())?.copy_from_slice(own.local());
        own.finish()?;
        Ok(array)
    };
    let (mut red, mut black) = (shared_half(&shared.red)?, shared_half(&shared.black)?);
    tmk.barrier()?;
    let mut clock = Clock::start(world)?;
    let inner = mine.start.max(1)..mine.end.min(problem.rows.saturating_sub(1));
    half_sweeps_by_treadmarks(&tmk, (&mut red, &mut black), inner, problem.cols, problem.half_sweeps, &mut clock)?;
    let laps = clock.stop()?;
    shared.counts = Some(tmk.total_counts(world)?);
    for (array, half) in [(&mut red, &mut shared.red), (&mut black, &mut shared.black)] {
        let mut own = half.owner_computes_mut()?;
        own.local_mut().copy_from_slice(&array.read(elements.clone())?);
        own.finish()?;
    }
    Ok(laps)
}

/// Messages and bytes by their causes, as a report names them.
fn causes(counts: Counts) -> [(&'static str, u64); 6] {
    [
        ("barrier_messages", counts.barrier),
        ("diff_requests", counts.requests),
        ("diff_bytes", counts.data),
        ("one_request_a_page", counts.one_request_a_page),
        ("false_sharing", counts.false_sharing),
        ("accumulated_bytes", counts.accumulated),
    ]
}

/// The program with default access.
fn by_elements<T: Real>(world: &World, problem: &Problem, start: Start, shared: &mut Shared<T>) -> Result<Laps> {
    shared.fill(problem, start)?;
    let mut clock = Clock::start(world)?;
    let (mut own, mut other) = (&mut shared.red, &mut shared.black);
    for sweep in 0..problem.half_sweeps {
        half_sweep_by_elements(world, own, other, problem.cols, sweep % 2, &mut clock)?;
        std::mem::swap(&mut own, &mut other);
    }
    clock.stop()
}

/// The sequential program on rank 0, while the other ranks wait.
fn alone<T: Real>(world: &World, problem: &Problem, start: Start, shared: &mut Shared<T>) -> Result<Laps> {
    let mut matrix = if world.is_root() { Halves::new(problem, start) } else { Halves::default() };
    let mut clock = Clock::start(world)?;
    clock.part(UPDATE, Kind::Computing, || {
        if world.is_root() {
            sequential(&mut matrix, problem);
        }
        Ok(())
    })?;
    let laps = clock.stop()?;
    check::spread(world, &matrix.red, &mut shared.red)?;
    check::spread(world, &matrix.black, &mut shared.black)?;
    Ok(laps)
}

/// The matrices, which live through all repetitions.
#[derive(Debug)]
pub(super) struct Shared<T: Real> {
    pub(super) red: GVector<T>,
    pub(super) black: GVector<T>,
    /// The sequential program's red elements.
    expected_red: GVector<T>,
    /// The sequential program's black elements.
    expected_black: GVector<T>,
    /// The counts of a repetition by TreadMarks.
    counts: Option<Counts>,
}

impl<T: Real> Shared<T> {
    fn new(world: &World, problem: &Problem) -> Result<Self> {
        let half = || GVector::new(world, MatrixDim::new(problem.rows, problem.half_cols()));
        Ok(Shared { red: half()?, black: half()?, expected_red: half()?, expected_black: half()?, counts: None })
    }

    /// Each rank fills its own rows.
    pub(super) fn fill(&mut self, problem: &Problem, start: Start) -> Result<()> {
        for (colour, half) in [(RED, &mut self.red), (BLACK, &mut self.black)] {
            let mut mine = half.owner_computes_mut()?;
            for (row, elements) in mine.iter_rows_mut() {
                let values = start.row(row, problem.cols);
                elements.iter_mut().zip(half_of(&values, parity(row, colour))).for_each(|(to, from)| *to = from);
            }
            mine.finish()?;
        }
        Ok(())
    }

    /// Collective. Compares the matrix with rank 0's `answer`, and its sum with the published one.
    fn verify(&mut self, world: &World, job: &Job<Sor>, laps: Laps, answer: Option<&Answer<T>>) -> Result<Repetition> {
        if job.damage {
            self.flip(world, &job.program.problem)?;
        }
        let (red, black) = answer.map_or((&[][..], &[][..]), |answer| (&answer.matrix.red, &answer.matrix.black));
        check::spread(world, red, &mut self.expected_red)?;
        check::spread(world, black, &mut self.expected_black)?;
        let wrong = wrong_bits(&self.red, &self.expected_red)? + wrong_bits(&self.black, &self.expected_black)?;
        let sum = self.sum(world, job.program.problem.cols, job.program.problem.rows)?;
        // A sum that is no number is wrong too.
        let as_published = job.program.problem.published.is_none_or(|published| (sum - published).abs() <= TOLERANCE);
        let sequential = answer.map_or(0.0, |answer| answer.seconds);
        Ok(Repetition { laps, sequential, wrong: wrong + u64::from(!as_published) })
    }

    /// Collective. The sum of the interior: rows are summed, and then their sums in order. So it is the same on any
    /// number of ranks.
    fn sum(&self, world: &World, cols: usize, rows: usize) -> Result<f64> {
        let (red, black) = (self.red.owner_computes()?, self.black.owner_computes()?);
        let interior = red.rows().filter(|row| *row > 0 && row + 1 < rows);
        let sums: Vec<f64> = interior.map(|row| row_sum(red.row(row), black.row(row), row, cols)).collect();
        red.finish()?;
        black.finish()?;
        Ok(world.all_gather_slice(&sums)?.iter().flatten().sum())
    }

    /// Flips the last bit of the last element.
    fn flip(&mut self, world: &World, problem: &Problem) -> Result<()> {
        world.barrier()?;
        if world.is_root()
            && let (Some(row), Some(col)) = (problem.rows.checked_sub(1), problem.cols.checked_sub(1))
        {
            let half = if (row + col) % 2 == RED { &mut self.red } else { &mut self.black };
            let last = row * problem.half_cols() + col / 2;
            half.put(last, half.at(last)?.flipped())?;
        }
        world.barrier()
    }
}

/// The matrix of the sequential program, and its time.
struct Answer<T> {
    matrix: Halves<T>,
    seconds: f64,
}

impl<T: Real> Answer<T> {
    fn new(problem: &Problem, start: Start) -> Self {
        let mut matrix = Halves::new(problem, start);
        let begin = Instant::now();
        sequential(&mut matrix, problem);
        Answer { matrix, seconds: begin.elapsed().as_secs_f64() }
    }
}

/// The number of elements of this rank's part that differ from those `expected`, by a bit at least.
fn wrong_bits<T: Real>(result: &GVector<T>, expected: &GVector<T>) -> Result<u64> {
    let (result, expected) = (result.owner_computes()?, expected.owner_computes()?);
    let pairs = result.local().iter().zip(expected.local());
    Ok(pairs.filter(|(got, want)| got.bits() != want.bits()).count() as u64)
}
