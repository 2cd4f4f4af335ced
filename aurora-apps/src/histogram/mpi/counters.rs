//! What a rank has for either way of counting.

use crate::mpi_ranks::MpiRanks;
use crate::mpi_ranks::buckets::{Blocks, Buckets};
use crate::mpi_ranks::room::Room;
use aurora_core::prelude::*;

/// Updates in a batch: what is sent and what is received fit a second-level cache together; and from four ranks on what
/// goes to one of them is below 64 KiB, up to which Open MPI sends over TCP without asking first.
pub const BATCH: usize = 60 * 1024;

/// What a rank has for either way.
pub struct Counters<'w> {
    pub ranks: MpiRanks<'w>,
    pub blocks: Blocks,
    /// This rank's block of the table; a few too many where the table does not divide.
    pub own: Room<u64>,
    pub way: Way,
    /// What comes: counts of this rank's block, or places in it, from each rank.
    pub rooms: Vec<u32>,
}

pub enum Way {
    /// Counts of this rank, for all blocks.
    CountingFirst(Room<u32>),
    /// Of two batches one is on its way while the other is made.
    Batches([Buckets; 2]),
}

impl<'w> Counters<'w> {
    /// Collective. For a table of so many counters and so many updates by each rank.
    pub fn new(world: &'w World, table: usize, updates: usize) -> Result<Self> {
        let ranks = MpiRanks::new(world)?;
        let size = ranks.size();
        let blocks = Blocks::new(table, size)?;
        // A counter of 32 bits must hold what all ranks count.
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

/// Adds what another rank, or this one, has counted of this rank's block.
pub fn add(counters: &mut [u64], counts: &[u32]) {
    counters.iter_mut().zip(counts).for_each(|(counter, count)| *counter += u64::from(*count));
}

/// Adds 1 to each counter at these places. The additions do not depend on each other: the processor has as many cache
/// misses under way as it can.
pub fn count(counters: &mut [u64], places: &[u32]) {
    for &place in places {
        counters[place as usize] += 1;
    }
}
