//! Every rank reads random elements of a table that lies over all ranks, in batches.

use super::indices::Indices;
use super::prelude::*;

/// What the ranks read.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Elements of the table.
    pub table: usize,
    /// How many each rank reads.
    pub reads: usize,
    /// How many at once.
    pub batch: usize,
}

impl Workload {
    /// Writes a rank's part of the table, which starts at `start`.
    pub fn fill(self, round: Round, part: &mut [u64], start: usize) {
        for (index, element) in (start..).zip(part.iter_mut()) {
            *element = round.element(index);
        }
        // One that is read for certain.
        let damaged = round.damage.then(|| self.indices(round, 0).next()).flatten();
        let damaged = damaged.and_then(|index| part.get_mut(index.checked_sub(start)?));
        if let Some(element) = damaged {
            *element ^= 1;
        }
    }

    /// Where `rank` reads.
    pub fn indices(self, round: Round, rank: usize) -> Indices {
        round.indices(rank, self.table)
    }

    /// The sizes of the batches, `at_most` the one that was asked for.
    pub fn batches(self, at_most: usize) -> impl Iterator<Item = usize> {
        let batch = self.batch.min(at_most);
        (0..self.reads).step_by(batch).map(move |done| batch.min(self.reads - done))
    }

    /// 1 if a rank has not read the right values in the right order.
    pub fn wrong(self, round: Round, rank: usize, read: Checksum) -> u64 {
        let mut expected = Checksum::default();
        for index in self.indices(round, rank).take(self.reads) {
            expected.add(&[round.element(index)]);
        }
        u64::from(read != expected)
    }
}

/// Of values and of their order: the reader's use for them, cheap beside reading them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Checksum {
    sum: u64,
    values: u64,
}

impl Checksum {
    /// The next values. A weight is odd: every single wrong bit shows.
    pub fn add(&mut self, values: &[u64]) {
        for (weight, value) in (self.values..).zip(values) {
            self.sum = self.sum.wrapping_add(value.wrapping_mul(2 * weight + 1));
        }
        self.values += values.len() as u64;
    }
}

/// By `at_many`.
pub struct Aurora {
    me: usize,
    table: GVector<u64>,
    workload: Workload,
    asked: Vec<usize>,
}

impl Aurora {
    /// Collective.
    pub fn new(world: &World, workload: Workload) -> Result<Self> {
        let table = GVector::new(world, workload.table)?;
        Ok(Aurora { me: world.rank().index(), table, workload, asked: Vec::with_capacity(workload.batch) })
    }
}

impl Contestant for Aurora {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        let Aurora { me, table, workload, asked } = self;
        let mut part = table.owner_computes_mut()?;
        let start = part.indices().start;
        workload.fill(round, part.local_mut(), start);
        part.finish()?;
        let mut read = Checksum::default();
        let mut indices = workload.indices(round, *me);
        watch.measure(|| {
            for batch in workload.batches(usize::MAX) {
                asked.clear();
                asked.extend(indices.by_ref().take(batch));
                read.add(&table.at_many(asked)?);
            }
            Ok(())
        })?;
        Ok(workload.wrong(round, *me, read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKLOAD: Workload = Workload { table: 1000, reads: 5000, batch: 64 };

    fn read(round: Round, table: &[u64]) -> Vec<u64> {
        WORKLOAD.indices(round, 0).take(WORKLOAD.reads).map(|index| table[index]).collect()
    }

    fn wrong(round: Round, values: &[u64]) -> u64 {
        let mut checksum = Checksum::default();
        values.chunks(WORKLOAD.batch).for_each(|batch| checksum.add(batch));
        WORKLOAD.wrong(round, 0, checksum)
    }

    fn filled(round: Round) -> Vec<u64> {
        let mut table = vec![0; WORKLOAD.table];
        WORKLOAD.fill(round, &mut table, 0);
        table
    }

    #[test]
    fn one_flipped_bit_and_one_exchange_are_wrong() {
        let round = Round::new(3, 1, 1, false);
        let mut values = read(round, &filled(round));
        assert_eq!(wrong(round, &values), 0);
        for (position, bit) in [(0, 0), (2500, 63), (4999, 31)] {
            values[position] ^= 1 << bit;
            assert_eq!(wrong(round, &values), 1, "bit {bit} of value {position}");
            values[position] ^= 1 << bit;
        }
        values.swap(7, 4000);
        assert_eq!(wrong(round, &values), 1);
        values.swap(7, 4000);
        assert_eq!(wrong(round, &values[..4999]), 1);
    }

    #[test]
    fn one_flipped_element_is_wrong() {
        let round = Round::new(3, 1, 1, true);
        assert_eq!(wrong(round, &read(round, &filled(round))), 1);
        let sound = Round::new(3, 1, 1, false);
        let differ = filled(round).iter().zip(&filled(sound)).filter(|(a, b)| a != b).count();
        assert_eq!(differ, 1);
    }

    #[test]
    fn batches_are_all_of_it() {
        assert_eq!(WORKLOAD.batches(usize::MAX).sum::<usize>(), WORKLOAD.reads);
        assert_eq!(WORKLOAD.batches(7).next(), Some(7));
        assert_eq!(Workload { reads: 3, ..WORKLOAD }.batches(usize::MAX).collect::<Vec<_>>(), [3]);
    }
}
