//! The program over MPI. It takes the draws of the repetitions and copies its result to the vector that is verified.
//!
//! There are two ways, and the sizes decide between them. **Counting first**: each rank counts its draws in its own
//! table, and the tables are added up, a block at each owner; this sends 4 bytes for each counter. **Batches**: places
//! of counters are sorted by their owners and sent to them; this sends 4 bytes for each update. So counting first is
//! used if the table is not longer than a rank's number of updates.

mod collective;
mod counters;
mod isend;

use super::Draws;
use crate::clock::Laps;
use crate::implementation::Implementation;
use aurora_core::prelude::*;
use counters::Counters;

/// The program over MPI.
pub struct OverMpi<'w> {
    counters: Counters<'w>,
    update: fn(&mut Counters<'_>, Draws) -> Result<Laps>,
}

impl<'w> OverMpi<'w> {
    /// Collective. Prepares a table of `table` counters and `updates` updates by each rank.
    pub fn new(world: &'w World, table: usize, updates: usize, implementation: Implementation) -> Result<Self> {
        let update = if implementation == Implementation::MpiIsend { isend::update } else { collective::update };
        Ok(OverMpi { counters: Counters::new(world, table, updates)?, update })
    }

    /// Collective. Counts `draws`, and leaves the counters in `table`.
    pub fn run(&mut self, draws: Draws, table: &mut GVector<u64>) -> Result<Laps> {
        let OverMpi { counters, update } = self;
        counters.own.fill(0);
        let laps = update(counters, draws)?;
        let block = counters.blocks.range(counters.ranks.me());
        // MPI's blocks differ from the vector's blocks.
        let mut table = table.release_c()?;
        table.put_slice(block.start, &counters.own[..block.len()])?;
        table.finish()?;
        Ok(laps)
    }
}
