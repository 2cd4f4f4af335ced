//! Every other rank's bytes reach rank 0.

use crate::bench::contestant::Contestant;
use crate::bench::gather::{ROOT, place};
use crate::bench::pattern::Round;
use crate::bench::watch::Watch;
use crate::mpi_ranks::{MpiRanks, Parts};
use aurora_core::prelude::*;
use mpi::traits::Root;

/// What both have: a sender's bytes, and rank 0's room for those of all.
struct Buffers<'w> {
    ranks: MpiRanks<'w>,
    /// Rank 0 sends nothing.
    parts: Parts,
    mine: Vec<u8>,
    gathered: Vec<u8>,
}

impl<'w> Buffers<'w> {
    fn new(ranks: MpiRanks<'w>, bytes: usize) -> Result<Self> {
        let lengths = (0..ranks.size()).map(|rank| if rank == ROOT { 0 } else { bytes });
        let parts = Parts::of_lengths(lengths)?;
        let mine = vec![0; parts.range(ranks.me()).len()];
        let gathered = vec![0; if ranks.me() == ROOT { parts.total() } else { 0 }];
        Ok(Buffers { ranks, parts, mine, gathered })
    }

    fn fill(&mut self, round: Round) {
        if self.ranks.me() != ROOT {
            let start = place(self.ranks.me(), self.mine.len());
            round.fill(&mut self.mine, start);
        }
    }
}

/// By Gatherv.
pub struct Collective<'w>(Buffers<'w>);

impl<'w> Collective<'w> {
    pub fn new(ranks: MpiRanks<'w>, bytes: usize) -> Result<Self> {
        Ok(Collective(Buffers::new(ranks, bytes)?))
    }
}

impl Contestant for Collective<'_> {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        self.0.fill(round);
        let Buffers { ranks, parts, mine, gathered } = &mut self.0;
        watch.measure(|| {
            let root = ranks.rank(ROOT);
            if ranks.me() == ROOT {
                root.gather_varcount_into_root(&mine[..], &mut parts.of_mut(gathered));
            } else {
                root.gather_varcount_into(&mine[..]);
            }
            Ok(())
        })?;
        Ok(round.wrong(gathered, 0))
    }
}

/// By Isend on the senders and Irecv on rank 0.
pub struct Isend<'w>(Buffers<'w>);

impl<'w> Isend<'w> {
    pub fn new(ranks: MpiRanks<'w>, bytes: usize) -> Result<Self> {
        Ok(Isend(Buffers::new(ranks, bytes)?))
    }
}

impl Contestant for Isend<'_> {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        self.0.fill(round);
        let Buffers { ranks, parts, mine, gathered } = &mut self.0;
        watch.measure(|| {
            let nothing: &[u8] = &[];
            let mut outgoing = vec![nothing; ranks.size()];
            outgoing[ROOT] = mine;
            let incoming = if ranks.me() == ROOT { parts.pieces_mut(gathered) } else { Vec::new() };
            ranks.all_at_once(&outgoing, incoming);
            Ok(())
        })?;
        Ok(round.wrong(gathered, 0))
    }
}
