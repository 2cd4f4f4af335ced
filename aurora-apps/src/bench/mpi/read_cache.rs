//! Every rank gets all of a vector.

use crate::bench::full_read::Load;
use crate::bench::prelude::*;
use crate::block::block;
use crate::implementation::Implementation;
use crate::mpi_ranks::room::Room;
use crate::mpi_ranks::{MpiRanks, Parts};

/// By Allgather, or Allgatherv where blocks differ; or by Isend and Irecv of whole blocks: room for all, with this
/// rank's block in its place.
pub struct Loading<'w> {
    ranks: MpiRanks<'w>,
    by: Implementation,
    parts: Parts,
    whole: Room<u8>,
}

impl<'w> Loading<'w> {
    pub fn new(ranks: MpiRanks<'w>, by: Implementation, bytes: usize) -> Result<Self> {
        let parts = Parts::new((0..ranks.size()).map(|rank| block(bytes, ranks.size(), rank)))?;
        Ok(Loading { whole: Room::new(bytes)?, by, parts, ranks })
    }
}

impl Load for Loading<'_> {
    type Loaded<'l>
        = &'l [u8]
    where
        Self: 'l;

    fn fill(&mut self, round: Round) -> Result<()> {
        let own = self.parts.range(self.ranks.me());
        round.fill(&mut self.whole[own.clone()], own.start);
        Ok(())
    }

    fn load(&mut self) -> Result<&[u8]> {
        let Loading { ranks, by, parts, whole } = self;
        match by {
            Implementation::MpiIsend => ranks.all_gather_at_once(parts, whole),
            _ => ranks.all_gather(parts, whole),
        }
        Ok(whole)
    }
}
