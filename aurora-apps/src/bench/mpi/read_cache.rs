//! Every rank gets all of a vector.

use crate::bench::full_read::Load;
use crate::bench::pattern::Round;
use crate::block::block;
use crate::mpi_ranks::room::Room;
use crate::mpi_ranks::{MpiRanks, Parts};
use aurora_core::prelude::*;

/// What both have: room for all, with this rank's block in its place.
struct Buffers<'w> {
    ranks: MpiRanks<'w>,
    parts: Parts,
    whole: Room<u8>,
}

impl<'w> Buffers<'w> {
    fn new(ranks: MpiRanks<'w>, bytes: usize) -> Result<Self> {
        let parts = Parts::new((0..ranks.size()).map(|rank| block(bytes, ranks.size(), rank)))?;
        Ok(Buffers { whole: Room::new(bytes)?, parts, ranks })
    }

    fn fill(&mut self, round: Round) {
        let own = self.parts.range(self.ranks.me());
        round.fill(&mut self.whole[own.clone()], own.start);
    }
}

/// By Allgather, or Allgatherv where blocks differ.
pub struct Collective<'w>(Buffers<'w>);

impl<'w> Collective<'w> {
    pub fn new(ranks: MpiRanks<'w>, bytes: usize) -> Result<Self> {
        Ok(Collective(Buffers::new(ranks, bytes)?))
    }
}

impl Load for Collective<'_> {
    type Loaded<'l>
        = &'l [u8]
    where
        Self: 'l;

    fn fill(&mut self, round: Round) -> Result<()> {
        self.0.fill(round);
        Ok(())
    }

    fn load(&mut self) -> Result<&[u8]> {
        let Buffers { ranks, parts, whole } = &mut self.0;
        ranks.all_gather(parts, whole);
        Ok(whole)
    }
}

/// By Isend and Irecv of whole blocks.
pub struct Isend<'w>(Buffers<'w>);

impl<'w> Isend<'w> {
    pub fn new(ranks: MpiRanks<'w>, bytes: usize) -> Result<Self> {
        Ok(Isend(Buffers::new(ranks, bytes)?))
    }
}

impl Load for Isend<'_> {
    type Loaded<'l>
        = &'l [u8]
    where
        Self: 'l;

    fn fill(&mut self, round: Round) -> Result<()> {
        self.0.fill(round);
        Ok(())
    }

    fn load(&mut self) -> Result<&[u8]> {
        let Buffers { ranks, parts, whole } = &mut self.0;
        ranks.all_gather_at_once(parts, whole);
        Ok(whole)
    }
}
