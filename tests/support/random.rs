//! Numbers that look random and are the same in every world.

/// A sequence given by its seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// The next number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.draw() % bound as u64) as usize
    }

    /// Splits `all` into a length for each rank. Some lengths are 0, and often all but one.
    pub fn lengths(&mut self, all: usize, ranks: usize) -> Vec<usize> {
        let (mut ends, alone): (Vec<usize>, _) = ((0..ranks).map(|_| self.below(all + 1)).collect(), self.below(ranks));
        match self.below(4) {
            0 => (0..).zip(&mut ends).for_each(|(rank, end)| *end = if rank < alone { 0 } else { all }),
            1 => ends.iter_mut().step_by(2).for_each(|end| *end = all / 2),
            _ => {}
        }
        ends.sort_unstable();
        ends[ranks - 1] = all;
        let starts = std::iter::once(0).chain(ends.iter().copied());
        ends.iter().zip(starts).map(|(end, start)| end - start).collect()
    }
}

/// Mixes the bits of a number: the value of element `i` of a test's vector.
pub fn mix(i: u64) -> u64 {
    let i = (i ^ (i >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let i = (i ^ (i >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    i ^ (i >> 31)
}
