//! Random numbers by position: any rank can compute element `i` of a data set without computing the elements before it.

use aurora_super::Random;

/// A stream of random numbers, addressed by index.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    key: u64,
}

impl Stream {
    /// Makes stream number `number` of `seed`. Streams of one seed are independent of each other.
    pub fn new(seed: u64, number: u64) -> Self {
        Stream { key: first(seed ^ first(number)) }
    }

    /// Returns another stream, independent of this stream and of its other children.
    pub fn child(self, number: u64) -> Self {
        Stream { key: first(self.key ^ first(!number)) }
    }

    /// Returns the 64 random bits at `index`.
    pub fn bits(self, index: u64) -> u64 {
        first(self.key.wrapping_add(index.wrapping_mul(GOLDEN)))
    }

    /// Returns a number of `0.0..1.0` at `index`.
    pub fn unit(self, index: u64) -> f64 {
        (self.bits(index) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// 2^64 divided by the golden ratio: steps by it spread over all 64 bits.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The first 64 bits of the sequence of `seed`.
fn first(seed: u64) -> u64 {
    Random::new(seed).bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_and_positions_differ() {
        let (a, b) = (Stream::new(1, 0), Stream::new(1, 1));
        assert_ne!(a.bits(0), b.bits(0));
        assert_ne!(a.bits(0), a.bits(1));
        assert_eq!(a.bits(7), Stream::new(1, 0).bits(7));
        let bits = [a.bits(0), a.child(0).bits(0), a.child(1).bits(0), a.child(0).child(0).bits(0), b.child(0).bits(0)];
        assert!((1..bits.len()).all(|i| !bits[..i].contains(&bits[i])));
    }

    #[test]
    fn the_mean_of_many_is_a_half() {
        let stream = Stream::new(3, 0);
        let mean = (0..100_000).map(|i| stream.unit(i)).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
    }
}
