//! A load by itself, and a load with one full read of what it loaded: memory that others have just written is slow to
//! read, and a copy that nobody makes in the load may be made then.

use super::prelude::*;
use std::ops::Deref;

/// What gives every rank all of a vector.
pub trait Load {
    /// All of it.
    type Loaded<'l>: Deref<Target = [u8]>
    where
        Self: 'l;

    /// Writes this rank's block.
    fn fill(&mut self, round: Round) -> Result<()>;

    /// Collective.
    fn load(&mut self) -> Result<Self::Loaded<'_>>;
}

/// Measures a load both ways, each time with new data.
pub struct Loads<L>(pub L);

impl<L: Load> Contestant for Loads<L> {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        self.0.fill(round)?;
        let load = &mut self.0;
        let whole = watch.measure(move || load.load())?;
        let wrong = round.wrong(&whole, 0);
        drop(whole);
        let round = round.again();
        self.0.fill(round)?;
        let load = &mut self.0;
        let (whole, sum) = watch.measure_with_read(move || {
            let whole = load.load()?;
            let sum = sum(&whole);
            Ok((whole, sum))
        })?;
        watch.weigh()?;
        Ok(wrong + round.wrong(&whole, 0) + u64::from(sum != round.sum(whole.len())))
    }
}

/// The sum of the 64-bit words, the last one filled up with zeros; as fast as memory gives them.
pub fn sum(bytes: &[u8]) -> u64 {
    pulp::Arch::new().dispatch(Sum(bytes))
}

struct Sum<'b>(&'b [u8]);

impl pulp::NullaryFnOnce for Sum<'_> {
    type Output = u64;

    // Inlined: only what is inlined is compiled for the detected processor.
    #[inline(always)]
    fn call(self) -> u64 {
        let (words, rest) = self.0.as_chunks();
        let whole = words.iter().fold(0_u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
        let mut last = [0; size_of::<u64>()];
        last[..rest.len()].copy_from_slice(rest);
        whole.wrapping_add(u64::from_le_bytes(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_of_every_byte_at_any_alignment() {
        let round = Round::new(1, 1, 1, false);
        let mut memory = vec![0; 1100];
        for (start, length) in [(0, 1024), (1, 1024), (3, 1027), (0, 5), (9, 0)] {
            let bytes = &mut memory[start..start + length];
            round.fill(bytes, 0);
            assert_eq!(sum(bytes), round.sum(length), "{length} bytes at {start}");
            for position in 0..length {
                bytes[position] ^= 4;
                assert_ne!(sum(bytes), round.sum(length), "byte {position}");
                bytes[position] ^= 4;
            }
        }
    }

    /// Loads that reach their destination, but for one byte of the second.
    struct Damaged {
        bytes: Vec<u8>,
        loads: usize,
    }

    impl Load for Damaged {
        type Loaded<'l> = &'l [u8];

        fn fill(&mut self, round: Round) -> Result<()> {
            round.fill(&mut self.bytes, 0);
            Ok(())
        }

        fn load(&mut self) -> Result<&[u8]> {
            self.loads += 1;
            if self.loads == 2 {
                self.bytes[8] ^= 1;
            }
            Ok(&self.bytes)
        }
    }

    #[test]
    fn a_wrong_second_load_is_seen_in_its_bytes_and_in_its_sum() {
        let test = |world: &World| {
            let mut watch = Watch::new(world, None);
            Loads(Damaged { bytes: vec![0; 20], loads: 0 }).repetition(Round::new(1, 1, 1, false), &mut watch)
        };
        assert_eq!(Config::threads(1).run(test).unwrap(), 2);
    }
}
