//! The repetitions: a new plate, the sequential program, the parallel programs, verification.

use super::parallel::STENCIL;
use super::{Plate, sequential, step_by_elements, steps};
use crate::block::{by_weight, check_weights};
use crate::check;
use crate::clock::{Clock, Kind, Laps};
use crate::implementation::{Implementation, Program};
use crate::job::{App, Job, Repetitions};
use crate::report::{Comparison, Report};
use crate::tally::Repetition;
use crate::values::{number, weight};
use aurora_core::prelude::*;
use clap::Args;
use std::time::Instant;

/// The parameters of a run.
#[derive(Args, Clone, Debug)]
pub struct Diffusion {
    /// Rows of the plate.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = number::<usize>(1..=u32::MAX.into()))]
    pub rows: usize,
    /// Cells of a row.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = number::<usize>(1..=u32::MAX.into()))]
    pub cols: usize,
    /// Steps of a repetition.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = number::<usize>(0..=u32::MAX.into()))]
    pub steps: usize,
    /// Speeds of the ranks, a number for each: `1,3` gives rank 1 three times as many rows as rank 0 [default: equal
    /// blocks].
    #[arg(long, value_name = "W,W,..", value_delimiter = ',', value_parser = weight, allow_negative_numbers = true)]
    pub weights: Vec<f64>,
}

impl App for Diffusion {
    const PROGRAM: Program = Program("diffusion");
    type Report = Report;

    /// Verifies every cell.
    fn run(world: &World, job: &Job<Self>, progress: &mut dyn FnMut(usize)) -> Result<Comparison<Report>> {
        let diffusion = &job.program;
        check_weights(&diffusion.weights, &job.implementations)?;
        let mut reps =
            Repetitions::new(world, job, progress, |implementation| heating(world, diffusion, implementation))?;
        let mut shared = Shared::new(world, diffusion)?;
        for rep in reps.numbers() {
            let plate = Plate::new(reps.seed, rep);
            let answer = world.is_root().then(|| Answer::new(diffusion, plate));
            reps.run(rep, |_, lane| {
                let laps = lane.run(diffusion, plate, &mut shared)?;
                shared.verify(world, job, laps, answer.as_ref())
            })?;
        }
        let Diffusion { rows, cols, steps, .. } = *diffusion;
        reps.compare("fixed", rows, |report, _| report.measure("cols", cols).measure("steps", steps))
    }
}

/// One way to share the plate.
pub(super) trait Heating {
    /// Collective. Computes all steps from `plate` on, and leaves the last in [`Shared::result`].
    fn run(&mut self, job: &Diffusion, plate: Plate, shared: &mut Shared) -> Result<Laps>;
}

#[cfg_attr(not(feature = "mpi"), allow(unused_variables))] // MPI's rows are made for a job
fn heating<'w>(world: &'w World, job: &Diffusion, implementation: Implementation) -> Result<Box<dyn Heating + 'w>> {
    Ok(match implementation {
        #[cfg(feature = "mpi")]
        mpi if mpi.is_mpi() => Box::new(super::mpi::OverMpi::new(world, job, mpi)?),
        Implementation::Naive => Box::new(ByElements { world }),
        Implementation::Sequential => Box::new(Alone { world }),
        _ => Box::new(ByHalos { world }),
    })
}

/// The program with HaloCaches.
struct ByHalos<'w> {
    world: &'w World,
}

impl Heating for ByHalos<'_> {
    fn run(&mut self, job: &Diffusion, plate: Plate, shared: &mut Shared) -> Result<Laps> {
        shared.fill(plate)?;
        let mut clock = Clock::start(self.world)?;
        steps(&mut shared.plate, &mut shared.other, job.steps, &mut clock)?;
        clock.stop()
    }
}

/// The program with default access.
struct ByElements<'w> {
    world: &'w World,
}

impl Heating for ByElements<'_> {
    fn run(&mut self, job: &Diffusion, plate: Plate, shared: &mut Shared) -> Result<Laps> {
        shared.fill(plate)?;
        let mut clock = Clock::start(self.world)?;
        let (mut now, mut next) = (&mut shared.plate, &mut shared.other);
        for _ in 0..job.steps {
            step_by_elements(self.world, now, next, &mut clock)?;
            std::mem::swap(&mut now, &mut next);
        }
        clock.stop()
    }
}

