//! Numbers that look random and are the same in every world.

pub use aurora_net::{Random, mix};

/// Splits `all` into a length for each rank. Some lengths are 0, and often all but one.
pub fn lengths(random: &mut Random, all: usize, ranks: usize) -> Vec<usize> {
    let mut ends: Vec<_> = (0..ranks).map(|_| random.below(all + 1)).collect();
    let alone = random.below(ranks);
    match random.below(4) {
        0 => (0..).zip(&mut ends).for_each(|(rank, end)| *end = if rank < alone { 0 } else { all }),
        1 => ends.iter_mut().step_by(2).for_each(|end| *end = all / 2),
        _ => {}
    }
    ends.sort_unstable();
    ends[ranks - 1] = all;
    let starts = std::iter::once(0).chain(ends.iter().copied());
    ends.iter().zip(starts).map(|(end, start)| end - start).collect()
}

/// The value of element `i` in tests of vectors.
pub fn want(i: usize) -> u64 {
    mix(i as u64)
}
