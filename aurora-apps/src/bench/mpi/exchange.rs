//! Every rank has a range of keys for each, and gets those for itself from all.

use crate::bench::exchange::{Cuts, wrong};
use crate::bench::prelude::*;
use crate::implementation::Implementation;
use crate::mpi_ranks::{MpiRanks, Parts};
use mpi::traits::CommunicatorCollectives;
use std::ops::Range;

/// By Alltoallv, or by Isend and Irecv of whole ranges: this rank's keys, and room for what it collects.
pub struct Exchange<'w> {
    ranks: MpiRanks<'w>,
    by: Implementation,
    cuts: Cuts,
    keys: Vec<u32>,
    outgoing: Parts,
    pieces: Vec<Range<usize>>,
    collected: Vec<u32>,
    incoming: Parts,
}

impl<'w> Exchange<'w> {
    pub fn new(ranks: MpiRanks<'w>, by: Implementation, keys: usize) -> Result<Self> {
        let cuts = Cuts::new(keys, ranks.size());
        let outgoing = Parts::of_lengths((0..ranks.size()).map(|to| cuts.piece(ranks.me(), to).len()))?;
        let pieces: Vec<_> = cuts.for_rank(ranks.me()).collect();
        let incoming = Parts::of_lengths(pieces.iter().map(Range::len))?;
        let (keys, collected) = (vec![0; outgoing.total()], vec![0; incoming.total()]);
        Ok(Exchange { ranks, by, cuts, keys, outgoing, pieces, collected, incoming })
    }
}

impl Contestant for Exchange<'_> {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        let Exchange { ranks, by, cuts, keys, outgoing, pieces, collected, incoming } = self;
        round.fill(bytemuck::cast_slice_mut(keys), cuts.block(ranks.me()).start * size_of::<u32>());
        watch.measure(|| {
            match by {
                Implementation::MpiIsend => ranks.all_at_once(&outgoing.pieces(keys), incoming.pieces_mut(collected)),
                _ => ranks.comm.all_to_all_varcount_into(&outgoing.of(keys), &mut incoming.of_mut(collected)),
            }
            Ok(())
        })?;
        Ok(wrong(round, pieces, collected))
    }
}
