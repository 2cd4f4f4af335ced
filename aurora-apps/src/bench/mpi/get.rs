//! Rank 0 reads 8 bytes of rank 1's at a time: it asks, and rank 1, which has to wait or look for it, answers.

use super::target::Asked;
use crate::bench::get::wrong;
use crate::bench::job::Target;
use crate::bench::prelude::*;
use crate::bench::target::{self, ORIGIN, SLOTS};
use crate::mpi_ranks::MpiRanks;
use mpi::traits::{Destination, Source};

/// By a message there and one back.
pub struct Messages<'w> {
    ranks: MpiRanks<'w>,
    target: Target,
    slots: Vec<u64>,
    seen: Vec<u64>,
}

impl<'w> Messages<'w> {
    pub fn new(ranks: MpiRanks<'w>, target: Target) -> Self {
        Messages { ranks, target, slots: vec![0; SLOTS], seen: Vec::new() }
    }
}

impl Contestant for Messages<'_> {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        let Messages { ranks, target, slots, seen } = self;
        let owner = target::rank(ranks.size());
        if ranks.me() == ORIGIN {
            seen.resize(round.times, 0);
            let owner = ranks.rank(owner);
            watch.measure(|| {
                for (number, seen) in seen.iter_mut().enumerate() {
                    owner.send(&((number % SLOTS) as u64));
                    owner.receive_into(seen);
                }
                Ok(())
            })?;
            return Ok(wrong(round, seen));
        }
        if ranks.me() != owner {
            watch.serve()?;
            return Ok(0);
        }
        round.fill(bytemuck::cast_slice_mut(slots), 0);
        watch.start()?;
        let origin = ranks.rank(ORIGIN);
        let asked = Asked { origin: &origin, target: *target };
        for _ in 0..round.times {
            let mut index = 0_u64;
            asked.next(&mut index);
            origin.send(&slots[index as usize]);
        }
        watch.stop()?;
        Ok(0)
    }
}
