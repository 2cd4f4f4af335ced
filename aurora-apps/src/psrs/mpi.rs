//! The same program over MPI, phase by phase: each rank has its block in memory of its own.

use super::run::Sorting;
use super::sample::{Sample, cuts, pivots, sample_count, samples};
use super::split::{Cuts, around};
use super::{Keys, merge, sort};
use crate::block::block;
use crate::check;
use crate::clock::{Clock, Laps, Pace};
use crate::mpi_ranks::{MpiRanks, Parts};
use aurora_core::prelude::*;
use mpi::traits::{CommunicatorCollectives, Root};
use std::ops::Range;

/// The rank that sorts the samples.
const MASTER: usize = 0;

/// This rank's keys, and local memory that is kept from one repetition to the next.
pub struct Collective<'w> {
    ranks: MpiRanks<'w>,
    /// All ranks' blocks.
    blocks: Vec<Range<usize>>,
    keys: Vec<u32>,
    /// All samples, on the master.
    sample: Vec<Sample>,
    pivots: Vec<Sample>,
    partitions: Vec<u32>,
    spare: Vec<u32>,
    sorted: GVector<u32>,
}

impl<'w> Collective<'w> {
    /// Collective. Room for `length` keys.
    pub fn new(world: &'w World, length: usize) -> Result<Self> {
        let ranks = MpiRanks::new(world)?;
        let (me, size) = (ranks.me(), ranks.size());
        // Also checks that MPI can count them.
        let all = Parts::new((0..size).map(|rank| block(length, size, rank)))?;
        let blocks: Vec<_> = (0..size).map(|rank| all.range(rank)).collect();
        let samples = if me == MASTER { blocks.iter().map(|block| sample_count(block.len(), size)).sum() } else { 0 };
        Ok(Collective {
            keys: vec![0; blocks[me].len()],
            sample: vec![Sample::default(); samples],
            pivots: vec![Sample::default(); size - 1],
            partitions: Vec::new(),
            spare: Vec::new(),
            sorted: GVector::new(world, length)?,
            blocks,
            ranks,
        })
    }

    fn sort(&mut self, pace: Pace) -> Result<Laps> {
        let meeting = self.ranks.clone();
        let mut clock = Clock::paced(&meeting, pace)?;
        self.sort_block_and_gather_samples(&mut clock)?;
        let cuts = self.partition(&mut clock)?;
        self.exchange_partitions(&cuts, &mut clock)?;
        self.merge_and_move(&cuts, &mut clock)?;
        clock.stop()
    }

    /// Phase 1. Samples are gathered by Gatherv.
    fn sort_block_and_gather_samples(&mut self, clock: &mut Clock<'_>) -> Result<()> {
        let (me, size) = (self.ranks.me(), self.ranks.size());
        let mine = clock.computing("sort block", || {
            sort(&mut self.keys);
            Ok(samples(&self.keys, me, size))
        })?;
        let counts = self.blocks.iter().map(|block| sample_count(block.len(), size));
        let parts = Parts::of_lengths(counts.map(|count| count * size_of::<Sample>()))?;
        clock.sharing("gather samples", || {
            let (master, mine) = (self.ranks.rank(MASTER), bytemuck::cast_slice::<Sample, u8>(&mine));
            if me == MASTER {
                let all: &mut [u8] = bytemuck::cast_slice_mut(&mut self.sample);
                master.gather_varcount_into_root(mine, &mut parts.of_mut(all));
            } else {
                master.gather_varcount_into(mine);
            }
            Ok(())
        })
    }

    /// Phase 2. The master selects pivots and broadcasts them; all ranks cut their blocks, and gather all cuts.
    fn partition(&mut self, clock: &mut Clock<'_>) -> Result<Cuts> {
        let (me, size) = (self.ranks.me(), self.ranks.size());
        clock.computing("sort samples", || {
            if me == MASTER {
                self.sample.sort_unstable();
                self.pivots.copy_from_slice(&pivots(&self.sample, size));
            }
            Ok(())
        })?;
        clock.sharing("read pivots", || {
            let pivots: &mut [u8] = bytemuck::cast_slice_mut(&mut self.pivots);
            self.ranks.rank(MASTER).broadcast_into(pivots);
            Ok(())
        })?;
        let mine = clock.computing("cut block", || Ok(cuts(&self.keys, me, &self.pivots)))?;
        clock.sharing("exchange cuts", || {
            let mut table = vec![0; size * (size + 1)];
            self.ranks.comm.all_gather_into(&mine[..], &mut table[..]);
            Ok(Cuts::new(size, &table))
        })
    }

    /// Phase 3. Partition i of every block goes to rank i by Alltoallv.
    fn exchange_partitions(&mut self, cuts: &Cuts, clock: &mut Clock<'_>) -> Result<()> {
        let (me, size) = (self.ranks.me(), self.ranks.size());
        let outgoing = Parts::new((0..size).map(|part| cuts.partition(me, part)))?;
        let incoming = Parts::of_lengths(cuts.partitions(me).map(|partition| partition.len()))?;
        self.partitions.resize(incoming.total(), 0);
        clock.sharing("fetch partitions", || {
            let (from, into) = (outgoing.of(&self.keys), &mut incoming.of_mut(&mut self.partitions));
            self.ranks.comm.all_to_all_varcount_into(&from, into);
            Ok(())
        })
    }

    /// Phase 4. Partitions are merged; what belongs into the own block is copied there, and Alltoallv moves the rest.
    fn merge_and_move(&mut self, cuts: &Cuts, clock: &mut Clock<'_>) -> Result<()> {
        let (me, size) = (self.ranks.me(), self.ranks.size());
        let (place, mine) = (cuts.place(me), self.blocks[me].clone());
        clock.computing("merge", || {
            let ends = cuts.partitions(me).scan(0, |end, partition| {
                *end += partition.len();
                Some(*end)
            });
            merge(&mut self.partitions, &ends.collect::<Vec<_>>(), &mut self.spare);
            let [_, own, _] = around(&place, &mine);
            if !own.is_empty() {
                self.keys[from(&own, mine.start)].copy_from_slice(&self.partitions[from(&own, place.start)]);
            }
            Ok(())
        })?;
        // What `rank` has that belongs to `owner`, counted from `start`; nothing of what stays where it is.
        let moved = |rank: usize, owner: usize, start: usize| {
            let [_, common, _] = around(&cuts.place(rank), &self.blocks[owner]);
            if rank == owner || common.is_empty() { 0..0 } else { from(&common, start) }
        };
        let outgoing = Parts::new((0..size).map(|owner| moved(me, owner, place.start)))?;
        let incoming = Parts::new((0..size).map(|rank| moved(rank, me, mine.start)))?;
        clock.sharing("move keys", || {
            let (from, into) = (outgoing.of(&self.partitions), &mut incoming.of_mut(&mut self.keys));
            self.ranks.comm.all_to_all_varcount_into(&from, into);
            Ok(())
        })
    }
}

impl Sorting for Collective<'_> {
    fn run(&mut self, keys: &Keys, pace: Pace) -> Result<Laps> {
        let start = self.blocks[self.ranks.me()].start;
        for (i, key) in self.keys.iter_mut().enumerate() {
            *key = keys.key(start + i);
        }
        let laps = self.sort(pace)?;
        check::fill(&mut self.sorted, |i| self.keys[i - start])?;
        Ok(laps)
    }

    fn sorted(&mut self) -> &mut GVector<u32> {
        &mut self.sorted
    }
}

/// A range of global indices, counted from `start`.
fn from(range: &Range<usize>, start: usize) -> Range<usize> {
    range.start - start..range.end - start
}
