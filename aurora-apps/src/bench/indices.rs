//! Random places in a table, alike for all implementations: what a rank updates or reads, one after the other.

/// Uniformly random indices of a table, made in a nanosecond each, so that it is not the generator that is measured.
#[derive(Clone, Debug)]
pub struct Indices {
    state: u64,
    table: u64,
}

impl Indices {
    /// Of a table of `table` elements; equal seeds give equal indices.
    pub fn new(seed: u64, table: usize) -> Self {
        Indices { state: seed, table: table as u64 }
    }
}

impl Iterator for Indices {
    type Item = usize;

    /// A wyrand generator (Wang Yi), whose 64 bits are scaled by a multiplication instead of a division.
    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.state = self.state.wrapping_add(0xa076_1d64_78bd_642f);
        let product = u128::from(self.state) * u128::from(self.state ^ 0xe703_7ed1_a0b4_28db);
        let bits = (product >> 64) as u64 ^ product as u64;
        Some(((u128::from(bits) * u128::from(self.table)) >> 64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_elements_are_about_as_likely() {
        let mut counts = [0_u32; 100];
        Indices::new(5, 100).take(1_000_000).for_each(|index| counts[index] += 1);
        // Five standard deviations.
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    }

    #[test]
    fn the_largest_table_has_a_last_half() {
        let table = usize::MAX / 8;
        assert!(Indices::new(5, table).take(100).all(|index| index < table));
        assert!(Indices::new(5, table).take(100).any(|index| index > table / 2));
    }
}
