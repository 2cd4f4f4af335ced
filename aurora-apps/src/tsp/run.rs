//! The repetitions: an instance, the sequential program, the parallel programs, verification.

use super::parallel::{Outcome, together};
use super::search::{Search, Tour, sequential};
use super::{Instance, Named, tsplib};
use crate::agree;
use crate::clock::Clock;
use crate::implementation::{Conditions, Implementation, Offer, Program};
use crate::report::{Comparison, Report};
use crate::tally::{Repetition, Subject, Tally};
use aurora_core::prelude::*;
use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The source of the instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A built-in instance, with its optimum.
    Named(Named),
    /// This number of random cities, at new places in each repetition.
    Random(usize),
    /// A TSPLIB file, which rank 0 reads.
    File(PathBuf),
}

/// The parameters of a run. Every rank must pass the same parameters.
#[derive(Clone, Debug)]
pub struct Tsp {
    /// The source of the instance.
    pub source: Source,
    /// The number of parts of the search that a rank takes at a time.
    pub chunk: u64,
    /// The implementations, which take turns.
    pub implementations: Vec<Implementation>,
    /// The number of repetitions.
    pub reps: usize,
    /// The seed of random instances; `None` draws a new seed.
    pub seed: Option<u64>,
    /// Visits a city twice in each result, to show that the verification can fail.
    pub damage: bool,
}

impl Default for Tsp {
    fn default() -> Self {
        Tsp {
            source: Source::Named(Named::default()),
            chunk: 4,
            implementations: vec![Implementation::Aurora],
            reps: 5,
            seed: None,
            damage: false,
        }
    }
}

/// Collective. Searches for the shortest tour `job.reps` times by each implementation. Verifies that the result is a
/// tour, has the reported length, and is as short as the sequential program's tour and, for a built-in instance, as the
/// optimum. After each repetition it calls `progress` with the number of completed repetitions.
///
/// The report is the same on all ranks.
///
/// # Errors
/// A [`Refusal`](crate::implementation::Refusal) of an implementation that cannot run; a file that cannot be read, or a
/// [`Fault`](tsplib::Fault) in it; or the error that ended the job.
pub fn run(world: &World, job: &Tsp, progress: &mut dyn FnMut(usize)) -> Result<Comparison<Report>> {
    let offer = Program("tsp");
    offer.check(&job.implementations, Conditions::of(world)).map_err(|(_, refusal)| Error::user(refusal))?;
    let seed = agree::seed(world, job.seed)?;
    let (mut lanes, mut size) = (Vec::new(), 0);
    for &implementation in &job.implementations {
        lanes.push(Lane::new(world, implementation)?);
    }
    for rep in 0..job.reps {
        let instance = instance(world, job, seed.wrapping_add(rep as u64))?;
        size = instance.cities();
        let answer = if world.is_root() { Some(Answer::new(&instance)?) } else { None };
        for lane in &mut lanes {
            lane.run(job, &instance, answer.as_ref())?;
        }
        progress(rep + 1);
    }
    let reports = lanes.iter().map(|lane| {
        let subject =
            Subject { app: offer.name(), implementation: lane.implementation, variant: job.source.name(), size, seed };
        let mut report = lane.tally.report(world, subject);
        let Lane { length, nodes, improvements, .. } = *lane;
        let found = [("length", length), ("nodes", nodes), ("improvements", improvements)];
        report.measures.extend(found.map(|(name, found)| (name.into(), found)));
        report
    });
    Comparison::of(reports.collect()).map_err(|error| Error::user(error))
}

impl Source {
    fn name(&self) -> &'static str {
        match self {
            Source::Named(named) => named.name(),
            Source::Random(_) => "random",
            Source::File(_) => "file",
        }
    }

    fn make(&self, seed: u64) -> Result<Instance> {
        match self {
            Source::Named(named) => Ok(named.instance()),
            Source::Random(cities) => Ok(Instance::random(*cities, seed)),
            Source::File(path) => read(path).map_err(|fault| Error::user(format!("{}: {fault}", path.display()))),
        }
    }

    /// Checks that the source gives an instance.
    ///
    /// # Errors
    /// The reason why the file cannot be used.
    pub fn check(&self) -> std::result::Result<(), String> {
        match self {
            Source::File(path) => read(path).map(drop),
            Source::Named(_) | Source::Random(_) => Ok(()),
        }
    }
}

/// The maximum length of a file, in bytes: a matrix of [`MOST_CITIES`](super::MOST_CITIES), with room for names and
/// comments.
const LONGEST: u64 = 1 << 20;

