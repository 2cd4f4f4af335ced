//! Every rank has a range of keys for each, and gets those for itself from all.

use crate::bench::contestant::Contestant;
use crate::bench::exchange::{Cuts, wrong};
use crate::bench::pattern::Round;
use crate::bench::watch::Watch;
use crate::mpi_ranks::{MpiRanks, Parts};
use aurora_core::prelude::*;
use mpi::traits::CommunicatorCollectives;
use std::ops::Range;

/// What both have: this rank's keys, and room for what it collects.
struct Buffers<'w> {
    ranks: MpiRanks<'w>,
    cuts: Cuts,
    keys: Vec<u32>,
    outgoing: Parts,
    pieces: Vec<Range<usize>>,
    collected: Vec<u32>,
    incoming: Parts,
}

impl<'w> Buffers<'w> {
    fn new(ranks: MpiRanks<'w>, keys: usize) -> Result<Self> {
        let cuts = Cuts::new(keys, ranks.size());
        let outgoing = Parts::of_lengths(cuts.of_rank(ranks.me()).map(|piece| piece.len()))?;
        let pieces: Vec<_> = cuts.for_rank(ranks.me()).collect();
        let incoming = Parts::of_lengths(pieces.iter().map(Range::len))?;
        let (keys, collected) = (vec![0; outgoing.total()], vec![0; incoming.total()]);
        Ok(Buffers { ranks, cuts, keys, outgoing, pieces, collected, incoming })
    }

    fn fill(&mut self, round: Round) {
        let start = self.cuts.block(self.ranks.me()).start * size_of::<u32>();
        round.fill(bytemuck::cast_slice_mut(&mut self.keys), start);
    }

    fn wrong(&self, round: Round) -> u64 {
        wrong(round, &self.pieces, &self.collected)
    }
}

/// By Alltoallv.
pub struct Collective<'w>(Buffers<'w>);

impl<'w> Collective<'w> {
    pub fn new(ranks: MpiRanks<'w>, keys: usize) -> Result<Self> {
        Ok(Collective(Buffers::new(ranks, keys)?))
    }
}

impl Contestant for Collective<'_> {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        self.0.fill(round);
        let Buffers { ranks, keys, outgoing, collected, incoming, .. } = &mut self.0;
        watch.measure(|| {
            ranks.comm.all_to_all_varcount_into(&outgoing.of(keys), &mut incoming.of_mut(collected));
            Ok(())
        })?;
        Ok(self.0.wrong(round))
    }
}

/// By Isend and Irecv of whole ranges.
pub struct Isend<'w>(Buffers<'w>);

impl<'w> Isend<'w> {
    pub fn new(ranks: MpiRanks<'w>, keys: usize) -> Result<Self> {
        Ok(Isend(Buffers::new(ranks, keys)?))
    }
}

impl Contestant for Isend<'_> {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        self.0.fill(round);
        let Buffers { ranks, keys, outgoing, collected, incoming, .. } = &mut self.0;
        watch.measure(|| {
            ranks.all_at_once(&outgoing.pieces(keys), incoming.pieces_mut(collected));
            Ok(())
        })?;
        Ok(self.0.wrong(round))
    }
}
