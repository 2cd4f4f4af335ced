//! The count by Isend and Irecv. Each rank's counts of a block go to the block's owner, which adds them as they arrive;
//! or places go there in batches, while the next batch is made.

use super::counters::{BATCH, Counters, Way, add, count};
use crate::clock::{Clock, Laps};
use crate::histogram::{Draws, sequential};
use crate::mpi_ranks::MpiRanks;
use crate::mpi_ranks::buckets::Buckets;
use aurora_core::prelude::*;
use mpi::request::multiple_scope;
use mpi::traits::{Destination, Equivalence, Source};

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
                let block = own.len();
                let mut incoming: Vec<_> = rooms.chunks_exact_mut(block).collect();
                incoming[me] = &mut [];
                let outgoing: Vec<_> = counts.chunks_exact(block).collect();
                ranks.each_as_it_comes(&outgoing, incoming, |_, counts, _| add(own, counts));
            }
            Way::Batches([now, next]) => {
                let batches = draws.each().div_ceil(BATCH);
                now.fill(mine.by_ref());
                for _ in 0..batches {
                    exchange(ranks, now, rooms, own, || next.fill(mine.by_ref()));
                    std::mem::swap(now, next);
                }
            }
        }
        Ok(())
    })?;
    clock.stop()
}

/// Collective. Sends each rank its bucket, runs `meanwhile` during the transfer, and counts the received places.
fn exchange(ranks: &MpiRanks<'_>, buckets: &Buckets, rooms: &mut [u32], own: &mut [u64], meanwhile: impl FnOnce()) {
    let (me, size) = (ranks.me(), ranks.size());
    multiple_scope(2 * size, |scope, requests| {
        // The number of places from each rank is unknown: there is room for a whole batch from each, and a message has
        // its length.
        let mut receives = 0;
        for (from, room) in rooms.chunks_exact_mut(rooms.len() / size).enumerate().filter(|(from, _)| *from != me) {
            requests.add(ranks.rank(from).immediate_receive_into(scope, room));
            receives += 1;
        }
        for to in (1..size).map(|step| (me + step) % size) {
            requests.add(ranks.rank(to).immediate_send(scope, buckets.of(to)));
        }
        count(own, buckets.of(me));
        meanwhile();
        while requests.incomplete() > 0 {
            if let Some((_, status, places)) = requests.wait_any().filter(|(number, ..)| *number < receives) {
                let length = status.count(u32::equivalent_datatype()) as usize;
                count(own, &places[..length]);
            }
        }
    });
}