/// The sequential program on rank 0, while the other ranks wait.
struct Alone<'w> {
    world: &'w World,
}

impl Heating for Alone<'_> {
    fn run(&mut self, job: &Diffusion, plate: Plate, shared: &mut Shared) -> Result<Laps> {
        let mut plates = if self.world.is_root() { plates(job, plate) } else { Default::default() };
        let mut clock = Clock::start(self.world)?;
        clock.part(STENCIL, Kind::Computing, || {
            let (plate, other) = &mut plates;
            sequential(plate, other, job.cols, job.steps);
            Ok(())
        })?;
        let laps = clock.stop()?;
        check::spread(self.world, &plates.0, shared.result(job))?;
        Ok(laps)
    }
}

/// The plates, which live through all repetitions.
#[derive(Debug)]
pub(super) struct Shared {
    plate: GVector<f64>,
    other: GVector<f64>,
    /// The expected last step, from the sequential program.
    expected: GVector<f64>,
}

impl Shared {
    fn new(world: &World, job: &Diffusion) -> Result<Self> {
        let plate = || GVector::new(world, by_weight(MatrixDim::new(job.rows, job.cols), &job.weights));
        Ok(Shared { plate: plate()?, other: plate()?, expected: plate()? })
    }

    fn fill(&mut self, plate: Plate) -> Result<()> {
        check::fill(&mut self.plate, |i| plate.cell(i))?;
        check::fill(&mut self.other, |i| plate.cell(i))
    }

    /// Returns the plate that holds the last step.
    pub(super) fn result(&mut self, job: &Diffusion) -> &mut GVector<f64> {
        if job.steps.is_multiple_of(2) { &mut self.plate } else { &mut self.other }
    }

    /// Collective. Compares the last step with rank 0's `answer`.
    fn verify(
        &mut self,
        world: &World,
        job: &Job<Diffusion>,
        laps: Laps,
        answer: Option<&Answer>,
    ) -> Result<Repetition> {
        if job.damage {
            flip(world, self.result(&job.program))?;
        }
        let (plate, sequential) = answer.map_or((&[][..], 0.0), |answer| (&answer.plate[..], answer.seconds));
        check::spread(world, plate, &mut self.expected)?;
        let wrong =
            wrong_bits(if job.program.steps.is_multiple_of(2) { &self.plate } else { &self.other }, &self.expected)?;
        Ok(Repetition { laps, sequential, wrong })
    }
}

/// The sequential program's result for the same plate, and its time.
struct Answer {
    plate: Vec<f64>,
    seconds: f64,
}

impl Answer {
    fn new(job: &Diffusion, plate: Plate) -> Self {
        let (mut plate, mut other) = plates(job, plate);
        let start = Instant::now();
        sequential(&mut plate, &mut other, job.cols, job.steps);
        let seconds = start.elapsed().as_secs_f64();
        Answer { plate, seconds }
    }
}

/// Makes the plates of the sequential program. Both are touched here, before the measurement.
fn plates(job: &Diffusion, plate: Plate) -> (Vec<f64>, Vec<f64>) {
    let plate: Vec<f64> = (0..job.rows * job.cols).map(|i| plate.cell(i)).collect();
    let other = vec![-1.0; plate.len()];
    (plate, other)
}

/// Returns the number of cells of this rank's part that differ from `expected` by at least one bit.
fn wrong_bits(result: &GVector<f64>, expected: &GVector<f64>) -> Result<u64> {
    let (result, expected) = (result.owner_computes()?, expected.owner_computes()?);
    let pairs = result.local().iter().zip(expected.local());
    Ok(pairs.filter(|(got, want)| got.to_bits() != want.to_bits()).count() as u64)
}

/// Flips the last bit of the last cell.
fn flip(world: &World, plate: &mut GVector<f64>) -> Result<()> {
    world.barrier()?;
    if world.is_root()
        && let Some(last) = plate.len().checked_sub(1)
    {
        let value = plate.at(last)?;
        plate.put(last, f64::from_bits(value.to_bits() ^ 1))?;
    }
    world.barrier()
}
