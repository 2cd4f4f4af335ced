//! The common part of both MPI forms: each rank's keys in its own memory, and the phases that send nothing.

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
    /// Memory for the sorted keys.
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
    /// Collective. Allocates memory for `length` keys.
    pub fn new(world: &'w World, length: usize) -> Result<Self> {
        let ranks = MpiRanks::new(world)?;
        let (me, size) = (ranks.me(), ranks.size());
        // This also checks that MPI's counts can express the keys.
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

    /// Returns the range of this rank's block in the whole.
    pub fn block(&self) -> Range<usize> {
        self.blocks[self.ranks.me()].clone()
    }

    /// Phase 1: sorts the block and takes samples.
    pub fn sort_block(&mut self, clock: &mut Clock<'_>) -> Result<Vec<Sample>> {
        clock.computing("sort block", || {
            sort(&mut self.keys);
            Ok(samples(&self.keys, self.ranks.me(), self.ranks.size()))
        })
    }

    /// Phase 2, on the master: selects the pivots.
    pub fn select_pivots(&mut self, clock: &mut Clock<'_>) -> Result<()> {
        clock.computing("sort samples", || {
            if self.ranks.me() == MASTER {
                self.sample.sort_unstable();
                self.pivots.copy_from_slice(&pivots(&self.sample, self.ranks.size()));
            }
            Ok(())
        })
    }

    /// Phase 2, on all ranks: cuts the block.
    pub fn cut_block(&self, clock: &mut Clock<'_>) -> Result<Vec<u64>> {
        clock.computing("cut block", || Ok(cuts(&self.keys, self.ranks.me(), &self.pivots)))
    }

    /// Returns the keys that phase 3 sends to each rank and receives from each rank. This rank's own partition is not
    /// sent; it is merged from its place.
    pub fn partitions(&self, cuts: &Cuts) -> Result<(Parts, Parts)> {
        let (me, size) = (self.ranks.me(), self.ranks.size());
        let outgoing = Parts::new((0..size).map(|part| if part == me { 0..0 } else { cuts.partition(me, part) }))?;
        let length = |rank: usize| if rank == me { 0 } else { cuts.partition(rank, me).len() };
        Ok((outgoing, Parts::of_lengths((0..size).map(length))?))
    }

    /// Returns the range of the merged keys that stays on this rank, counted from their begin, and its place in this
    /// rank's block.
    pub fn stays(&self, cuts: &Cuts) -> [Range<usize>; 2] {
        let (place, block) = (cuts.place(self.ranks.me()), self.block());
        let [_, own, _] = around(&place, &block);
        if own.is_empty() { [0..0, 0..0] } else { [from(&own, place.start), from(&own, block.start)] }
    }

    /// Returns the merged keys that phase 4 sends to each rank, and the ranges of this rank's block that it receives
    /// from each rank. Keys that stay on this rank are not sent.
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

/// Returns a range of global indices, counted from `start`.
fn from(range: &Range<usize>, start: usize) -> Range<usize> {
    range.start - start..range.end - start
}
