//! Every other rank's bytes reach rank 0.

use crate::bench::gather::{ROOT, place};
use crate::bench::prelude::*;
use crate::implementation::Implementation;
use crate::mpi_ranks::{MpiRanks, Parts};
use mpi::traits::Root;

/// By Gatherv, or by Isend on the senders and Irecv on rank 0: a sender's bytes, and rank 0's room for those of all.
pub struct Gather<'w> {
    ranks: MpiRanks<'w>,
    by: Implementation,
    /// Rank 0 sends nothing.
    parts: Parts,
    mine: Vec<u8>,
    gathered: Vec<u8>,
}

impl<'w> Gather<'w> {
    pub fn new(ranks: MpiRanks<'w>, by: Implementation, bytes: usize) -> Result<Self> {
        let lengths = (0..ranks.size()).map(|rank| if rank == ROOT { 0 } else { bytes });
        let parts = Parts::of_lengths(lengths)?;
        let mine = vec![0; parts.range(ranks.me()).len()];
        let gathered = vec![0; if ranks.me() == ROOT { parts.total() } else { 0 }];
        Ok(Gather { ranks, by, parts, mine, gathered })
    }

    fn gather(&mut self) {
        let Gather { ranks, by, parts, mine, gathered } = self;
        let root = ranks.rank(ROOT);
        match (by, ranks.me()) {
            (Implementation::MpiIsend, me) => {
                let mut outgoing: Vec<&[u8]> = vec![&[]; ranks.size()];
                outgoing[ROOT] = mine;
                let incoming = if me == ROOT { parts.pieces_mut(gathered) } else { Vec::new() };
                ranks.all_at_once(&outgoing, incoming);
            }
            (_, ROOT) => root.gather_varcount_into_root(&mine[..], &mut parts.of_mut(gathered)),
            _ => root.gather_varcount_into(&mine[..]),
        }
    }
}

impl Contestant for Gather<'_> {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        if self.ranks.me() != ROOT {
            let start = place(self.ranks.me(), self.mine.len());
            round.fill(&mut self.mine, start);
        }
        watch.measure(|| {
            self.gather();
            Ok(())
        })?;
        Ok(round.wrong(&self.gathered, 0))
    }
}
