//! The count by an Alltoall of each rank's counts, which the owners add up, or by an Ialltoallv for each batch of
//! places, while the next batch is made.
//!
//! MPI's operation for the counts is Reduce_scatter_block. If ranks are few or blocks are large, Open MPI 4.1 carries
//! it out as a Reduce to rank 0 and a Scatter from there; MPICH sends as much as the Alltoall does.

use super::counters::{BATCH, Counters, Way, add, count};
use crate::clock::{Clock, Laps};
use crate::histogram::{Draws, sequential};
use aurora_core::prelude::*;
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
                ranks.comm.all_to_all_into(&counts[..], &mut rooms[..]);
                for counts in rooms.chunks_exact(own.len()) {
                    add(own, counts);
                }
            }
            Way::Batches([now, next]) => {
                now.fill(mine.by_ref());
                for _ in 0..draws.each().div_ceil(BATCH) {
                    let (_, parts) = now.exchange_while(ranks, rooms, || {
                        count(own, now.of(me));
                        next.fill(mine.by_ref());
                    })?;
                    count(own, &rooms[..parts.total()]);
                    std::mem::swap(now, next);
                }
            }
        }
        Ok(())
    })?;
    clock.stop()
}
