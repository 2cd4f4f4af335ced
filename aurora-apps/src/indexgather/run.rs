//! The repetitions: a new table and new indices, the sequential program, the parallel programs, verification.

use super::{Lookups, batched, one_by_one, sequential};
use crate::check;
use crate::clock::{Clock, Laps};
use crate::implementation::{Implementation, Program};
use crate::job::{App, Job, Repetitions};
use crate::report::{Comparison, Report};
use crate::tally::Repetition;
use crate::values::number;
use aurora_core::prelude::*;
use clap::Args;
use std::time::Instant;

/// The parameters of a run.
#[derive(Args, Clone, Debug)]
pub struct IndexGather {
    /// Number of 64-bit elements of the table.
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = number::<usize>(1..))]
    pub table: usize,
    /// Number of elements that each rank reads.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = number::<usize>(0..))]
    pub reads: usize,
}

impl App for IndexGather {
    const PROGRAM: Program = Program("indexgather");
    type Report = Report;

    /// Verifies every value that is read, also by the sequential program.
    fn run(world: &World, job: &Job<Self>, progress: &mut dyn FnMut(usize)) -> Result<Comparison<Report>> {
        let IndexGather { table, reads } = job.program;
        let mut reps = Repetitions::new(world, job, progress, |_| Ok(()))?;
        let mut shared = Shared::new(world, table)?;
        for rep in reps.numbers() {
            let lookups = Lookups::new((table, reads), reps.seed, rep, job.damage);
            shared.fill(lookups)?;
            let mut alone = world.is_root().then(|| Alone::new(world, table, lookups));
            let sequential = alone.as_mut().map_or(0.0, Alone::read);
            reps.run(rep, |implementation, ()| {
                let (laps, wrong) = match implementation {
                    Implementation::Sequential => (by_one(world, alone.as_mut())?, 0),
                    implementation => shared.read(implementation, lookups)?,
                };
                let wrong = wrong + alone.as_ref().map_or(0, |alone| alone.wrong(lookups));
                Ok(Repetition { laps, sequential, wrong })
            })?;
        }
        reps.compare("random", table, |report, ()| report.measure("reads", reads))
    }
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
