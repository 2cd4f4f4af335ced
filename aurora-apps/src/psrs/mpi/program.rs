//! What both forms have: each rank's keys in memory of its own, and the phases in which nothing is sent.

use crate::block::block;
use crate::clock::Clock;
use crate::mpi_ranks::{MpiRanks, Parts};
use crate::psrs::sample::{Sample, cuts, pivots, sample_count, samples};
use crate::psrs::sort;
use crate::psrs::split::{Cuts, around};
use aurora_core::prelude::*;
use std::ops::Range;

/// The rank that sorts the samples.
pub const MASTER: usize = 0;

/// This rank's keys, and local memory that is kept from one repetition to the next.
pub struct Program<'w> {
    pub ranks: MpiRanks<'w>,
    /// All ranks' blocks.
    blocks: Vec<Range<usize>>,
    pub keys: Vec<u32>,
    /// Room for the same when they are sorted.
    pub sorted: Vec<u32>,
    /// The samples of each rank, as bytes.
    pub sampled: Parts,
    /// All samples, on the master.
    pub sample: Vec<Sample>,
    pub pivots: Vec<Sample>,
    pub partitions: Vec<u32>,
    pub spare: [Vec<u32>; 2],
}

impl<'w> Program<'w> {
    /// Collective. Room for `length` keys.
    pub fn new(world: &'w World, length: usize) -> Result<Self> {
        let ranks = MpiRanks::new(world)?;
        let (me, size) = (ranks.me(), ranks.size());
        // Also checks that MPI can count them.
        let all = Parts::new((0..size).map(|rank| block(length, size, rank)))?;
        let blocks: Vec<_> = (0..size).map(|rank| all.range(rank)).collect();
        let counts: Vec<_> = blocks.iter().map(|block| sample_count(block.len(), size)).collect();
        let samples = if me == MASTER { counts.iter().sum() } else { 0 };
        Ok(Program {
            keys: vec![0; blocks[me].len()],
            sorted: vec![0; blocks[me].len()],
            sampled: Parts::of_lengths(counts.into_iter().map(|count| count * size_of::<Sample>()))?,
            sample: vec![Sample::default(); samples],
            pivots: vec![Sample::default(); size - 1],
            partitions: Vec::new(),
            spare: [Vec::new(), Vec::new()],
            blocks,
            ranks,
        })
    }

    /// Where this rank's block stands in the whole.
    pub fn block(&self) -> Range<usize> {
        self.blocks[self.ranks.me()].clone()
    }

    /// Phase 1.
    pub fn sort_block(&mut self, clock: &mut Clock<'_>) -> Result<Vec<Sample>> {
        clock.computing("sort block", || {
            sort(&mut self.keys);
            Ok(samples(&self.keys, self.ranks.me(), self.ranks.size()))
        })
    }

    /// Phase 2, on the master.
    pub fn select_pivots(&mut self, clock: &mut Clock<'_>) -> Result<()> {
        clock.computing("sort samples", || {
            if self.ranks.me() == MASTER {
                self.sample.sort_unstable();
                self.pivots.copy_from_slice(&pivots(&self.sample, self.ranks.size()));
            }
            Ok(())
        })
    }

    /// Phase 2, on all ranks.
    pub fn cut_block(&self, clock: &mut Clock<'_>) -> Result<Vec<u64>> {
        clock.computing("cut block", || Ok(cuts(&self.keys, self.ranks.me(), &self.pivots)))
    }

    /// What phase 3 sends to each rank, of this rank's keys, and what it gets from each: nothing of the own partition,
    /// which is merged where it stands.
    pub fn partitions(&self, cuts: &Cuts) -> Result<(Parts, Parts)> {
        let (me, size) = (self.ranks.me(), self.ranks.size());
        let outgoing = Parts::new((0..size).map(|part| if part == me { 0..0 } else { cuts.partition(me, part) }))?;
        let length = |rank: usize| if rank == me { 0 } else { cuts.partition(rank, me).len() };
        Ok((outgoing, Parts::of_lengths((0..size).map(length))?))
    }

    /// What stays here of what this rank has merged, counted from its begin, and where it goes in this rank's block.
    pub fn stays(&self, cuts: &Cuts) -> [Range<usize>; 2] {
        let (place, block) = (cuts.place(self.ranks.me()), self.block());
        let [_, own, _] = around(&place, &block);
        if own.is_empty() { [0..0, 0..0] } else { [from(&own, place.start), from(&own, block.start)] }
    }

    /// What phase 4 sends to each rank, of what this rank has merged, and what of this rank's block it gets from each:
    /// nothing of what stays where it is.
    pub fn moves(&self, cuts: &Cuts) -> Result<(Parts, Parts)> {
        let (me, size) = (self.ranks.me(), self.ranks.size());
        let moved = |rank: usize, owner: usize, start: usize| {
            let [_, common, _] = around(&cuts.place(rank), &self.blocks[owner]);
            if rank == owner || common.is_empty() { 0..0 } else { from(&common, start) }
        };
        let outgoing = Parts::new((0..size).map(|owner| moved(me, owner, cuts.place(me).start)))?;
        Ok((outgoing, Parts::new((0..size).map(|rank| moved(rank, me, self.block().start)))?))
    }
}

/// A range of global indices, counted from `start`.
fn from(range: &Range<usize>, start: usize) -> Range<usize> {
    range.start - start..range.end - start
}
