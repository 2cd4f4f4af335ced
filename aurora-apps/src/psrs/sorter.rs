//! The parallel program, phase by phase as in the paper's Table 4.

use super::merge::merge_around;
use super::sample::{Sample, cuts, pivots, sample_count, samples};
use super::sort;
use super::split::{Cuts, around, most_merged};
use crate::clock::Clock;
use aurora_core::prelude::*;
use std::ops::Range;

/// The shared data of the sort, and local memory that is kept from one repetition to the next.
#[derive(Debug)]
pub struct Sorter {
    pub(super) rank: usize,
    pub(super) size: usize,
    /// The keys, block-distributed.
    pub keys: GVector<u32>,
    /// All samples, on the master.
    pub(super) sample: GVector<Sample>,
    /// The pivots, on the master.
    pub(super) pivots: GVector<Sample>,
    /// The cuts of each rank's block: a row for each rank.
    pub(super) cuts: GVector<u64>,
    partitions: Vec<u32>,
    spare: Vec<u32>,
}

/// The rank that sorts the samples.
const MASTER: usize = 0;

impl Sorter {
    /// Collective. Allocates memory for `length` keys.
    pub fn new(world: &World, length: usize) -> Result<Self> {
        let size = world.size();
        let keys = GVector::new(world, length)?;
        let blocks = (0..size).map(|rank| keys.range_of(Rank::new(rank)).len());
        let samples: usize = blocks.map(|block| sample_count(block, size)).sum();
        Ok(Sorter {
            rank: world.rank().index(),
            size,
            keys,
            sample: GVector::on(world, MASTER, samples)?,
            pivots: GVector::on(world, MASTER, size - 1)?,
            cuts: GVector::new(world, MatrixDim::new(size, size + 1))?,
            partitions: Vec::new(),
            spare: Vec::new(),
        })
    }

    /// Collective. Sorts the keys; afterwards every rank's block is its part of the sorted whole.
    ///
    /// # Panics
    /// If a rank would merge more keys than the bound of [`most_merged`].
    pub fn sort(&mut self, world: &World, clock: &mut Clock<'_>) -> Result<()> {
        self.sort_blocks_and_gather_samples(clock)?;
        let cuts = self.partition(clock)?;
        self.fetch_partitions(&cuts, clock)?;
        // The next phase overwrites blocks from which a slower rank may still fetch.
        world.barrier()?;
        self.merge_and_update(&cuts, clock)
    }

    /// Phase 1. The block is sorted under owner-computes; samples are gathered by release consistency.
    fn sort_blocks_and_gather_samples(&mut self, clock: &mut Clock<'_>) -> Result<()> {
        let mine = clock.computing("sort block", || {
            let mut block = self.keys.owner_computes_mut()?;
            sort(block.local_mut());
            let mine = samples(block.local(), self.rank, self.size);
            block.finish()?;
            Ok(mine)
        })?;
        let place = self.first_sample();
        clock.sharing("gather samples", || {
            let mut sample = self.sample.release_c()?;
            sample.put_slice(place, &mine)?;
            sample.finish()
        })
    }

    /// Returns the position of this rank's first sample among all samples.
    pub(super) fn first_sample(&self) -> usize {
        let before = (0..self.rank).map(|rank| self.keys.range_of(Rank::new(rank)).len());
        before.map(|block| sample_count(block, self.size)).sum()
    }

    /// Phase 2. The master sorts the samples under owner-computes and selects pivots; all ranks read them from a cache
    /// and cut their blocks. In the paper, ranks find the cuts in shared memory; here the cuts go through a cache too.
    fn partition(&mut self, clock: &mut Clock<'_>) -> Result<Cuts> {
        clock.computing("sort samples", || {
            let mut sample = self.sample.owner_computes_mut()?;
            let mut chosen = self.pivots.owner_computes_mut()?;
            sample.local_mut().sort_unstable();
            if self.rank == MASTER {
                chosen.local_mut().copy_from_slice(&pivots(sample.local(), self.size));
            }
            chosen.finish()?;
            sample.finish()
        })?;
        let pivots = clock.sharing("read pivots", || self.pivots.read_cache())?;
        clock.computing("cut block", || {
            let block = self.keys.owner_computes()?;
            let mut row = self.cuts.owner_computes_mut()?;
            row.local_mut().copy_from_slice(&cuts(block.local(), self.rank, pivots.as_slice()));
            row.finish()
        })?;
        drop(pivots);
        clock.sharing("exchange cuts", || {
            let table = self.cuts.read_cache()?;
            Ok(Cuts::new(self.size, table.as_slice()))
        })
    }

    /// Phase 3. Copies partition `rank` of every block, this rank's own block included, into local memory.
    fn fetch_partitions(&mut self, cuts: &Cuts, clock: &mut Clock<'_>) -> Result<()> {
        let length = cuts.place(self.rank).len();
        let most = most_merged(self.keys.len(), self.size);
        assert!(length <= most, "{length} keys to merge, more than {most}");
        self.partitions.resize(length, 0);
        let mut rest = self.partitions.as_mut_slice();
        let mut copies = Vec::with_capacity(self.size);
        for (rank, partition) in cuts.partitions(self.rank).enumerate() {
            let (into, after) = rest.split_at_mut(partition.len());
            let start = self.keys.range_of(Rank::new(rank)).start;
            let source = start + partition.start..start + partition.end;
            copies.push((into, self.keys.range(source)));
            rest = after;
        }
        clock.sharing("fetch partitions", || distmemcpy_many(copies))
    }

    /// Phase 4. Merges the partitions and does not sort them. Keys of this rank's own block are merged into their
    /// places there; the other keys are sent to their ranks.
    fn merge_and_update(&mut self, cuts: &Cuts, clock: &mut Clock<'_>) -> Result<()> {
        let place = cuts.place(self.rank);
        let [left, own, right] = around(&place, &self.keys.local_range());
        clock.computing("merge", || {
            let ends = cuts.partitions(self.rank).scan(0, |end, partition| {
                *end += partition.len();
                Some(*end)
            });
            let mut block = self.keys.owner_computes_mut()?;
            let start = block.indices().start;
            let there = if own.is_empty() { 0..0 } else { from(&own, start) };
            let own = (from(&own, place.start), &mut block.local_mut()[there]);
            merge_around(&mut self.partitions, &ends.collect::<Vec<_>>(), &mut self.spare, own);
            block.finish()
        })?;
        clock.sharing("move keys", || {
            let mut keys = self.keys.release_c()?;
            for side in [left, right] {
                keys.put_slice(side.start, &self.partitions[from(&side, place.start)])?;
            }
            keys.finish()?;
            // The sort is done when this rank's block is whole.
            self.keys.owner_computes()?.finish()
        })
    }
}

/// Returns a range of global indices, counted from `start`.
fn from(range: &Range<usize>, start: usize) -> Range<usize> {
    range.start - start..range.end - start
}
