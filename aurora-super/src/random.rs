//! Random numbers that are the same on every machine: SplitMix64.

/// A seeded generator of pseudo-random numbers.
#[derive(Clone, Hash, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator. Equal seeds give equal numbers.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// Returns the next number.
    #[expect(clippy::should_implement_trait, reason = "it has no end")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns a number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u32
    }
}

/// Hashes a number: the result looks random, and depends on `value` alone. It is 0 for 0, and for no other value.
///
/// ```
/// use aurora_super::{Instruction, Product, mix, sim::Work};
/// assert_eq!(mix(0), 0);
/// let (work, product) = (Work { below: 20_000, seed: 0 }, Product::square(2).unwrap());
/// assert_eq!(work.of(&product, Instruction { group: 0, k: 0 }), 0.0);
/// ```
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
