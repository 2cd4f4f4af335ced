//! Every rank reads random elements of a table that is distributed over all ranks, in batches.

use super::prelude::*;
use crate::check;
#[cfg(feature = "mpi")]
use {
    super::BATCH,
    crate::mpi_ranks::buckets::{Blocks, Buckets, all_to_all},
};

/// The size of the table and the number of reads, as in [`Operation::Reads`](crate::bench::Operation::Reads).
#[derive(Clone, Copy)]
pub struct Workload {
    pub table: usize,
    pub reads: usize,
    pub batch: usize,
}

/// By `at_many`.
pub fn aurora(world: &World, workload: Workload) -> Result<Contestant<'_>> {
    let (me, mut table) = (world.rank().index(), GVector::<u64>::new(world, workload.table)?);
    let mut asked = Vec::with_capacity(workload.batch);
    Ok(Box::new(move |round, watch| {
        check::fill(&mut table, workload.entries(round))?;
        let mut read = Checksum::default();
        let mut indices = round.indices(me, workload.table);
        watch.measure(|| {
            for batch in workload.batches() {
                asked.clear();
                asked.extend(indices.by_ref().take(batch));
                read.add(&table.at_many(&asked)?);
            }
            Ok(())
        })?;
        Ok(workload.wrong(round, me, read))
    }))
}

/// By two Alltoallv for each batch: places go to their owners, and values come back. Batches of 16384 would stay in a
/// second-level cache, but take 1 to 5 % longer, because there are four times as many exchanges.
#[cfg(feature = "mpi")]
pub fn mpi<'w>(ranks: MpiRanks<'w>, workload: Workload) -> Result<Contestant<'w>> {
    let workload = Workload { batch: workload.batch.min(BATCH), ..workload };
    let Workload { table, batch, .. } = workload;
    let (me, size) = (ranks.me(), ranks.size());
    let blocks = Blocks::new(table, size)?;
    let (own, mut buckets) = (blocks.range(me), Buckets::new(blocks, size, batch));
    let mut part = Room::<u64>::new(own.len())?;
    // The position in the batch of each place in the buckets, and the answers, which are laid out like the buckets.
    let (mut positions, mut answered) = (vec![0_u32; size * batch], vec![0_u64; size * batch]);
    let (mut asked, mut answers, mut values) = (Vec::new(), Vec::new(), vec![0; batch]);
    Ok(Box::new(move |round, watch| {
        own.clone().map(workload.entries(round)).zip(&mut *part).for_each(|(entry, element)| *element = entry);
        let mut read = Checksum::default();
        let mut indices = round.indices(me, table);
        watch.measure(|| {
            let part = &part[..];
            for batch in workload.batches() {
                buckets.fill_noting(indices.by_ref().take(batch), &mut positions);
                let (to, from) = buckets.exchange(&ranks, &mut asked)?;
                answers.clear();
                answers.extend(asked[..from.total()].iter().map(|place| part[*place as usize]));
                all_to_all(&ranks, &from, &answers, &to, &mut answered);
                for owner in 0..size {
                    let positions = positions[buckets.range(owner)].iter().map(|position| *position as usize);
                    if owner == me {
                        let own = buckets.of(me).iter().map(|place| part[*place as usize]);
                        positions.zip(own).for_each(|(position, value)| values[position] = value);
                    } else {
                        let theirs = &answered[buckets.range(owner)];
                        positions.zip(theirs).for_each(|(position, value)| values[position] = *value);
                    }
                }
                read.add(&values[..batch]);
            }
            Ok(())
        })?;
        Ok(workload.wrong(round, me, read))
    }))
}

impl Workload {
    /// Returns the value at each index of the table. If the round asks for damage, an element that is certainly read is
    /// damaged.
    fn entries(self, round: Round) -> impl Fn(usize) -> u64 {
        let damaged = round.indices(0, self.table).next().filter(|_| round.damage);
        move |index| round.element(index) ^ u64::from(damaged == Some(index))
    }

    /// Returns the sizes of the batches.
    fn batches(self) -> impl Iterator<Item = usize> {
        (0..self.reads).step_by(self.batch).map(move |done| self.batch.min(self.reads - done))
    }

    /// Returns 1 if a rank has not read the right values in the right order, and 0 otherwise.
    fn wrong(self, round: Round, rank: usize, read: Checksum) -> u64 {
        let mut expected = Checksum::default();
        for index in round.indices(rank, self.table).take(self.reads) {
            expected.add(&[round.element(index)]);
        }
        u64::from(read != expected)
    }
}

/// A checksum of values and of their order. It is the reader's use of the values, and is cheap compared with reading
/// them.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Checksum {
    sum: u64,
    values: u64,
}

impl Checksum {
    /// Adds the next values. Weights are odd, so that every single wrong bit shows.
    fn add(&mut self, values: &[u64]) {
        for (weight, value) in (self.values..).zip(values) {
            self.sum = self.sum.wrapping_add(value.wrapping_mul(2 * weight + 1));
        }
        self.values += values.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_flipped_bit_and_one_exchange_are_wrong() {
        const WORKLOAD: Workload = Workload { table: 1000, reads: 5000, batch: 64 };
        let (round, damaged) = (Round::new(3, 1, 1, false), Round::new(3, 1, 1, true));
        let filled = |round| (0..WORKLOAD.table).map(WORKLOAD.entries(round)).collect::<Vec<_>>();
        let read = |table: &[u64]| -> Vec<u64> {
            round.indices(0, WORKLOAD.table).take(WORKLOAD.reads).map(|index| table[index]).collect()
        };
        let wrong = |values: &[u64]| {
            let mut checksum = Checksum::default();
            values.chunks(WORKLOAD.batch).for_each(|batch| checksum.add(batch));
            WORKLOAD.wrong(round, 0, checksum)
        };
        let mut values = read(&filled(round));
        assert_eq!(wrong(&values), 0);
        for (position, bit) in [(0, 0), (2500, 63), (4999, 31)] {
            values[position] ^= 1 << bit;
            assert_eq!(wrong(&values), 1, "bit {bit} of value {position}");
            values[position] ^= 1 << bit;
        }
        assert_eq!(wrong(&values[..4999]), 1);
        values.swap(7, 4000);
        assert_eq!(wrong(&values), 1);
        // One element of the table is damaged, and it is read.
        assert_eq!(filled(round).iter().zip(&filled(damaged)).filter(|(a, b)| a != b).count(), 1);
        assert_eq!(wrong(&read(&filled(damaged))), 1);
    }

    #[test]
    fn batches_are_all_of_it() {
        let batches = |reads, batch| Workload { table: 1, reads, batch }.batches().collect::<Vec<_>>();
        assert_eq!((batches(10, 4), batches(3, 64), batches(4, 4)), (vec![4, 4, 2], vec![3], vec![4]));
    }
}
