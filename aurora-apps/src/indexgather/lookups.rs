//! The table of one repetition, and the places that each rank reads. Both depend on positions alone, so that all ranks
//! compute the same values.

use crate::random::Stream;

/// A table and the reads of each rank.
#[derive(Clone, Copy, Debug)]
pub struct Lookups {
    table: usize,
    reads: usize,
    elements: Stream,
    places: Stream,
    damage: bool,
}

impl Lookups {
    /// Makes a table of `table` elements and `reads` reads by each rank; an empty table is not read. With `damage`, one
    /// bit is flipped in the element that rank 0 reads first.
    pub fn new((table, reads): (usize, usize), seed: u64, rep: usize, damage: bool) -> Self {
        let stream = Stream::new(seed, rep as u64);
        let reads = if table == 0 { 0 } else { reads };
        Lookups { table, reads, elements: stream.child(0), places: stream.child(1), damage }
    }

    /// Returns the right value of element `index`.
    pub fn element(self, index: usize) -> u64 {
        self.elements.bits(index as u64)
    }

    /// Returns the stored value of element `index`.
    pub fn stored(self, index: usize) -> u64 {
        let flipped = self.damage && self.indices(0).next() == Some(index);
        self.element(index) ^ u64::from(flipped)
    }

    /// Returns the places that `rank` reads. All elements are equally likely.
    pub fn indices(self, rank: usize) -> impl Iterator<Item = usize> {
        let (places, table) = (self.places.child(rank as u64), self.table as u128);
        (0..self.reads as u64).map(move |nth| ((u128::from(places.bits(nth)) * table) >> 64) as usize)
    }

    /// Returns the number of `values` that differ from those that `rank` must have read. If their number is wrong, all
    /// of them count.
    pub fn wrong(self, rank: usize, values: &[u64]) -> u64 {
        if values.len() != self.reads {
            return values.len().max(self.reads) as u64;
        }
        let pairs = self.indices(rank).zip(values);
        pairs.filter(|(index, value)| self.element(*index) != **value).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lookups: Lookups, rank: usize) -> Vec<u64> {
        lookups.indices(rank).map(|index| lookups.stored(index)).collect()
    }

    #[test]
    fn one_flipped_bit_and_one_exchange_are_wrong() {
        let lookups = Lookups::new((1000, 5000), 3, 1, false);
        let mut values = read(lookups, 2);
        assert_eq!(lookups.wrong(2, &values), 0);
        for (position, bit) in [(0, 0), (2500, 63), (4999, 31)] {
            values[position] ^= 1 << bit;
            assert_eq!(lookups.wrong(2, &values), 1, "bit {bit} of value {position}");
            values[position] ^= 1 << bit;
        }
        values.swap(7, 4000);
        assert_eq!(lookups.wrong(2, &values), 2);
        values.swap(7, 4000);
        assert!(lookups.wrong(2, &values[..4999]) > 0 && lookups.wrong(1, &values) > 4900);
    }

    #[test]
    fn damage_is_one_element_that_rank_0_reads() {
        let lookups = Lookups::new((1000, 10), 3, 0, true);
        let differ = (0..1000).filter(|index| lookups.stored(*index) != lookups.element(*index)).count();
        assert_eq!(differ, 1);
        assert!(lookups.wrong(0, &read(lookups, 0)) > 0);
    }

    #[test]
    fn every_part_of_the_table_is_read_and_no_more() {
        let lookups = Lookups::new((100, 100_000), 5, 0, false);
        let mut counts = [0_u32; 100];
        lookups.indices(1).for_each(|index| counts[index] += 1);
        // Five standard deviations.
        assert!(counts.iter().all(|count| (840..1160).contains(count)), "{counts:?}");
        assert_eq!(Lookups::new((0, 7), 5, 0, true).indices(0).count(), 0);
    }
}
