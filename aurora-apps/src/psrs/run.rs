//! The repetitions of the sort: new keys, the sequential program, the parallel one, verification.

use super::{Input, Keys, Sorter, sort};
use crate::clock::Clock;
use crate::report::{Repetition, Report};
use crate::tally::{Subject, Tally};
use crate::{agree, check};
use aurora_core::prelude::*;
use std::time::Instant;

/// What to run. Every rank must ask for the same.
#[derive(Clone, Copy, Debug)]
pub struct Psrs {
    /// How many keys.
    pub keys: usize,
    /// Which.
    pub input: Input,
    /// How often, each time with new keys.
    pub reps: usize,
    /// What the keys are made from; `None` draws a new seed.
    pub seed: Option<u64>,
    /// Drops one key of each result in favour of a neighbour, to show that the verification can fail.
    pub damage: bool,
}

impl Default for Psrs {
    fn default() -> Self {
        Psrs { keys: 8_000_000, input: Input::default(), reps: 5, seed: None, damage: false }
    }
}

/// Collective. Sorts `job.keys` keys `job.reps` times and verifies that the result is in order and has the keys of the
/// input. After each repetition `progress` hears how many are done.
///
/// The report is the same on all ranks.
pub fn run(world: &World, job: &Psrs, progress: &mut dyn FnMut(usize)) -> Result<Report> {
    let seed = agree::seed(world, job.seed)?;
    let keys = Keys::new(job.input, job.keys, seed);
    let mut sorter = Sorter::new(world, job.keys)?;
    let mut expected = GVector::new(world, job.keys)?;
    let mut tally = Tally::default();
    for rep in 0..job.reps {
        let keys = keys.repetition(rep, seed);
        check::fill(&mut sorter.keys, |i| keys.key(i))?;
        let answer = world.is_root().then(|| Answer::new(job.keys, &keys));
        let mut clock = Clock::start(world)?;
        sorter.sort(world, &mut clock)?;
        let laps = clock.stop()?;
        if job.damage {
            drop_key(world, &mut sorter.keys)?;
        }
        let (sorted, sequential) = match &answer {
            Some(answer) => (&answer.sorted[..], answer.seconds),
            None => (&[][..], 0.0),
        };
        check::spread(world, sorted, &mut expected)?;
        // The same elements at the same places: the same order and the same multiset.
        let wrong = check::wrong_elements(&sorter.keys, &expected)?;
        let wrong = wrong + u64::from(!in_order(&sorter.keys)?);
        tally.add(world, &Repetition { laps, sequential, wrong })?;
        progress(rep + 1);
    }
    let subject = Subject { app: "psrs", variant: job.input.name(), size: job.keys, seed };
    Ok(tally.report(world, subject))
}

/// What the sequential program makes of the same keys, and how long it takes.
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

/// Whether this rank's block is in order and does not start below the key before it: one remote read.
fn in_order(keys: &GVector<u32>) -> Result<bool> {
    let start = keys.local_range().start;
    let before = if start > 0 && !keys.local_range().is_empty() { Some(keys.at(start - 1)?) } else { None };
    let block = keys.owner_computes()?;
    let block = block.local();
    Ok(block.is_sorted() && before.is_none_or(|before| before <= block[0]))
}

/// Overwrites a key of rank 0 with its right neighbour: still in order, but a key is lost. Where all keys are equal,
/// the last one changes.
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
