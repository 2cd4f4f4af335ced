//! The draws of the ranks.

use crate::random::Stream;

/// The counters that each rank of a job updates, in order.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    stream: Stream,
    table: usize,
    each: usize,
}

impl Draws {
    /// Makes the draws of one repetition: `each` by every rank, of a table of `table` counters. Of an empty table
    /// nothing is drawn.
    pub fn new(seed: u64, repetition: usize, table: usize, each: usize) -> Self {
        let each = if table == 0 { 0 } else { each };
        Draws { stream: Stream::new(seed, repetition as u64), table, each }
    }

    /// Returns the number of draws of each rank.
    pub fn each(&self) -> usize {
        self.each
    }

    /// Returns the draws of one rank.
    pub fn of(self, rank: usize) -> impl Iterator<Item = usize> {
        let stream = self.stream.child(rank as u64);
        // All counters are equally likely, but for less than a billionth: no division.
        let index = move |bits: u64| ((u128::from(bits) * self.table as u128) >> 64) as usize;
        (0..self.each as u64).map(move |i| index(stream.bits(i)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_everywhere_and_inside() {
        for table in [1, 2, 7, 1000] {
            let draws = Draws::new(5, 1, table, 100 * table);
            let mut counts = vec![0; table];
            draws.of(3).for_each(|index| counts[index] += 1);
            assert!(counts.iter().all(|count| (50..=150).contains(count)), "{counts:?}");
        }
        assert_eq!(Draws::new(5, 1, 0, 100).of(0).count(), 0);
    }

    #[test]
    fn ranks_and_repetitions_draw_differently() {
        let draw = |rep, rank| Draws::new(5, rep, 1 << 40, 4).of(rank).collect::<Vec<_>>();
        assert_eq!(draw(0, 0), draw(0, 0));
        assert!(draw(0, 0) != draw(0, 1) && draw(0, 0) != draw(1, 0));
    }
}
