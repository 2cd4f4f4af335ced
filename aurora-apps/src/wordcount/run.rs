//! The repetitions: new texts, the sequential program, the parallel ones in turns, verification.

use super::{Texts, count, number_of, one_by_one, sequential, word};
use crate::agree;
use crate::check;
use crate::clock::{Clock, Laps};
use crate::implementation::{Conditions, Implementation, Offer, Program};
use crate::report::{Comparison, Report};
use crate::tally::{Repetition, Subject, Tally};
use aurora_core::ops::Sum;
use aurora_core::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::time::Instant;

/// The parameters of a run. Every rank must pass the same parameters.
#[derive(Clone, Debug)]
pub struct WordCount {
    /// The number of bytes of text on all ranks together.
    pub bytes: usize,
    /// The maximum number of different words.
    pub words: usize,
    /// The implementations, which take turns.
    pub implementations: Vec<Implementation>,
    /// The number of repetitions, each with new texts.
    pub reps: usize,
    /// The seed of the data; `None` draws a new seed.
    pub seed: Option<u64>,
    /// Counts one extra word in each result, to show that the verification can fail.
    pub damage: bool,
}

impl Default for WordCount {
    fn default() -> Self {
        let implementations = vec![Implementation::Aurora];
        WordCount { bytes: 10_000_000, words: 200_000, implementations, reps: 5, seed: None, damage: false }
    }
}

/// Collective. Counts the words of texts `job.reps` times by each implementation and verifies every count. After each
/// repetition it calls `progress` with the number of completed repetitions.
///
/// The report is the same on all ranks.
///
/// # Errors
/// A [`Refusal`](crate::implementation::Refusal) of an implementation that cannot run, or the error that ended the job.
pub fn run(world: &World, job: &WordCount, progress: &mut dyn FnMut(usize)) -> Result<Comparison<Report>> {
    let offer = Program("wordcount");
    offer.check(&job.implementations, Conditions::of(world)).map_err(|(_, refusal)| Error::user(refusal))?;
    let seed = agree::seed(world, job.seed)?;
    let lanes = job.implementations.iter().map(|&implementation| Lane::new(world, implementation));
    let mut lanes = lanes.collect::<Result<Vec<_>>>()?;
    let mut expected = GVector::<u64>::new(world, job.words)?;
    for rep in 0..job.reps {
        let texts = Texts::new(seed, rep, job.words, job.bytes / world.size());
        let answer = world.is_root().then(|| Answer::new(job.words, texts, world.size()));
        let (right, sequential) = answer.as_ref().map_or((&[][..], 0.0), |answer| (&answer.counts[..], answer.seconds));
        check::spread(world, right, &mut expected)?;
        for lane in &mut lanes {
            let (laps, mut counted) = lane.count(texts)?;
            if job.damage && world.is_root() {
                *counted.entry(word(0)).or_insert(0) += 1;
            }
            let wrong = wrong_counts(world, counted, &expected)?;
            lane.tally.add(world, &Repetition { laps, sequential, wrong })?;
        }
        progress(rep + 1);
    }
    let subject =
        |implementation| Subject { app: offer.name(), implementation, variant: "bytes", size: job.bytes, seed };
    let measures = BTreeMap::from([("words".into(), job.words)]);
    let report = |lane: &Lane<'_>| {
        let report = lane.tally.report(world, subject(lane.implementation));
        Report { measures: measures.clone(), ..report }
    };
    Comparison::of(lanes.iter().map(report).collect()).map_err(|error| Error::user(error))
}

/// The counts of the words that a rank owns.
type Counted = FxHashMap<String, u64>;

/// One implementation with its measurements.
struct Lane<'w> {
    world: &'w World,
    implementation: Implementation,
    #[cfg(feature = "mpi")]
    over_mpi: Option<super::mpi::OverMpi<'w>>,
    tally: Tally,
}

impl<'w> Lane<'w> {
    fn new(world: &'w World, implementation: Implementation) -> Result<Self> {
        Ok(Lane {
            world,
            implementation,
            #[cfg(feature = "mpi")]
            over_mpi: implementation.is_mpi().then(|| super::mpi::OverMpi::new(world)).transpose()?,
            tally: Tally::default(),
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
