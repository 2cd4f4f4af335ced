//! The repetitions: an instance, the sequential program, the parallel programs, verification.

use super::parallel::{Outcome, together};
use super::search::{Search, Tour, sequential};
use super::{Instance, MOST_CITIES, Named, tsplib};
use crate::clock::Clock;
use crate::implementation::{Implementation, Program};
use crate::job::{App, Job, Repetitions};
use crate::report::{Comparison, Report};
use crate::tally::Repetition;
use crate::values::number;
use aurora_core::prelude::*;
use clap::Args;
use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The parameters of a run. The source of the instance is the file, else the random cities, else the built-in instance.
#[derive(Args, Clone, Debug)]
pub struct Tsp {
    /// Instance of TSPLIB.
    #[arg(long, value_enum, default_value_t, conflicts_with_all = ["cities", "file"])]
    pub instance: Named,
    /// Random cities in place of an instance: their number.
    #[arg(long, value_name = "N", conflicts_with = "file", value_parser = number::<usize>(1..=MOST_CITIES as u64))]
    pub cities: Option<usize>,
    /// A file of TSPLIB in place of an instance: EUC_2D, GEO, or EXPLICIT as LOWER_DIAG_ROW or FULL_MATRIX.
    #[arg(long, value_name = "X.tsp")]
    pub file: Option<PathBuf>,
    /// Parts of the search that a rank takes at a time.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = number::<u64>(1..=u32::MAX.into()))]
    pub chunk: u64,
}

impl App for Tsp {
    const PROGRAM: Program = Program("tsp");
    type Report = Report;

    /// Verifies that the result is a tour, has the reported length, and is as short as the sequential program's tour
    /// and, for a built-in instance, as the optimum. Random cities are at new places in each repetition.
    ///
    /// # Errors
    /// Also a file that cannot be read, or a [`Fault`](tsplib::Fault) in it. Rank 0 reads it.
    fn run(world: &World, job: &Job<Self>, progress: &mut dyn FnMut(usize)) -> Result<Comparison<Report>> {
        let mut reps = Repetitions::new(world, job, progress, |implementation| Lane::new(world, implementation))?;
        let mut size = 0;
        for rep in reps.numbers() {
            let instance = instance(world, &job.program, reps.seed.wrapping_add(rep as u64))?;
            size = instance.cities();
            let answer = if world.is_root() { Some(Answer::new(&instance)?) } else { None };
            reps.run(rep, |_, lane| lane.run(job, &instance, answer.as_ref()))?;
        }
        reps.compare(job.program.source(), size, |report, lane| {
            let Lane { length, nodes, improvements, .. } = *lane;
            report.measure("length", length).measure("nodes", nodes).measure("improvements", improvements)
        })
    }
}

impl Tsp {
    /// Returns the built-in instance, if it is the source.
    fn named(&self) -> Option<Named> {
        (self.file.is_none() && self.cities.is_none()).then_some(self.instance)
    }

    /// Returns the name of the instance, or the kind of its source.
    fn source(&self) -> &'static str {
        self.named().map_or(if self.file.is_some() { "file" } else { "random" }, Named::name)
    }

    fn make(&self, seed: u64) -> Result<Instance> {
        match self {
            Tsp { file: Some(path), .. } => {
                read(path).map_err(|fault| Error::user(format!("{}: {fault}", path.display())))
            }
            Tsp { cities: Some(cities), .. } => Ok(Instance::random(*cities, seed)),
            Tsp { instance, .. } => Ok(instance.instance()),
        }
    }

    /// Checks that the file, if there is one, has an instance.
    ///
    /// # Errors
    /// The reason why the file cannot be used.
    pub fn check(&self) -> std::result::Result<(), String> {
        self.file.as_deref().map_or(Ok(()), |path| read(path).map(drop))
    }
}

/// The maximum length of a file, in bytes: a matrix of [`MOST_CITIES`], with room for names and comments.
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
        return Err(format!("the file is longer than {LONGEST} bytes, which {MOST_CITIES} cities do not take"));
    }
    tsplib::parse(&text).map_err(|fault| fault.to_string())
}

/// Collective. Returns rank 0's instance, or the error that rank 0 got instead, on all ranks.
fn instance(world: &World, job: &Tsp, seed: u64) -> Result<Instance> {
    let made = if world.is_root() { Some(job.make(seed)) } else { None };
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

/// One implementation with the figures of its last repetition.
struct Lane<'w> {
    implementation: Implementation,
    #[cfg(feature = "mpi")]
    over_mpi: Option<super::mpi::OverMpi<'w>>,
    world: &'w World,
    length: usize,
    /// The number of beginnings of tours that all ranks examined.
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
            length: 0,
            nodes: 0,
            improvements: 0,
        })
    }

    /// Collective. Runs one search.
    fn search(&mut self, chunk: u64, instance: &Instance) -> Result<Outcome> {
        #[cfg(feature = "mpi")]
        if let Some(over_mpi) = &mut self.over_mpi {
            return over_mpi.search(instance, chunk);
        }
        match self.implementation {
            Implementation::Sequential => alone(self.world, instance),
            other => together(self.world, chunk, other == Implementation::Naive, instance),
        }
    }

    /// Collective. Runs and verifies a repetition.
    fn run(&mut self, job: &Job<Tsp>, instance: &Instance, answer: Option<&Answer>) -> Result<Repetition> {
        let (laps, mut tour, [nodes, improvements]) = self.search(job.program.chunk, instance)?;
        if job.damage {
            match tour.cities.as_mut_slice() {
                [first, .., last] => *last = *first,
                _ => tour.length += 1,
            }
        }
        (self.length, self.nodes, self.improvements) = (tour.length as usize, nodes as usize, improvements as usize);
        let is_tour = instance.length(&tour.cities) == Some(tour.length);
        let known = job.program.named().is_none_or(|named| named.optimum() == tour.length);
        let shortest = answer.is_none_or(|answer| answer.tour.length == tour.length);
        let wrong = u64::from(!(is_tour && known && shortest));
        let sequential = answer.map_or(0.0, |answer| answer.seconds);
        Ok(Repetition { laps, sequential, wrong })
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
