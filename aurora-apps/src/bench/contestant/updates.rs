//! Every rank adds 1 to random elements of a table that is distributed over all ranks: a histogram, or HPC Challenge's
//! RandomAccess.

use super::prelude::*;
use crate::check;
use aurora_core::ops::Sum;
use std::ops::Range;
#[cfg(feature = "mpi")]
use {
    super::BATCH,
    crate::mpi_ranks::buckets::{Blocks, Buckets},
};

/// By `update` in a ReleaseC with `Sum`.
pub fn aurora(world: &World, table: usize, updates: usize) -> Result<Contestant<'_>> {
    let recount = Recount { world, table, updates };
    let (me, mut counters) = (world.rank().index(), GVector::<u64>::new(world, table)?);
    let part = counters.local_range();
    Ok(Box::new(move |round, watch| {
        check::fill(&mut counters, recount.zeros(round, &part))?;
        let indices = round.indices(me, table).take(updates);
        watch.measure(|| {
            let mut counters = counters.release_c_with(Sum)?;
            for index in indices {
                counters.update(index, 1)?;
            }
            counters.finish()
        })?;
        recount.wrong(round, counters.owner_computes()?.local(), part.start)
    }))
}

/// By one Alltoallv for each batch: the sent and the received data together fit a second-level cache. An update is sent
/// as its place alone, because every rank knows that 1 is added.
#[cfg(feature = "mpi")]
pub fn mpi<'w>(world: &'w World, ranks: MpiRanks<'w>, table: usize, updates: usize) -> Result<Contestant<'w>> {
    let recount = Recount { world, table, updates };
    let (me, blocks) = (ranks.me(), Blocks::new(table, ranks.size())?);
    let (part, mut incoming) = (blocks.range(me), Vec::new());
    let mut buckets = Buckets::new(blocks, ranks.size(), BATCH.min(updates));
    let mut counters = Room::<u64>::new(part.len())?;
    Ok(Box::new(move |round, watch| {
        part.clone().map(recount.zeros(round, &part)).zip(&mut *counters).for_each(|(zero, counter)| *counter = zero);
        let mut indices = round.indices(me, table).take(updates);
        watch.measure(|| {
            for _ in 0..updates.div_ceil(BATCH) {
                buckets.fill(indices.by_ref());
                let (_, parts) = buckets.exchange(&ranks, &mut incoming)?;
                count(&mut counters, buckets.of(me));
                count(&mut counters, &incoming[..parts.total()]);
            }
            Ok(())
        })?;
        recount.wrong(round, &counters, part.start)
    }))
}

/// Counts the places. The additions do not depend on each other, so that the processor can have as many cache misses in
/// progress as it supports.
#[cfg(feature = "mpi")]
fn count(counters: &mut [u64], places: &[u32]) {
    for &place in places {
        counters[place as usize] += 1;
    }
}

/// The number of elements of each rank's part that are counted again, at another place each time.
const SAMPLE: usize = 1 << 16;

/// Verifies a table of counters that is distributed over all ranks: their sum, and a sample of them one by one.
#[derive(Clone, Copy)]
struct Recount<'w> {
    world: &'w World,
    table: usize,
    /// The number of updates by each rank.
    updates: usize,
}

impl Recount<'_> {
    /// Returns the initial value at each index of `part`. If the round asks for damage, the first element of rank 0's
    /// sample is damaged.
    fn zeros(self, round: Round, part: &Range<usize>) -> impl Fn(usize) -> u64 + use<> {
        let damaged = sample(round, part.len()).next().filter(|_| round.damage && part.start == 0);
        move |index| u64::from(damaged == Some(index))
    }

    /// Collective. Returns the number of errors in this rank's part.
    fn wrong(self, round: Round, part: &[u64], start: usize) -> Result<u64> {
        Ok(self.wrong_total(part)? + self.wrong_sample(round, part, start))
    }

    fn wrong_total(self, part: &[u64]) -> Result<u64> {
        let total = self.world.all_reduce(Sum, part.iter().copied().fold(0, u64::wrapping_add))?;
        Ok(u64::from(total != (self.world.size() * self.updates) as u64))
    }

    /// Compares the sample with a sequential program's count of all ranks' updates, element by element.
    fn wrong_sample(self, round: Round, part: &[u64], start: usize) -> u64 {
        let sample = sample(round, part.len());
        let first = start + sample.start;
        let mut counts = vec![0; sample.len()];
        for rank in 0..self.world.size() {
            for index in round.indices(rank, self.table).take(self.updates) {
                if let Some(count) = counts.get_mut(index.wrapping_sub(first)) {
                    *count += 1;
                }
            }
        }
        part[sample].iter().zip(&counts).filter(|(got, want)| got != want).count() as u64
    }
}

/// Returns the elements of a part of `length` elements that are counted again.
fn sample(round: Round, length: usize) -> Range<usize> {
    let elements = length.min(SAMPLE);
    let start = round.choice(length - elements + 1);
    start..start + elements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_counts_are_seen_by_the_sum_and_by_the_sample() {
        const TABLE: usize = 200_000;
        let test = |world: &World| {
            for damage in [false, true] {
                let recount = Recount { world, table: TABLE, updates: 300_000 };
                let round = Round::new(7, 1, 1, damage);
                let mut table: Vec<_> = (0..TABLE).map(recount.zeros(round, &(0..TABLE))).collect();
                round.indices(0, TABLE).take(300_000).for_each(|index| table[index] += 1);
                let seen = |table: &[u64]| (recount.wrong_total(table).unwrap(), recount.wrong_sample(round, table, 0));
                assert_eq!(seen(&table), (damage.into(), damage.into()));
                let sampled = sample(round, TABLE).start;
                table[sampled] -= u64::from(damage);
                // An extra update at any place is found.
                for index in [0, TABLE / 2, TABLE - 1] {
                    table[index] += 1;
                    assert!(recount.wrong(round, &table, 0)? > 0, "element {index}");
                    table[index] -= 1;
                }
                // An update of the wrong element is found.
                let other = (0..TABLE).find(|index| *index != sampled && table[*index] > 0).expect("some are counted");
                table[sampled] += 1;
                table[other] -= 1;
                assert!(recount.wrong(round, &table, 0)? > 0);
            }
            Ok(())
        };
        Config::threads(1).run(test).unwrap();
    }

    #[test]
    fn samples_are_everywhere_and_fit() {
        let starts: Vec<_> = (0..20).map(|rep| sample(Round::new(7, rep, 1, false), 10 * SAMPLE)).collect();
        assert!(starts.iter().all(|sample| sample.len() == SAMPLE && sample.end <= 10 * SAMPLE));
        assert!(starts.iter().any(|sample| sample.start > 5 * SAMPLE) && starts.iter().any(|s| s.start < 5 * SAMPLE));
        assert_eq!([0, 3].map(|length| sample(Round::new(7, 1, 1, false), length)), [0..0, 0..3]);
    }
}
