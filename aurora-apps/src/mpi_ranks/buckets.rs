//! Places in a distributed table, sorted by their owners, to be sent by an Alltoallv.

use crate::mpi_ranks::{MpiRanks, Parts, TooMany};
use aurora_core::prelude::*;
use mpi::traits::CommunicatorCollectives;
use mpi::{Count, traits::Equivalence};
use std::ops::Range;

/// A table in blocks of equal length; the last blocks are shorter or empty. Finding an owner is simpler than in
/// Aurora's distribution.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    table: usize,
    block: usize,
    /// 2^64 / `block`, rounded up.
    reciprocal: u64,
}

impl Blocks {
    /// Divides a table of `table` elements between `size` ranks.
    ///
    /// # Errors
    /// [`TooMany`]: places are sent with 32 bits each, half the bytes that a larger table needs.
    pub fn new(table: usize, size: usize) -> Result<Self> {
        u32::try_from(table).map_err(|_| Error::user(TooMany::of(table)))?;
        // The reciprocal of 1 would not fit.
        let block = table.div_ceil(size).max(2);
        Ok(Blocks { table, block, reciprocal: u64::MAX / block as u64 + 1 })
    }

    /// Returns the maximum number of elements of a rank.
    pub fn length(self) -> usize {
        self.block
    }

    /// Returns the elements of `rank`.
    pub fn range(self, rank: usize) -> Range<usize> {
        let end = |rank: usize| (rank * self.block).min(self.table);
        end(rank)..end(rank + 1)
    }

    /// Returns the owner of element `index` and its position in the owner's block. Exact for all indices of 32 bits.
    #[inline]
    fn place(self, index: usize) -> (usize, u32) {
        let owner = ((index as u128 * u128::from(self.reciprocal)) >> 64) as usize;
        (owner, (index - owner * self.block) as u32)
    }
}

/// A batch of places. Each owner's bucket has room for the whole batch, so that sorting takes one pass.
pub struct Buckets {
    blocks: Blocks,
    batch: usize,
    lengths: Vec<usize>,
    places: Vec<u32>,
}

impl Buckets {
    /// Makes buckets for batches of `batch` places.
    pub fn new(blocks: Blocks, size: usize, batch: usize) -> Self {
        Buckets { blocks, batch, lengths: vec![0; size], places: vec![0; size * batch] }
    }

    /// Sorts global indices into the buckets, at most one batch.
    pub fn fill(&mut self, indices: impl Iterator<Item = usize>) {
        self.lengths.fill(0);
        for index in indices.take(self.batch) {
            let (owner, local) = self.blocks.place(index);
            let length = &mut self.lengths[owner];
            self.places[owner * self.batch + *length] = local;
            *length += 1;
        }
    }

    /// As [`fill`](Buckets::fill), and writes each index's position in the batch to `positions`, at its place in the
    /// buckets.
    pub fn fill_noting(&mut self, indices: impl Iterator<Item = usize>, positions: &mut [u32]) {
        self.lengths.fill(0);
        for (position, index) in (0..).zip(indices.take(self.batch)) {
            let (owner, local) = self.blocks.place(index);
            let length = &mut self.lengths[owner];
            let at = owner * self.batch + *length;
            (self.places[at], positions[at]) = (local, position);
            *length += 1;
        }
    }

    /// Returns the range of `owner`'s bucket.
    pub fn range(&self, owner: usize) -> Range<usize> {
        owner * self.batch..owner * self.batch + self.lengths[owner]
    }

    /// Returns the places at `owner`.
    pub fn of(&self, owner: usize) -> &[u32] {
        &self.places[self.range(owner)]
    }

    /// Sends each other rank its bucket. Returns the parts of the outgoing buckets, and of `incoming` by sender.
    pub fn exchange(&self, ranks: &MpiRanks<'_>, incoming: &mut Vec<u32>) -> Result<(Parts, Parts)> {
        let (outgoing, parts) = self.parts(ranks)?;
        all_to_all(ranks, &outgoing, &self.places, &parts, incoming);
        Ok((outgoing, parts))
    }

