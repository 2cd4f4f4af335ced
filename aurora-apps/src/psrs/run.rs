//! The repetitions of the sort: new keys, the sequential program, the parallel programs, verification.

use super::{Input, Keys, Sorter, sort};
use crate::check;
use crate::clock::{Clock, Laps, Pace, apart};
use crate::implementation::{Implementation, Program};
use crate::job::{App, Job, Repetitions};
use crate::report::{Comparison, Report};
use crate::tally::Repetition;
use crate::values::number;
use aurora_core::prelude::*;
use clap::{ArgAction, Args};
use std::time::Instant;

/// The parameters of a run.
#[derive(Args, Clone, Debug)]
pub struct Psrs {
    /// Number of 32-bit keys, such as 8000000, 8M (millions), 8Mi (8 x 2^20) or 8e6.
    #[arg(long, value_name = "N", default_value_t = 8_000_000, value_parser = number::<usize>(0..))]
    pub keys: usize,
    /// Distribution of the keys.
    #[arg(long, value_enum, default_value_t)]
    pub input: Input,
    /// Separate computing and sharing by barriers, for nodes that share cores, such as an emulated cluster.
    #[arg(long = "apart", action = ArgAction::SetTrue, value_parser = apart())]
    pub pace: Pace,
}

impl App for Psrs {
    const PROGRAM: Program = Program("psrs");
    type Report = Report;

    /// Verifies that the result is in order and has the keys of the input.
    fn run(world: &World, job: &Job<Self>, progress: &mut dyn FnMut(usize)) -> Result<Comparison<Report>> {
        let Psrs { keys: length, input, pace } = job.program;
        let reps = Repetitions::new(world, job, progress, |implementation| sorting(world, length, implementation))?;
        let mut reps = reps.uncounted(pace.uncounted());
        let keys = Keys::new(input, length, reps.seed);
        let mut expected = GVector::new(world, length)?;
        for rep in reps.numbers() {
            let keys = keys.repetition(rep, reps.seed);
            let answer = world.is_root().then(|| Answer::new(length, &keys));
            let (right, sequential) = match &answer {
                Some(answer) => (&answer.sorted[..], answer.seconds),
                None => (&[][..], 0.0),
            };
            check::spread(world, right, &mut expected)?;
            reps.run(rep, |_, lane| {
                let laps = lane.run(&keys, pace)?;
                // A rank reads its neighbour's last key too.
                world.barrier()?;
                let sorted = lane.sorted();
                if job.damage {
                    drop_key(world, sorted)?;
                }
                // Equal elements at equal places mean the same order and the same multiset.
                let wrong = check::wrong_elements(sorted, &expected)?;
                Ok(Repetition { laps, sequential, wrong: wrong + u64::from(!in_order(sorted)?) })
            })?;
        }
        reps.compare(input.name(), length, |report, _| report)
    }
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

fn sorting<'w>(world: &'w World, keys: usize, implementation: Implementation) -> Result<Box<dyn Sorting + 'w>> {
    Ok(match implementation {
        #[cfg(feature = "mpi")]
        mpi if mpi.is_mpi() => Box::new(super::mpi::OverMpi::new(world, keys, mpi)?),
        Implementation::Rayon => Box::new(super::threads::Threads::new(world, keys)?),
        Implementation::Sequential => Box::new(super::sequential::Alone::new(world, keys)?),
        other => {
            let by_elements = other == Implementation::Naive;
            Box::new(Aurora { world, by_elements, sorter: Sorter::new(world, keys)? })
        }
    })
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
