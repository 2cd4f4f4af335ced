//! Every rank adds 1 to random elements of a distributed table: what to count goes to its owner in batches.

use crate::bench::prelude::*;
use crate::bench::recount::Recount;
use crate::mpi_ranks::MpiRanks;
use crate::mpi_ranks::buckets::{Blocks, Buckets};
use crate::mpi_ranks::room::Room;

/// Updates in a batch: what is sent and what is received fit a second-level cache together.
const BATCH: usize = 64 * 1024;

/// By one Alltoallv for each batch. An update is sent as its place alone: that 1 is added everybody knows.
pub struct Alltoallv<'w> {
    ranks: MpiRanks<'w>,
    blocks: Blocks,
    buckets: Buckets,
    incoming: Vec<u32>,
    table: usize,
    updates: usize,
    counters: Room<u64>,
    recount: Recount<'w>,
}

impl<'w> Alltoallv<'w> {
    /// Collective.
    pub fn new(world: &'w World, ranks: MpiRanks<'w>, table: usize, updates: usize) -> Result<Self> {
        let blocks = Blocks::new(table, ranks.size())?;
        let buckets = Buckets::new(blocks, ranks.size(), BATCH.min(updates));
        let counters = Room::new(blocks.range(ranks.me()).len())?;
        let recount = Recount::new(world, table, updates);
        Ok(Alltoallv { ranks, blocks, buckets, incoming: Vec::new(), table, updates, counters, recount })
    }
}

impl Contestant for Alltoallv<'_> {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        let me = self.ranks.me();
        let start = self.blocks.range(me).start;
        self.recount.clear(round, &mut self.counters, start);
        let Alltoallv { ranks, buckets, incoming, counters, .. } = self;
        let mut indices = round.indices(me, self.table).take(self.updates);
        let batches = self.updates.div_ceil(BATCH);
        watch.measure(|| {
            for _ in 0..batches {
                buckets.fill(indices.by_ref());
                let (_, parts) = buckets.exchange(ranks, incoming)?;
                count(counters, buckets.of(me));
                count(counters, &incoming[..parts.total()]);
            }
            Ok(())
        })?;
        self.recount.wrong(round, &self.counters, start)
    }
}

/// The additions do not depend on each other: the processor has as many cache misses under way as it can.
fn count(counters: &mut [u64], places: &[u32]) {
    for &place in places {
        counters[place as usize] += 1;
    }
}