fn read(path: &Path) -> std::result::Result<Instance, String> {
    let fault = |error: std::io::Error| format!("the file cannot be read: {error}");
    let file = File::open(path).map_err(fault)?;
    // The job reads the file once more.
    if !file.metadata().map_err(fault)?.is_file() {
        return Err("it is no ordinary file: write its contents into one".into());
    }
    let mut text = String::new();
    let length = file.take(LONGEST + 1).read_to_string(&mut text).map_err(fault)? as u64;
    if length > LONGEST {
        return Err(format!(
            "the file is longer than {LONGEST} bytes, which {} cities do not take",
            super::MOST_CITIES
        ));
    }
    tsplib::parse(&text).map_err(|fault| fault.to_string())
}

/// Collective. Returns rank 0's instance, or the error that rank 0 got instead, on all ranks.
fn instance(world: &World, job: &Tsp, seed: u64) -> Result<Instance> {
    let made = if world.is_root() { Some(job.source.make(seed)) } else { None };
    let (made, failed) = match made {
        Some(Ok(instance)) => (Some(Ok(instance)), None),
        Some(Err(error)) => (Some(Err(error.to_string())), Some(error)),
        None => (None, None),
    };
    match world.broadcast(0, made)? {
        Some(Ok(instance)) => Ok(instance),
        Some(Err(text)) => Err(failed.unwrap_or_else(|| Error::user(text))),
        None => unreachable!("rank 0 has made one"),
    }
}

/// One implementation with its measurements.
struct Lane<'w> {
    implementation: Implementation,
    #[cfg(feature = "mpi")]
    over_mpi: Option<super::mpi::OverMpi<'w>>,
    world: &'w World,
    tally: Tally,
    length: usize,
    /// The number of beginnings of tours that all ranks examined in the last repetition.
    nodes: usize,
    improvements: usize,
}

impl<'w> Lane<'w> {
    fn new(world: &'w World, implementation: Implementation) -> Result<Self> {
        Ok(Lane {
            implementation,
            #[cfg(feature = "mpi")]
            over_mpi: match implementation.is_mpi() {
                true => Some(super::mpi::OverMpi::new(world, implementation)?),
                false => None,
            },
            world,
            tally: Tally::default(),
            length: 0,
            nodes: 0,
            improvements: 0,
        })
    }

    /// Collective. Runs one search.
    fn search(&mut self, job: &Tsp, instance: &Instance) -> Result<Outcome> {
        #[cfg(feature = "mpi")]
        if let Some(over_mpi) = &mut self.over_mpi {
            return over_mpi.search(instance, job.chunk);
        }
        match self.implementation {
            Implementation::Sequential => alone(self.world, instance),
            other => together(self.world, job.chunk, other == Implementation::Naive, instance),
        }
    }

    fn run(&mut self, job: &Tsp, instance: &Instance, answer: Option<&Answer>) -> Result<()> {
        let (laps, mut tour, [nodes, improvements]) = self.search(job, instance)?;
        if job.damage {
            match tour.cities.as_mut_slice() {
                [first, .., last] => *last = *first,
                _ => tour.length += 1,
            }
        }
        (self.length, self.nodes, self.improvements) = (tour.length as usize, nodes as usize, improvements as usize);
        let is_tour = instance.length(&tour.cities) == Some(tour.length);
        let known = match job.source {
            Source::Named(named) => named.optimum() == tour.length,
            _ => true,
        };
        let shortest = answer.is_none_or(|answer| answer.tour.length == tour.length);
        let wrong = u64::from(!(is_tour && known && shortest));
        let sequential = answer.map_or(0.0, |answer| answer.seconds);
        self.tally.add(self.world, &Repetition { laps, sequential, wrong })
    }
}

/// Collective. Runs the sequential program on rank 0.
fn alone(world: &World, instance: &Instance) -> Result<Outcome> {
    let mut clock = Clock::start(world)?;
    let bound = Cell::new(u32::MAX);
    let mut search = Search::new(instance, &bound);
    clock.computing("search", || {
        let parts = if world.is_root() { search.parts() } else { 0 };
        (0..parts).try_for_each(|part| search.part(part))
    })?;
    let laps = clock.stop()?;
    let (tour, nodes, improvements) = world.broadcast(0, (search.best, search.nodes, search.improvements))?;
    Ok((laps, tour, [nodes, improvements]))
}

/// The sequential program's result, and its time.
struct Answer {
    tour: Tour,
    seconds: f64,
}

impl Answer {
    fn new(instance: &Instance) -> Result<Self> {
        let start = Instant::now();
        let tour = sequential(instance)?;
        Ok(Answer { tour, seconds: start.elapsed().as_secs_f64() })
    }
}
