//! The repetitions: a new table and new indices, the sequential program, the parallel programs, verification.

use super::{Lookups, batched, one_by_one, sequential};
use crate::clock::{Clock, Laps};
use crate::implementation::{Conditions, Implementation, Offer, Program};
use crate::report::{Comparison, Report};
use crate::tally::{Repetition, Subject, Tally};
use crate::{agree, check};
use aurora_core::prelude::*;
use std::collections::BTreeMap;
use std::time::Instant;

/// The parameters of a run. Every rank must pass the same parameters.
#[derive(Clone, Debug)]
pub struct IndexGather {
    /// The number of elements of the table, of 64 bits each.
    pub table: usize,
    /// The number of elements that each rank reads.
    pub reads: usize,
    /// The implementations, which take turns.
    pub implementations: Vec<Implementation>,
    /// The number of repetitions, each with a new table and new indices.
    pub reps: usize,
    /// The seed of the data; `None` draws a new seed.
    pub seed: Option<u64>,
    /// Flips one bit of one element that is read, to show that the verification can fail.
    pub damage: bool,
}

impl Default for IndexGather {
    fn default() -> Self {
        let implementations = vec![Implementation::Aurora];
        IndexGather { table: 10_000_000, reads: 1_000_000, implementations, reps: 5, seed: None, damage: false }
    }
}

/// Collective. Every rank reads `job.reads` random elements of a table that is distributed over all ranks, `job.reps`
/// times by each implementation, and every value is verified. After each repetition `progress` is called with the
/// number of completed repetitions.
///
/// The report is the same on all ranks.
///
/// # Errors
/// A [`Refusal`](crate::implementation::Refusal) of an implementation that cannot run, or the error that ended the job.
pub fn run(world: &World, job: &IndexGather, progress: &mut dyn FnMut(usize)) -> Result<Comparison<Report>> {
    let offer = Program("indexgather");
    offer.check(&job.implementations, Conditions::of(world)).map_err(|(_, refusal)| Error::user(refusal))?;
    let seed = agree::seed(world, job.seed)?;
    let mut shared = Shared::new(world, job.table)?;
    let mut lanes: Vec<_> = job.implementations.iter().map(|of| (*of, Tally::default())).collect();
    for rep in 0..job.reps {
        let lookups = Lookups::new((job.table, job.reads), seed, rep, job.damage);
        shared.fill(lookups)?;
        let mut alone = world.is_root().then(|| Alone::new(world, job.table, lookups));
        let seconds = alone.as_mut().map_or(0.0, Alone::read);
        for (implementation, tally) in &mut lanes {
            let (laps, mut wrong) = match implementation {
                Implementation::Sequential => (by_one(world, alone.as_mut())?, 0),
                implementation => shared.read(*implementation, lookups)?,
            };
            // The sequential program's values are verified too.
            wrong += alone.as_ref().map_or(0, |alone| alone.wrong(lookups));
            tally.add(world, &Repetition { laps, sequential: seconds, wrong })?;
        }
        progress(rep + 1);
    }
    let report = |(implementation, tally): &(Implementation, Tally)| {
        let subject =
            Subject { app: offer.name(), implementation: *implementation, variant: "random", size: job.table, seed };
        Report { measures: BTreeMap::from([("reads".into(), job.reads)]), ..tally.report(world, subject) }
    };
    Comparison::of(lanes.iter().map(report).collect()).map_err(|error| Error::user(error))
}

/// The distributed table, and the indices and values of this rank's reads.
struct Shared<'w> {
    world: &'w World,
    table: GVector<u64>,
    indices: Vec<usize>,
    values: Vec<u64>,
}

impl<'w> Shared<'w> {
    fn new(world: &'w World, table: usize) -> Result<Self> {
        Ok(Shared { world, table: GVector::new(world, table)?, indices: Vec::new(), values: Vec::new() })
    }

    fn fill(&mut self, lookups: Lookups) -> Result<()> {
        check::fill(&mut self.table, |index| lookups.stored(index))?;
        self.indices.clear();
        self.indices.extend(lookups.indices(self.world.rank().index()));
        self.values.resize(self.indices.len(), 0);
        Ok(())
    }

    /// Collective. Returns the measurement, and the number of wrong values.
    fn read(&mut self, implementation: Implementation, lookups: Lookups) -> Result<(Laps, u64)> {
        let Shared { world, table, indices, values } = self;
        // Overwritten, so that values from another implementation cannot pass for new ones.
        values.iter_mut().for_each(|value| *value = !*value);
        let mut clock = Clock::start(*world)?;
        clock.sharing("read", || match implementation {
            Implementation::Naive => one_by_one(table, indices, values),
            _ => batched(table, indices, values),
        })?;
        Ok((clock.stop()?, lookups.wrong(world.rank().index(), values)))
    }
}

/// Rank 0's own table, and the reads of all ranks.
struct Alone {
    table: Vec<u64>,
    indices: Vec<usize>,
    values: Vec<u64>,
    ranks: usize,
}

impl Alone {
    fn new(world: &World, table: usize, lookups: Lookups) -> Self {
        let ranks = world.size();
        let table = (0..table).map(|index| lookups.stored(index)).collect();
        let indices: Vec<usize> = (0..ranks).flat_map(|rank| lookups.indices(rank)).collect();
        // Not zeros, because the measured program would then be the first to touch these pages.
        let values = vec![!0; indices.len()];
        Alone { table, indices, values, ranks }
    }

    /// Overwrites the values, so that old ones cannot pass for new ones.
    fn forget(&mut self) {
        self.values.iter_mut().for_each(|value| *value = !*value);
    }

    /// Reads all values and returns the time in seconds.
    fn read(&mut self) -> f64 {
        let start = Instant::now();
        sequential(&self.table, &self.indices, &mut self.values);
        start.elapsed().as_secs_f64()
    }

    fn wrong(&self, lookups: Lookups) -> u64 {
        let each = (self.values.len() / self.ranks).max(1);
        self.values.chunks(each).enumerate().map(|(rank, values)| lookups.wrong(rank, values)).sum()
    }
}

/// Collective. Runs the sequential program on rank 0, while the other ranks wait.
fn by_one(world: &World, mut alone: Option<&mut Alone>) -> Result<Laps> {
    if let Some(alone) = &mut alone {
        alone.forget();
    }
    let mut clock = Clock::start(world)?;
    clock.computing("read", || {
        if let Some(alone) = alone {
            alone.read();
        }
        Ok(())
    })?;
    clock.stop()
}
