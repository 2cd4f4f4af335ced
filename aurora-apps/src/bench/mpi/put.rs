//! Rank 0 writes 8 bytes of rank 1's at a time: it sends them, and rank 1, which has to wait or look for them,
//! confirms.

use super::target::Asked;
use crate::bench::job::Target;
use crate::bench::prelude::*;
use crate::bench::put::wrong;
use crate::bench::target::{self, ORIGIN, SLOTS};
use crate::mpi_ranks::MpiRanks;
use mpi::traits::{Destination, Source};

/// By a message there and one back.
pub struct Messages<'w> {
    ranks: MpiRanks<'w>,
    target: Target,
    slots: Vec<u64>,
}

impl<'w> Messages<'w> {
    pub fn new(ranks: MpiRanks<'w>, target: Target) -> Self {
        Messages { ranks, target, slots: vec![0; SLOTS] }
    }
}

impl Contestant for Messages<'_> {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        let Messages { ranks, target, slots } = self;
        let owner = target::rank(ranks.size());
        if ranks.me() == ORIGIN {
            round.fill(bytemuck::cast_slice_mut(slots), 0);
            let owner = ranks.rank(owner);
            watch.measure(|| {
                for number in 0..round.times {
                    let slot = number % SLOTS;
                    owner.send(&[slot as u64, slots[slot]]);
                    let mut confirmed = 0_u64;
                    owner.receive_into(&mut confirmed);
                }
                Ok(())
            })?;
            return Ok(0);
        }
        if ranks.me() != owner {
            watch.serve()?;
            return Ok(0);
        }
        watch.start()?;
        let origin = ranks.rank(ORIGIN);
        let asked = Asked { origin: &origin, target: *target };
        for _ in 0..round.times {
            let mut write = [0_u64; 2];
            asked.next(&mut write);
            let [slot, value] = write;
            slots[slot as usize] = value;
            origin.send(&slot);
        }
        watch.stop()?;
        Ok(wrong(round, slots))
    }
}
