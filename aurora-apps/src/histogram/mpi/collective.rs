//! By Reduce_scatter_block of each rank's counts, or by an Alltoallv for each batch of places.

use super::counters::{BATCH, Counters, Way, count};
use crate::clock::{Clock, Laps};
use crate::histogram::{Draws, sequential};
use aurora_core::prelude::*;
use mpi::collective::SystemOperation;
use mpi::traits::CommunicatorCollectives;

/// Collective. Adds 1 to each counter that this rank has drawn.
pub fn update(counters: &mut Counters<'_>, draws: Draws) -> Result<Laps> {
    let Counters { ranks, own, way, rooms, .. } = counters;
    let me = ranks.me();
    let mut mine = draws.of(me);
    let mut clock = Clock::start(&*ranks)?;
    clock.sharing("update", || {
        match way {
            Way::CountingFirst(counts) => {
                counts.fill(0);
                sequential(counts, mine);
                let sums = &mut rooms[..own.len()];
                ranks.comm.reduce_scatter_block_into(&counts[..], sums, SystemOperation::sum());
                own.iter_mut().zip(sums).for_each(|(own, sum)| *own = u64::from(*sum));
            }
            Way::Batches([buckets, _]) => {
                for _ in 0..draws.each().div_ceil(BATCH) {
                    buckets.fill(mine.by_ref());
                    let (_, parts) = buckets.exchange(ranks, rooms)?;
                    count(own, buckets.of(me));
                    count(own, &rooms[..parts.total()]);
                }
            }
        }
        Ok(())
    })?;
    clock.stop()
}
