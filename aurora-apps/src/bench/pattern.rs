//! The data of a repetition: every byte is known from its position, so that any rank can verify what reaches it.

use super::indices::Indices;
use crate::random::Stream;
use aurora_core::prelude::*;

const WORD: usize = size_of::<u64>();

/// One repetition's data set and what is to be done with it.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    stream: Stream,
    /// How often the operation is carried out: more than once where a single one is too short to measure.
    pub times: usize,
    /// Something is flipped at its source, the first byte where nothing else suits, to show that the verification can
    /// fail.
    pub damage: bool,
}

/// Streams beside the data itself.
#[derive(Clone, Copy)]
enum Beside {
    Again,
    Choice,
    Indices,
}

impl Round {
    /// Repetition `rep` of a run with `seed`.
    pub fn new(seed: u64, rep: usize, times: usize, damage: bool) -> Self {
        Round { stream: Stream::new(seed, rep as u64), times, damage }
    }

    /// The same repetition with another data set.
    pub fn again(self) -> Self {
        Round { stream: self.beside(Beside::Again), ..self }
    }

    /// The same repetition, with its data as it should be.
    pub fn undamaged(self) -> Self {
        Round { damage: false, ..self }
    }

    /// A random number below `of`, the same on all ranks.
    pub fn choice(self, of: usize) -> usize {
        Indices::new(self.beside(Beside::Choice).bits(0), of).next().unwrap_or(0)
    }

    /// Where `rank` acts on a table.
    pub fn indices(self, rank: usize, table: usize) -> Indices {
        Indices::new(self.beside(Beside::Indices).bits(rank as u64), table)
    }

    fn beside(self, what: Beside) -> Stream {
        self.stream.child(what as u64)
    }

    /// Writes what belongs at `start` of the data set and after it. To be called where data has its source.
    pub fn fill(self, bytes: &mut [u8], start: usize) {
        for (position, piece) in words_mut(bytes, start) {
            piece.copy_from_slice(&self.word(position)[position % WORD..][..piece.len()]);
        }
        if let Some(first) = bytes.first_mut().filter(|_| self.damage && start == 0) {
            *first ^= 1;
        }
    }

    /// How many words of `bytes` are not what belongs at `start` of the data set and after it.
    pub fn wrong(self, bytes: &[u8], start: usize) -> u64 {
        let differ = |(position, piece): &(usize, &[u8])| {
            let word = self.word(*position);
            *piece != &word[position % WORD..][..piece.len()]
        };
        words(bytes, start).filter(differ).count() as u64
    }

    /// Writes this rank's own part of `vector`, which is the data set.
    pub fn fill_own<T: Element>(self, vector: &mut GVector<T>) -> Result<()> {
        let mut mine = vector.owner_computes_mut()?;
        let start = mine.indices().start * size_of::<T>();
        self.fill(bytemuck::cast_slice_mut(mine.local_mut()), start);
        mine.finish()
    }

    /// Element `index` of a data set of 64-bit numbers.
    pub fn element(self, index: usize) -> u64 {
        self.stream.bits(index as u64)
    }

    /// The sum of the words of a data set of `length` bytes, the last one filled up with zeros.
    pub fn sum(self, length: usize) -> u64 {
        let mut last = [0; WORD];
        let whole = length / WORD * WORD;
        last[..length - whole].copy_from_slice(&self.word(whole)[..length - whole]);
        (0..whole / WORD).fold(u64::from_le_bytes(last), |sum, index| sum.wrapping_add(self.element(index)))
    }

    fn word(self, position: usize) -> [u8; WORD] {
        self.element(position / WORD).to_le_bytes()
    }
}

/// How much of `length` bytes at `start` comes before the next whole word.
fn before_word(start: usize, length: usize) -> usize {
    start.next_multiple_of(WORD).saturating_sub(start).min(length)
}

/// `bytes` in pieces that do not cross a word of the data set, with their positions.
fn words(bytes: &[u8], start: usize) -> impl Iterator<Item = (usize, &[u8])> {
    let (head, body) = bytes.split_at(before_word(start, bytes.len()));
    let first = start + head.len();
    let body = body.chunks(WORD).enumerate().map(move |(number, piece)| (first + number * WORD, piece));
    std::iter::once((start, head)).chain(body)
}

fn words_mut(bytes: &mut [u8], start: usize) -> impl Iterator<Item = (usize, &mut [u8])> {
    let (head, body) = bytes.split_at_mut(before_word(start, bytes.len()));
    let first = start + head.len();
    let body = body.chunks_mut(WORD).enumerate().map(move |(number, piece)| (first + number * WORD, piece));
    std::iter::once((start, head)).chain(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_flipped_byte_is_wrong() {
        let round = Round::new(1, 1, 1, false);
        let mut bytes = [0; 29];
        round.fill(&mut bytes, 3);
        assert_eq!(round.wrong(&bytes, 3), 0);
        for i in 0..bytes.len() {
            bytes[i] ^= 0x10;
            assert_eq!(round.wrong(&bytes, 3), 1, "byte {i}");
            bytes[i] ^= 0x10;
        }
    }

    #[test]
    fn only_the_source_of_the_first_byte_is_damaged() {
        let round = Round::new(1, 1, 1, true);
        let mut bytes = [0; 16];
        round.fill(&mut bytes, 0);
        assert_eq!(round.wrong(&bytes, 0), 1);
        round.fill(&mut bytes, 1);
        assert_eq!(round.wrong(&bytes, 1), 0);
        round.fill(&mut [], 0);
    }

    proptest! {
        #[test]
        fn a_part_is_as_in_the_whole(start in 0usize..40, length in 0usize..40, rep in 0usize..3) {
            let round = Round::new(5, rep, 1, false);
            let mut whole = [0; 80];
            round.fill(&mut whole, 0);
            let mut part = vec![0; length];
            round.fill(&mut part, start);
            prop_assert_eq!(&part[..], &whole[start..start + length]);
            prop_assert_eq!(round.wrong(&whole[start..start + length], start), 0);
        }

        #[test]
        fn another_repetition_is_wrong(length in 8usize..40) {
            let mut bytes = vec![0; length];
            Round::new(5, 1, 1, false).fill(&mut bytes, 0);
            prop_assert!(Round::new(5, 2, 1, false).wrong(&bytes, 0) > 0);
            prop_assert!(Round::new(5, 1, 1, false).again().wrong(&bytes, 0) > 0);
        }
    }
}
