//! Every rank gets all of a vector.

use crate::bench::contestant::Contestant;
use crate::bench::exchange::Cuts;
use crate::bench::pattern::Round;
use crate::bench::watch::Watch;
use crate::mpi_ranks::{MpiRanks, Parts};
use aurora_core::prelude::*;
use mpi::traits::CommunicatorCollectives;

/// What both have: this rank's block, and room for all.
struct Buffers<'w> {
    ranks: MpiRanks<'w>,
    parts: Parts,
    mine: Vec<u8>,
    whole: Vec<u8>,
}

impl<'w> Buffers<'w> {
    fn new(ranks: MpiRanks<'w>, bytes: usize) -> Result<Self> {
        let blocks = Cuts::new(bytes, ranks.size());
        let parts = Parts::new((0..ranks.size()).map(|rank| blocks.block(rank)))?;
        Ok(Buffers { mine: vec![0; parts.range(ranks.me()).len()], whole: vec![0; bytes], parts, ranks })
    }

    fn fill(&mut self, round: Round) {
        round.fill(&mut self.mine, self.parts.range(self.ranks.me()).start);
    }
}

/// By Allgatherv.
pub struct Collective<'w>(Buffers<'w>);

impl<'w> Collective<'w> {
    pub fn new(ranks: MpiRanks<'w>, bytes: usize) -> Result<Self> {
        Ok(Collective(Buffers::new(ranks, bytes)?))
    }
}

impl Contestant for Collective<'_> {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        self.0.fill(round);
        let Buffers { ranks, parts, mine, whole } = &mut self.0;
        watch.measure(|| {
            ranks.comm.all_gather_varcount_into(&mine[..], &mut parts.of_mut(whole));
            Ok(())
        })?;
        Ok(round.wrong(whole, 0))
    }
}

/// By Isend and Irecv of whole blocks.
pub struct Isend<'w>(Buffers<'w>);

impl<'w> Isend<'w> {
    pub fn new(ranks: MpiRanks<'w>, bytes: usize) -> Result<Self> {
        Ok(Isend(Buffers::new(ranks, bytes)?))
    }
}

impl Contestant for Isend<'_> {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        self.0.fill(round);
        let Buffers { ranks, parts, mine, whole } = &mut self.0;
        watch.measure(|| {
            ranks.all_at_once(&vec![&mine[..]; ranks.size()], parts.pieces_mut(whole));
            Ok(())
        })?;
        Ok(round.wrong(whole, 0))
    }
}
