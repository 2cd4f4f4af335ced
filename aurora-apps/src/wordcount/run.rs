//! The repetitions: new texts, the sequential program, the parallel ones in turns, verification.

use super::{Texts, count, number_of, one_by_one, sequential, word};
use crate::check;
use crate::clock::{Clock, Laps};
use crate::implementation::{Implementation, Program};
use crate::job::{App, Job, Repetitions};
use crate::report::{Comparison, Report};
use crate::tally::Repetition;
use crate::values::{bytes_or_none, number};
use aurora_core::ops::Sum;
use aurora_core::prelude::*;
use clap::Args;
use rustc_hash::FxHashMap;
use std::time::Instant;

/// The parameters of a run.
#[derive(Args, Clone, Debug)]
pub struct WordCount {
    /// Bytes of text of all ranks together.
    #[arg(long, value_name = "B", default_value_t = 10_000_000, value_parser = bytes_or_none::<usize>)]
    pub bytes: usize,
    /// Limit of the number of different words.
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = number::<usize>(0..))]
    pub words: usize,
}

impl App for WordCount {
    const PROGRAM: Program = Program("wordcount");
    type Report = Report;

    /// Verifies the count of every word.
    fn run(world: &World, job: &Job<Self>, progress: &mut dyn FnMut(usize)) -> Result<Comparison<Report>> {
        let WordCount { bytes, words } = job.program;
        let mut reps = Repetitions::new(world, job, progress, |implementation| Lane::new(world, implementation))?;
        let mut expected = GVector::<u64>::new(world, words)?;
        for rep in reps.numbers() {
            let texts = Texts::new(reps.seed, rep, words, bytes / world.size());
            let answer = world.is_root().then(|| Answer::new(words, texts, world.size()));
            let (right, sequential) =
                answer.as_ref().map_or((&[][..], 0.0), |answer| (&answer.counts[..], answer.seconds));
            check::spread(world, right, &mut expected)?;
            reps.run(rep, |_, lane| {
                let (laps, mut counted) = lane.count(texts)?;
                if job.damage && world.is_root() {
                    *counted.entry(word(0)).or_insert(0) += 1;
                }
                Ok(Repetition { laps, sequential, wrong: wrong_counts(world, counted, &expected)? })
            })?;
        }
        reps.compare("bytes", bytes, |report, _| report.measure("words", words))
    }
}

/// The counts of the words that a rank owns.
type Counted = FxHashMap<String, u64>;

/// One implementation.
struct Lane<'w> {
    world: &'w World,
    implementation: Implementation,
    #[cfg(feature = "mpi")]
    over_mpi: Option<super::mpi::OverMpi<'w>>,
}

impl<'w> Lane<'w> {
    fn new(world: &'w World, implementation: Implementation) -> Result<Self> {
        Ok(Lane {
            world,
            implementation,
            #[cfg(feature = "mpi")]
            over_mpi: implementation.is_mpi().then(|| super::mpi::OverMpi::new(world)).transpose()?,
        })
    }

    /// Collective. Runs a repetition.
    fn count(&mut self, texts: Texts) -> Result<(Laps, Counted)> {
        #[cfg(feature = "mpi")]
        if let Some(over_mpi) = &mut self.over_mpi {
            return over_mpi.run(texts);
        }
        let Lane { world, implementation, .. } = self;
        if *implementation == Implementation::Sequential {
            return alone(world, texts);
        }
        let text = texts.of(world.rank().index());
        let mut counts = GMap::new(world)?;
        let mut clock = Clock::start(*world)?;
        clock.sharing("count", || match implementation {
            Implementation::Naive => one_by_one(world, &mut counts, &text),
            _ => count(&mut counts, &text),
        })?;
        let laps = clock.stop()?;
        let own = counts.owner_computes()?;
        Ok((laps, own.iter().map(|(word, count)| (word.clone(), *count)).collect()))
    }
}

/// Collective. Runs the sequential program in its turn on rank 0, while the other ranks wait.
fn alone(world: &World, texts: Texts) -> Result<(Laps, Counted)> {
    let of_all: Vec<_> = (0..world.size()).filter(|_| world.is_root()).map(|rank| texts.of(rank)).collect();
    let mut counts = FxHashMap::default();
    let mut clock = Clock::start(world)?;
    clock.computing("count", || {
        counts = sequential(of_all.iter().map(String::as_str));
        Ok(())
    })?;
    Ok((clock.stop()?, counts.into_iter().map(|(word, count)| (word.to_owned(), count)).collect()))
}

/// The sequential program's counts, by the numbers of the words, and its time.
struct Answer {
    counts: Vec<u64>,
    seconds: f64,
}

impl Answer {
    fn new(words: usize, texts: Texts, ranks: usize) -> Self {
        let of_all: Vec<_> = (0..ranks).map(|rank| texts.of(rank)).collect();
        let start = Instant::now();
        let counted = sequential(of_all.iter().map(String::as_str));
        let seconds = start.elapsed().as_secs_f64();
        let mut counts = vec![0; words];
        for (word, count) in counted {
            counts[number_of(word).expect("one of these words")] = count;
        }
        Answer { counts, seconds }
    }
}

/// Collective. Returns the number of words with a wrong count: each word is counted by one rank.
fn wrong_counts(world: &World, counted: Counted, expected: &GVector<u64>) -> Result<u64> {
    let expected = expected.read_cache()?;
    let is_right = |(word, count): &(&String, &u64)| {
        number_of(word).and_then(|number| expected.get(number)).is_some_and(|expected| expected == *count)
    };
    let wrong = counted.iter().filter(|entry| !is_right(entry)).count() as u64;
    let found = world.all_reduce(Sum, counted.len() as u64)?;
    let there = expected.iter().filter(|count| **count > 0).count() as u64;
    Ok(wrong + if world.is_root() { found.abs_diff(there) } else { 0 })
}
