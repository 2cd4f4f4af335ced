//! Which part of something each rank has, where it is distributed as the library distributes vectors.

use std::ops::Range;

/// What `rank` of `ranks` ranks has of `units` units: the first ranks have one more, where it does not divide.
pub fn block(units: usize, ranks: usize, rank: usize) -> Range<usize> {
    let (base, longer) = (units / ranks, units % ranks);
    let start = rank * base + rank.min(longer);
    start..start + base + usize::from(rank < longer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aurora_core::prelude::*;

    #[test]
    fn blocks_are_the_librarys() {
        Config::threads(3)
            .run(|world| {
                for units in [0, 1, 2, 3, 10, 11, 12] {
                    let vector = GVector::<u8>::new(world, units)?;
                    (0..3).for_each(|rank| assert_eq!(block(units, 3, rank), vector.range_of(rank)));
                }
                Ok(())
            })
            .unwrap();
    }
}
