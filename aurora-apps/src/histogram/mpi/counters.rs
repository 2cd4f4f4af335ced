//! A rank's memory for either way of counting.

use crate::mpi_ranks::MpiRanks;
use crate::mpi_ranks::buckets::{Blocks, Buckets};
use crate::mpi_ranks::room::Room;
use aurora_core::prelude::*;

/// The number of updates in a batch. The sent and the received places fit a second-level cache together. From four
/// ranks on, a message to one rank is below 64 KiB, up to which Open MPI sends over TCP without a handshake.
pub const BATCH: usize = 60 * 1024;

/// A rank's memory for either way of counting.
pub struct Counters<'w> {
    pub ranks: MpiRanks<'w>,
    pub blocks: Blocks,
    /// This rank's block of the table, with a few extra counters if the table does not divide evenly.
    pub own: Room<u64>,
    pub way: Way,
    /// The received data from each rank: counts of this rank's block, or places in it.
    pub rooms: Vec<u32>,
}

pub enum Way {
    /// This rank's counts, for all blocks.
    CountingFirst(Room<u32>),
    /// Two batches: one is in transit while the other is made.
    Batches([Buckets; 2]),
}

impl<'w> Counters<'w> {
    /// Collective. Prepares a table of `table` counters and `updates` updates by each rank.
    pub fn new(world: &'w World, table: usize, updates: usize) -> Result<Self> {
        let ranks = MpiRanks::new(world)?;
        let size = ranks.size();
        let blocks = Blocks::new(table, size)?;
        // A counter of 32 bits must hold the counts of all ranks.
        let few = u32::try_from(updates.saturating_mul(size)).is_ok();
        let way = if table <= updates && few {
            Way::CountingFirst(Room::new(blocks.length() * size)?)
        } else {
            let buckets = || Buckets::new(blocks, size, BATCH.min(updates));
            Way::Batches([buckets(), buckets()])
        };
        let room = if matches!(way, Way::CountingFirst(_)) { blocks.length() } else { BATCH.min(updates) };
        Ok(Counters { own: Room::new(blocks.length())?, rooms: vec![0; room * size], ranks, blocks, way })
    }
}

/// Adds the counts of this rank's block from another rank or from this rank.
pub fn add(counters: &mut [u64], counts: &[u32]) {
    counters.iter_mut().zip(counts).for_each(|(counter, count)| *counter += u64::from(*count));
}

/// Adds 1 to each counter at these places. The additions do not depend on each other, so that the processor can have as
/// many cache misses in progress as it supports.
pub fn count(counters: &mut [u64], places: &[u32]) {
    for &place in places {
        counters[place as usize] += 1;
    }
}
