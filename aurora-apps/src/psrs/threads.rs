//! The sort by threads of one process, for comparison: rayon's sort with as many threads as there are ranks. The other
//! ranks wait.

use super::Keys;
use super::run::Sorting;
use crate::check;
use crate::clock::{Clock, Laps, Pace};
use aurora_core::prelude::*;
use rayon::slice::ParallelSliceMut;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Rank 0's keys and threads; other ranks have none.
pub struct Threads<'w> {
    world: &'w World,
    pool: Option<ThreadPool>,
    keys: Vec<u32>,
    sorted: GVector<u32>,
}

impl<'w> Threads<'w> {
    /// Collective. Allocates memory for `length` keys.
    pub fn new(world: &'w World, length: usize) -> Result<Self> {
        let pool = || ThreadPoolBuilder::new().num_threads(world.size()).build().map_err(|error| Error::user(error));
        let pool = world.is_root().then(pool).transpose()?;
        let keys = if world.is_root() { vec![0; length] } else { Vec::new() };
        Ok(Threads { world, pool, keys, sorted: GVector::new(world, length)? })
    }
}

impl Sorting for Threads<'_> {
    fn run(&mut self, keys: &Keys, pace: Pace) -> Result<Laps> {
        for (i, key) in self.keys.iter_mut().enumerate() {
            *key = keys.key(i);
        }
        let mut clock = Clock::paced(self.world, pace)?;
        clock.computing("sort", || {
            if let Some(pool) = &self.pool {
                pool.install(|| self.keys.par_sort_unstable());
            }
            Ok(())
        })?;
        let laps = clock.stop()?;
        check::spread(self.world, &self.keys, &mut self.sorted)?;
        Ok(laps)
    }

    fn sorted(&mut self) -> &mut GVector<u32> {
        &mut self.sorted
    }
}
