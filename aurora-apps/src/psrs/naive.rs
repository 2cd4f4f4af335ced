//! The same phases without a behaviour: every key, sample and cut is accessed by itself, with a barrier wherever one
//! rank reads data that another rank has written.

use super::sample::{Sample, cuts, pivots, samples};
use super::split::Cuts;
use super::{Sorter, merge, sort};
use crate::clock::Clock;
use aurora_core::prelude::*;
use std::ops::Range;

/// The rank that sorts the samples.
const MASTER: usize = 0;

impl Sorter {
    /// Collective. Sorts the keys by default access alone.
    pub(super) fn sort_by_elements(&mut self, world: &World, clock: &mut Clock<'_>) -> Result<()> {
        let (me, size, mine) = (self.rank, self.size, self.keys.local_range());
        let block = clock.computing("sort block", || {
            let mut block = read(&self.keys, mine.clone())?;
            sort(&mut block);
            write(&mut self.keys, mine.start, &block)?;
            Ok(block)
        })?;
        clock.sharing("gather samples", || {
            let place = self.first_sample();
            write(&mut self.sample, place, &samples(&block, me, size))?;
            world.barrier()
        })?;
        clock.computing("sort samples", || {
            if me == MASTER {
                let mut sample = read(&self.sample, 0..self.sample.len())?;
                sample.sort_unstable();
                write(&mut self.pivots, 0, &pivots(&sample, size))?;
            }
            world.barrier()
        })?;
        let pivots: Vec<Sample> = clock.sharing("read pivots", || read(&self.pivots, 0..self.pivots.len()))?;
        clock.computing("cut block", || write(&mut self.cuts, me * (size + 1), &cuts(&block, me, &pivots)))?;
        let cuts = clock.sharing("exchange cuts", || {
            world.barrier()?;
            Ok(Cuts::new(size, &read(&self.cuts, 0..self.cuts.len())?))
        })?;
        let (mut merged, mut ends) = (Vec::new(), Vec::new());
        clock.sharing("fetch partitions", || {
            for (rank, partition) in cuts.partitions(me).enumerate() {
                let start = self.keys.range_of(Rank::new(rank)).start;
                merged.extend(read(&self.keys, start + partition.start..start + partition.end)?);
                ends.push(merged.len());
            }
            // The next phase overwrites blocks from which a slower rank may still read.
            world.barrier()
        })?;
        clock.computing("merge", || {
            merge(&mut merged, &ends, &mut Vec::new());
            Ok(())
        })?;
        clock.sharing("move keys", || {
            write(&mut self.keys, cuts.place(me).start, &merged)?;
            world.barrier()
        })
    }
}

/// Reads the elements of `range`, one by one.
fn read<T: Element>(vector: &GVector<T>, range: Range<usize>) -> Result<Vec<T>> {
    range.map(|i| vector.at(i)).collect()
}

/// Writes `values` from index `start` on, one by one.
fn write<T: Element>(vector: &mut GVector<T>, start: usize, values: &[T]) -> Result<()> {
    values.iter().enumerate().try_for_each(|(i, value)| vector.put(start + i, *value))
}