    /// As [`exchange`](Buckets::exchange), by Ialltoallv; runs `meanwhile` during the transfer.
    pub fn exchange_while(
        &self,
        ranks: &MpiRanks<'_>,
        incoming: &mut Vec<u32>,
        meanwhile: impl FnOnce(),
    ) -> Result<(Parts, Parts)> {
        let (outgoing, parts) = self.parts(ranks)?;
        make_room(incoming, &parts);
        let (from, mut into) = (outgoing.of(&self.places), parts.of_mut(incoming));
        mpi::request::scope(|scope| {
            let request = ranks.comm.immediate_all_to_all_varcount_into(scope, &from, &mut into);
            meanwhile();
            request.wait_without_status();
        });
        Ok((outgoing, parts))
    }

    /// Collective. Returns the parts of the buckets by receiver, and the parts of the incoming data by sender.
    fn parts(&self, ranks: &MpiRanks<'_>) -> Result<(Parts, Parts)> {
        let ranges = (0..ranks.size()).map(|to| if to == ranks.me() { 0..0 } else { self.range(to) });
        let outgoing = Parts::new(ranges)?;
        let mut lengths = vec![0 as Count; ranks.size()];
        ranks.comm.all_to_all_into(outgoing.counts(), &mut lengths);
        Ok((outgoing, Parts::of_lengths(lengths.into_iter().map(|length| length as usize))?))
    }
}

/// Calls Alltoallv into a buffer that grows if necessary.
pub fn all_to_all<T: Equivalence + Copy + Default>(
    ranks: &MpiRanks<'_>,
    outgoing: &Parts,
    from: &[T],
    incoming: &Parts,
    into: &mut Vec<T>,
) {
    make_room(into, incoming);
    // An empty `Vec` of bytes lies at address 1, which is Open MPI's MPI_IN_PLACE.
    into.reserve(1);
    let nothing = [T::default()];
    let from = if from.is_empty() { &nothing } else { from };
    ranks.comm.all_to_all_varcount_into(&outgoing.of(from), &mut incoming.of_mut(into));
}

fn make_room<T: Clone + Default>(into: &mut Vec<T>, incoming: &Parts) {
    if into.len() < incoming.total() {
        into.resize(incoming.total(), T::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_its_place() {
        for (table, size) in [(1, 3), (10, 3), (1000, 7), (12, 4), (5, 5)] {
            let blocks = Blocks::new(table, size).unwrap();
            let mut all = (0..size).flat_map(|rank| blocks.range(rank).enumerate().map(move |at| (rank, at)));
            for index in 0..table {
                let (rank, (local, global)) = all.next().expect("as many as elements");
                assert_eq!((global, blocks.place(index)), (index, (rank, local as u32)));
            }
            assert_eq!(all.next(), None);
        }
    }

    #[test]
    fn the_last_of_many_has_its_place() {
        let table = u32::MAX as usize;
        for size in [1, 2, 3, 1000] {
            let blocks = Blocks::new(table, size).unwrap();
            for rank in 0..size {
                let range = blocks.range(rank);
                assert_eq!(blocks.place(range.start), (rank, 0));
                assert_eq!(blocks.place(range.end - 1), (rank, range.len() as u32 - 1));
            }
        }
        assert!(Blocks::new(1 << 32, 4).is_err());
    }

    #[test]
    fn buckets_keep_order_and_positions() {
        let blocks = Blocks::new(10, 2).unwrap();
        let mut buckets = Buckets::new(blocks, 2, 4);
        let mut positions = [9; 8];
        buckets.fill_noting([7, 1, 9, 0, 5].into_iter(), &mut positions);
        assert_eq!((buckets.of(0), buckets.of(1)), (&[1, 0][..], &[2, 4][..]));
        assert_eq!((&positions[buckets.range(0)], &positions[buckets.range(1)]), (&[1, 3][..], &[0, 2][..]));
        buckets.fill([3].into_iter());
        assert_eq!((buckets.of(0), buckets.of(1)), (&[3][..], &[][..]));
    }
}
