//! Random numbers that are equal on all machines: SplitMix64 (Steele, Lea, Flood 2014).

/// A generator of pseudo-random numbers. Equal seeds give equal numbers.
#[derive(Clone, Hash, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts the sequence of `seed`.
    #[inline]
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number of `0..bound`; 0 if `bound` is 0.
    ///
    /// # Panics
    ///
    /// If `bound` is negative or greater than `u64::MAX`.
    #[inline]
    pub fn below<N: TryFrom<u64> + TryInto<u64>>(&mut self, bound: N) -> N {
        let bound: u64 = bound.try_into().unwrap_or_else(|_| panic!("a bound is from 0 to 2^64 - 1"));
        N::try_from(self.bits() % bound.max(1))
            .unwrap_or_else(|_| unreachable!("a number below the bound fits its type"))
    }

    /// True with `probability` (0 to 1).
    pub fn chance(&mut self, probability: f64) -> bool {
        ((self.bits() >> 11) as f64) < probability * (1u64 << 53) as f64
    }

    /// `len` random bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len + 8);
        while bytes.len() < len {
            bytes.extend_from_slice(&self.bits().to_le_bytes());
        }
        bytes.truncate(len);
        bytes
    }
}

/// Hashes a number: the result looks random, and depends on `value` alone. It is 0 for 0, and for no other value.
#[inline]
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        let mut random = Random::new(1_234_567);
        assert_eq!([random.bits(), random.bits()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
        assert_eq!((mix(0), random.below(0_usize), random.below(1_u8)), (0, 0, 0));
    }
}
