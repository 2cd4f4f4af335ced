//! The repetitions: a new plate, the sequential program, the parallel programs, verification.

use super::parallel::STENCIL;
use super::{Plate, sequential, step_by_elements, steps};
use crate::block::{by_weight, check_weights};
use crate::clock::{Clock, Kind, Laps};
use crate::implementation::{Conditions, Implementation, Offer, Program};
use crate::report::{Comparison, Report};
use crate::tally::{Repetition, Subject, Tally};
use crate::{agree, check};
use aurora_core::prelude::*;
use std::collections::BTreeMap;
use std::time::Instant;

/// The parameters of a run. Every rank must pass the same parameters.
#[derive(Clone, Debug)]
pub struct Diffusion {
    /// Rows of the plate.
    pub rows: usize,
    /// Cells of a row.
    pub cols: usize,
    /// Steps of a repetition.
    pub steps: usize,
    /// The implementations, which take turns.
    pub implementations: Vec<Implementation>,
    /// The number of repetitions, each with a new plate.
    pub reps: usize,
    /// The seed of the plates; `None` draws a new seed.
    pub seed: Option<u64>,
    /// The weights of the ranks. Each rank gets rows in proportion to its weight; without weights the blocks are equal.
    pub weights: Vec<f64>,
    /// Flips the last bit of one cell of each result, to show that the verification can fail.
    pub damage: bool,
}

impl Default for Diffusion {
    fn default() -> Self {
        let (implementations, weights) = (vec![Implementation::Aurora], Vec::new());
        Diffusion { rows: 1000, cols: 1000, steps: 100, implementations, reps: 5, seed: None, weights, damage: false }
    }
}

/// Collective. Runs `job.steps` steps `job.reps` times by each implementation and verifies every cell. After each
/// repetition it calls `progress` with the number of completed repetitions.
///
/// The report is the same on all ranks.
///
/// # Errors
/// A [`Refusal`](crate::implementation::Refusal) of an implementation that cannot run, or the error that ended the job.
pub fn run(world: &World, job: &Diffusion, progress: &mut dyn FnMut(usize)) -> Result<Comparison<Report>> {
    let offer = Program("diffusion");
    offer.check(&job.implementations, Conditions::of(world)).map_err(|(_, refusal)| Error::user(refusal))?;
    check_weights(&job.weights, &job.implementations)?;
    let seed = agree::seed(world, job.seed)?;
    let mut shared = Shared::new(world, job)?;
    let lanes = job.implementations.iter().map(|&implementation| Lane::new(world, job, implementation));
    let mut lanes = lanes.collect::<Result<Vec<_>>>()?;
    for rep in 0..job.reps {
        let plate = Plate::new(seed, rep);
        let answer = world.is_root().then(|| Answer::new(job, plate));
        for lane in &mut lanes {
            let laps = lane.heating.run(job, plate, &mut shared)?;
            let repetition = shared.verify(world, job, laps, answer.as_ref())?;
            lane.tally.add(world, &repetition)?;
        }
        progress(rep + 1);
    }
    let subject =
        |implementation| Subject { app: offer.name(), implementation, variant: "fixed", size: job.rows, seed };
    let measures = BTreeMap::from([("cols".into(), job.cols), ("steps".into(), job.steps)]);
    let report = |lane: &Lane<'_>| {
        let report = lane.tally.report(world, subject(lane.implementation));
        Report { measures: measures.clone(), ..report }
    };
    Comparison::of(lanes.iter().map(report).collect()).map_err(|error| Error::user(error))
}

/// One way to share the plate.
pub(super) trait Heating {
    /// Collective. Computes all steps from `plate` on, and leaves the last in [`Shared::result`].
    fn run(&mut self, job: &Diffusion, plate: Plate, shared: &mut Shared) -> Result<Laps>;
}

/// One implementation with its measurements.
struct Lane<'w> {
    implementation: Implementation,
    heating: Box<dyn Heating + 'w>,
    tally: Tally,
}

impl<'w> Lane<'w> {
    #[cfg_attr(not(feature = "mpi"), allow(unused_variables))] // MPI's rows are made for a job
    fn new(world: &'w World, job: &Diffusion, implementation: Implementation) -> Result<Self> {
        let heating: Box<dyn Heating + 'w> = match implementation {
            #[cfg(feature = "mpi")]
            mpi if mpi.is_mpi() => Box::new(super::mpi::OverMpi::new(world, job, mpi)?),
            Implementation::Naive => Box::new(ByElements { world }),
            Implementation::Sequential => Box::new(Alone { world }),
            _ => Box::new(ByHalos { world }),
        };
        Ok(Lane { implementation, heating, tally: Tally::default() })
    }
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
    fn verify(&mut self, world: &World, job: &Diffusion, laps: Laps, answer: Option<&Answer>) -> Result<Repetition> {
        if job.damage {
            flip(world, self.result(job))?;
        }
        let (plate, sequential) = answer.map_or((&[][..], 0.0), |answer| (&answer.plate[..], answer.seconds));
        check::spread(world, plate, &mut self.expected)?;
        let wrong = wrong_bits(if job.steps.is_multiple_of(2) { &self.plate } else { &self.other }, &self.expected)?;
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
