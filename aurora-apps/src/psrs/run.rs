//! The repetitions of the sort: new keys, the sequential program, the parallel programs, verification.

use super::{Input, Keys, Sorter, sort};
use crate::clock::{Clock, Laps, Pace};
use crate::implementation::{Conditions, Implementation, Offer, Program};
use crate::report::{Comparison, Report};
use crate::tally::{Repetition, Subject, Tally};
use crate::{agree, check};
use aurora_core::prelude::*;
use std::time::Instant;

/// The parameters of a run. Every rank must pass the same parameters.
#[derive(Clone, Debug)]
pub struct Psrs {
    /// The number of keys.
    pub keys: usize,
    /// The kind of data set.
    pub input: Input,
    /// The implementations, which take turns.
    pub implementations: Vec<Implementation>,
    /// The number of repetitions, each with new keys.
    pub reps: usize,
    /// The rule by which phases follow each other.
    pub pace: Pace,
    /// The seed of the keys; `None` draws a new seed.
    pub seed: Option<u64>,
    /// Replaces one key of each result by a neighbour, to show that the verification can fail.
    pub damage: bool,
}

impl Default for Psrs {
    fn default() -> Self {
        let implementations = vec![Implementation::Aurora];
        let (input, pace) = (Input::default(), Pace::default());
        Psrs { keys: 8_000_000, input, implementations, reps: 5, pace, seed: None, damage: false }
    }
}

/// Collective. Sorts `job.keys` keys `job.reps` times by each implementation and verifies that the result is in order
/// and has the keys of the input. After each repetition it calls `progress` with the number of completed repetitions.
///
/// The report is the same on all ranks.
///
/// # Errors
/// A [`Refusal`](crate::implementation::Refusal) of an implementation that cannot run, or the error that ended the job.
pub fn run(world: &World, job: &Psrs, progress: &mut dyn FnMut(usize)) -> Result<Comparison<Report>> {
    let offer = Program("psrs");
    offer.check(&job.implementations, Conditions::of(world)).map_err(|(_, refusal)| Error::user(refusal))?;
    let seed = agree::seed(world, job.seed)?;
    let keys = Keys::new(job.input, job.keys, seed);
    let lanes = job.implementations.iter().map(|&implementation| Lane::new(world, job, implementation));
    let mut lanes = lanes.collect::<Result<Vec<_>>>()?;
    let mut expected = GVector::new(world, job.keys)?;
    let uncounted = job.pace.uncounted();
    for rep in 0..uncounted + job.reps {
        let keys = keys.repetition(rep, seed);
        let answer = world.is_root().then(|| Answer::new(job.keys, &keys));
        let (right, sequential) = match &answer {
            Some(answer) => (&answer.sorted[..], answer.seconds),
            None => (&[][..], 0.0),
        };
        check::spread(world, right, &mut expected)?;
        for lane in &mut lanes {
            let laps = lane.sorting.run(&keys, job.pace)?;
            // A rank reads its neighbour's last key too.
            world.barrier()?;
            let sorted = lane.sorting.sorted();
            if job.damage {
                drop_key(world, sorted)?;
            }
            // Equal elements at equal places mean the same order and the same multiset.
            let wrong = check::wrong_elements(sorted, &expected)?;
            let wrong = wrong + u64::from(!in_order(sorted)?);
            if rep >= uncounted {
                lane.tally.add(world, &Repetition { laps, sequential, wrong })?;
            }
        }
        if rep >= uncounted {
            progress(rep + 1 - uncounted);
        }
    }
    let subject =
        |implementation| Subject { app: offer.name(), implementation, variant: job.input.name(), size: job.keys, seed };
    Comparison::of(lanes.iter().map(|lane| lane.tally.report(world, subject(lane.implementation))).collect())
        .map_err(|error| Error::user(error))
}

/// One way to share the keys.
pub trait Sorting {
    /// Collective. Sorts `keys`.
    ///
    /// # Errors
    /// The error that ended the job.
    fn run(&mut self, keys: &Keys, pace: Pace) -> Result<Laps>;

    /// Returns the sorted keys.
    fn sorted(&mut self) -> &mut GVector<u32>;
}

/// One implementation with its measurements.
struct Lane<'w> {
    implementation: Implementation,
    sorting: Box<dyn Sorting + 'w>,
    tally: Tally,
}

impl<'w> Lane<'w> {
    fn new(world: &'w World, job: &Psrs, implementation: Implementation) -> Result<Self> {
        let sorting: Box<dyn Sorting + 'w> = match implementation {
            #[cfg(feature = "mpi")]
            mpi if mpi.is_mpi() => Box::new(super::mpi::OverMpi::new(world, job.keys, mpi)?),
            Implementation::Rayon => Box::new(super::threads::Threads::new(world, job.keys)?),
            Implementation::Sequential => Box::new(super::sequential::Alone::new(world, job.keys)?),
            other => {
                let by_elements = other == Implementation::Naive;
                Box::new(Aurora { world, by_elements, sorter: Sorter::new(world, job.keys)? })
            }
        };
        Ok(Lane { implementation, sorting, tally: Tally::default() })
    }
}

/// The parallel program on a shared vector.
struct Aurora<'w> {
    world: &'w World,
    /// True for the program without a behaviour.
    by_elements: bool,
    sorter: Sorter,
}

impl Sorting for Aurora<'_> {
    fn run(&mut self, keys: &Keys, pace: Pace) -> Result<Laps> {
        check::fill(&mut self.sorter.keys, |i| keys.key(i))?;
        let mut clock = Clock::paced(self.world, pace)?;
        if self.by_elements {
            self.sorter.sort_by_elements(self.world, &mut clock)?;
        } else {
            self.sorter.sort(self.world, &mut clock)?;
        }
        clock.stop()
    }

    fn sorted(&mut self) -> &mut GVector<u32> {
        &mut self.sorter.keys
    }
}

/// The sequential program's result for the same keys, and its time.
struct Answer {
    sorted: Vec<u32>,
    seconds: f64,
}

impl Answer {
    fn new(length: usize, keys: &Keys) -> Self {
        let mut sorted: Vec<u32> = (0..length).map(|i| keys.key(i)).collect();
        let start = Instant::now();
        sort(&mut sorted);
        let seconds = start.elapsed().as_secs_f64();
        Answer { sorted, seconds }
    }
}

/// Returns whether this rank's block is in order and does not start below the key before it. It needs one remote read.
fn in_order(keys: &GVector<u32>) -> Result<bool> {
    let start = keys.local_range().start;
    let before = if start > 0 && !keys.local_range().is_empty() { Some(keys.at(start - 1)?) } else { None };
    let block = keys.owner_computes()?;
    let block = block.local();
    Ok(block.is_sorted() && before.is_none_or(|before| before <= block[0]))
}

/// Overwrites a key of rank 0 with its right neighbour: the keys are still in order, but one key is lost. If all keys
/// are equal, the last key changes.
fn drop_key(world: &World, keys: &mut GVector<u32>) -> Result<()> {
    if world.is_root() {
        let mut block = keys.owner_computes_mut()?;
        let block = block.local_mut();
        let step = block.windows(2).position(|pair| pair[0] != pair[1]);
        match (step, block.last_mut()) {
            (Some(step), _) => block[step] = block[step + 1],
            (None, Some(last)) => *last = last.wrapping_add(1),
            (None, None) => {}
        }
    }
    world.barrier()
}
