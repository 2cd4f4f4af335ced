//! The data of a repetition: every byte is a function of its position, so that any rank can verify the data it
//! receives.

use crate::random::Stream;
use aurora_core::prelude::*;
use fastrand::Rng;
use std::iter;
use std::ops::Range;

const WORD: usize = size_of::<u64>();

/// One repetition's data set, and the number of operations on it.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    stream: Stream,
    /// The number of operations: more than one if a single operation is too short to measure.
    pub times: usize,
    /// If true, a value is damaged at its source, usually the first byte, to show that the verification can fail.
    pub damage: bool,
}

impl Round {
    /// Makes repetition `rep` of a run with `seed`.
    pub fn new(seed: u64, rep: usize, times: usize, damage: bool) -> Self {
        Round { stream: Stream::new(seed, rep as u64), times, damage }
    }

    /// Returns the same repetition with another data set.
    pub fn again(self) -> Self {
        Round { stream: self.stream.child(0), ..self }
    }

    /// Returns the same repetition with undamaged data.
    pub fn undamaged(self) -> Self {
        Round { damage: false, ..self }
    }

    /// Returns a random number below `of`, the same on all ranks.
    pub fn choice(self, of: usize) -> usize {
        scaled(self.stream.child(1).bits(0), of)
    }

    /// Returns the places of a table on which `rank` acts, in order. They are uniformly random and the same for all
    /// implementations. Each takes about a nanosecond to generate, so that the generator has little influence on the
    /// measurement.
    pub fn indices(self, rank: usize, table: usize) -> impl Iterator<Item = usize> {
        let mut random = Rng::with_seed(self.stream.child(2).bits(rank as u64));
        iter::repeat_with(move || scaled(random.u64(..), table))
    }

    /// Fills `bytes` with the data set from `start` on, damaged if the round asks for it. Call this at the source of
    /// the data.
    pub fn fill(self, bytes: &mut [u8], start: usize) {
        self.words(start, bytes.len()).for_each(|(at, word)| bytes[at.clone()].copy_from_slice(&word[..at.len()]));
        if let Some(first) = bytes.first_mut().filter(|_| self.damage && start == 0) {
            *first ^= 1;
        }
    }

    /// Returns the number of words of `bytes` that differ from the data set from `start` on.
    pub fn wrong(self, bytes: &[u8], start: usize) -> u64 {
        self.words(start, bytes.len()).filter(|(at, word)| bytes[at.clone()] != word[..at.len()]).count() as u64
    }

    /// Fills this rank's own part of `vector` with its part of the data set.
    pub fn fill_own<T: Element>(self, vector: &mut GVector<T>) -> Result<()> {
        let mut mine = vector.owner_computes_mut()?;
        let start = mine.indices().start * size_of::<T>();
        self.fill(bytemuck::cast_slice_mut(mine.local_mut()), start);
        mine.finish()
    }

    /// Returns element `index` of a data set of 64-bit numbers.
    pub fn element(self, index: usize) -> u64 {
        self.stream.bits(index as u64)
    }

    /// Returns the sum of the words of a data set of `length` bytes; the last word is filled up with zeros.
    pub fn sum(self, length: usize) -> u64 {
        self.words(0, length).fold(0, |sum, (at, mut word)| {
            word[at.len()..].fill(0);
            sum.wrapping_add(u64::from_le_bytes(word))
        })
    }

    /// Returns ranges of the `length` bytes at `start` of the data set, each within one word, and the bytes with which
    /// each range begins.
    fn words(self, start: usize, length: usize) -> impl Iterator<Item = (Range<usize>, [u8; WORD])> {
        let (first, end) = (start / WORD, start + length);
        (first..end.div_ceil(WORD)).map(move |index| {
            let from = start.max(index * WORD);
            let word = self.element(index) >> (8 * (from % WORD));
            (from - start..end.min((index + 1) * WORD) - start, word.to_le_bytes())
        })
    }
}

/// Scales 64 random bits to a number below `of`, by a multiplication instead of a division.
fn scaled(bits: u64, of: usize) -> usize {
    ((u128::from(bits) * of as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_part_is_as_in_the_whole_and_every_flipped_byte_is_wrong(start in 0usize..40, length in 0usize..40) {
            let round = |rep, damage| Round::new(5, rep, 1, damage);
            let (mut whole, mut part) = ([0; 80], vec![0; length]);
            round(1, false).fill(&mut whole, 0);
            round(1, false).fill(&mut part, start);
            prop_assert_eq!(&part[..], &whole[start..start + length]);
            prop_assert_eq!(round(1, false).wrong(&part, start), 0);
            for i in 0..length {
                part[i] ^= 0x10;
                prop_assert_eq!(round(1, false).wrong(&part, start), 1, "byte {}", i);
                part[i] ^= 0x10;
            }
            for other in [round(2, false), round(1, false).again()] {
                prop_assert!(length < 8 || other.wrong(&part, start) > 0);
            }
            // Only the source of the first byte is damaged.
            for start in [0, start] {
                round(1, true).fill(&mut part, start);
                prop_assert_eq!(round(1, false).wrong(&part, start), u64::from(start == 0 && length > 0));
            }
        }
    }
}
