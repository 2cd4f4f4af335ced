//! Whether a table counts the updates that were made to it.

use super::pattern::Round;
use aurora_core::prelude::*;
use std::ops::Range;

/// Elements of each rank's part that are counted again, in another place each time.
const SAMPLE: usize = 1 << 16;

/// Verifies a table of counters of which every rank holds a part: their sum, and a sample of them one by one.
#[derive(Debug)]
pub struct Recount<'w> {
    world: &'w World,
    table: usize,
    /// How many each rank makes.
    updates: usize,
}

impl<'w> Recount<'w> {
    /// Of `updates` by each rank.
    pub fn new(world: &'w World, table: usize, updates: usize) -> Self {
        Recount { world, table, updates }
    }

    /// Prepares this rank's part, which starts at `start` of the table.
    pub fn clear(&self, round: Round, part: &mut [u64], start: usize) {
        part.fill(0);
        let sample = sample(round, part.len());
        if let Some(element) = part[sample].first_mut().filter(|_| round.damage && start == 0) {
            *element ^= 1;
        }
    }

    /// Collective. What is wrong with this rank's part.
    pub fn wrong(&self, round: Round, part: &[u64], start: usize) -> Result<u64> {
        let total = self.world.all_reduce(Add, sum(part))?;
        Ok(self.wrong_total(total) + self.wrong_sample(round, part, start))
    }

    fn wrong_total(&self, total: u64) -> u64 {
        u64::from(total != (self.world.size() * self.updates) as u64)
    }

    /// A sequential program's count of all ranks' updates, element by element.
    fn wrong_sample(&self, round: Round, part: &[u64], start: usize) -> u64 {
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

fn sum(part: &[u64]) -> u64 {
    part.iter().fold(0, |sum, element| sum.wrapping_add(*element))
}

/// Which elements of a part of `length` are counted again.
fn sample(round: Round, length: usize) -> Range<usize> {
    let elements = length.min(SAMPLE);
    let start = round.choice(length - elements + 1);
    start..start + elements
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: usize = 200_000;
    const UPDATES: usize = 300_000;

    fn counted(world: &World, round: Round) -> Result<(Recount<'_>, Vec<u64>)> {
        let recount = Recount::new(world, TABLE, UPDATES);
        let mut table = vec![1; TABLE];
        recount.clear(round, &mut table, 0);
        round.indices(0, TABLE).take(UPDATES).for_each(|index| table[index] += 1);
        Ok((recount, table))
    }

    #[test]
    fn one_update_too_many_is_wrong_wherever_it_is() {
        let round = Round::new(7, 1, 1, false);
        let test = |world: &World| {
            let (recount, mut table) = counted(world, round)?;
            assert_eq!(recount.wrong(round, &table, 0)?, 0);
            for index in [0, TABLE / 2, TABLE - 1] {
                table[index] += 1;
                assert!(recount.wrong(round, &table, 0)? > 0, "element {index}");
                table[index] -= 1;
            }
            Ok(())
        };
        Config::threads(1).run(test).unwrap();
    }

    #[test]
    fn an_update_of_the_wrong_element_is_seen_by_the_sample() {
        let round = Round::new(7, 1, 1, false);
        let test = |world: &World| {
            let (recount, mut table) = counted(world, round)?;
            let sampled = sample(round, TABLE).start;
            let other = (0..TABLE).find(|index| *index != sampled && table[*index] > 0).expect("some are counted");
            table[sampled] += 1;
            table[other] -= 1;
            assert!(recount.wrong(round, &table, 0)? > 0);
            Ok(())
        };
        Config::threads(1).run(test).unwrap();
    }

    #[test]
    fn damage_is_seen_by_the_sum_and_by_the_sample() {
        let round = Round::new(7, 1, 1, true);
        let test = |world: &World| {
            let (recount, table) = counted(world, round)?;
            assert_eq!(recount.wrong_total(sum(&table)), 1);
            assert_eq!(recount.wrong_sample(round, &table, 0), 1);
            Ok(())
        };
        Config::threads(1).run(test).unwrap();
    }

    #[test]
    fn samples_are_everywhere_and_fit() {
        let starts: Vec<_> = (0..20).map(|rep| sample(Round::new(7, rep, 1, false), 10 * SAMPLE)).collect();
        assert!(starts.iter().all(|sample| sample.len() == SAMPLE && sample.end <= 10 * SAMPLE));
        assert!(starts.iter().any(|sample| sample.start > 5 * SAMPLE) && starts.iter().any(|s| s.start < 5 * SAMPLE));
        assert_eq!(sample(Round::new(7, 1, 1, false), 0), 0..0);
        assert_eq!(sample(Round::new(7, 1, 1, false), 3), 0..3);
    }
}
