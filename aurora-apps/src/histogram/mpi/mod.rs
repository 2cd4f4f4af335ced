//! The same program over MPI, with the draws of the repetitions, and its result where it is verified.
//!
//! Two ways, of which the sizes choose one. **Counting first**: each rank counts what it has drawn in a table of its
//! own, and the tables are added up, a block at each owner; that sends 4 bytes for each counter. **Batches**: places of
//! counters are sorted by their owners and sent to them; that is 4 bytes for each update. So the former is for tables
//! that are not longer than a rank's updates are many.

mod collective;
mod counters;
mod isend;

use super::Draws;
use crate::clock::Laps;
use crate::implementation::Implementation;
use aurora_core::prelude::*;
use counters::Counters;

/// The program, run again and again.
pub struct OverMpi<'w> {
    counters: Counters<'w>,
    update: fn(&mut Counters<'_>, Draws) -> Result<Laps>,
}

impl<'w> OverMpi<'w> {
    /// Collective. For a table of so many counters and so many updates by each rank.
    pub fn new(world: &'w World, table: usize, updates: usize, implementation: Implementation) -> Result<Self> {
        let update = if implementation == Implementation::MpiIsend { isend::update } else { collective::update };
        Ok(OverMpi { counters: Counters::new(world, table, updates)?, update })
    }

    /// Collective. Counts these draws, and leaves the counters in `table`.
    pub fn run(&mut self, draws: Draws, table: &mut GVector<u64>) -> Result<Laps> {
        let OverMpi { counters, update } = self;
        counters.own.fill(0);
        let laps = update(counters, draws)?;
        let block = counters.blocks.range(counters.ranks.me());
        // MPI's blocks are not the vector's.
        let mut table = table.release_c()?;
        table.put_slice(block.start, &counters.own[..block.len()])?;
        table.finish()?;
        Ok(laps)
    }
}
