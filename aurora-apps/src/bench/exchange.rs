//! Every rank has a range of keys for each, and gets those for itself from all: the exchange of the paper's sort
//! (section 3.4).

use super::prelude::*;
use crate::block::block;
use crate::random::Stream;
use std::ops::Range;

/// By one `distmemcpy_many` on each rank.
pub struct Aurora {
    keys: GVector<u32>,
    /// What this rank collects, from each rank's block.
    pieces: Vec<Range<usize>>,
    collected: Vec<u32>,
}

impl Aurora {
    /// Collective.
    pub fn new(world: &World, keys: usize) -> Result<Self> {
        let keys = GVector::new(world, keys)?;
        let cuts = Cuts::new(keys.len(), world.size());
        let pieces: Vec<_> = cuts.for_rank(world.rank().index()).collect();
        let collected = vec![0; pieces.iter().map(Range::len).sum()];
        Ok(Aurora { keys, pieces, collected })
    }
}

impl Contestant for Aurora {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        round.fill_own(&mut self.keys)?;
        watch.measure(|| {
            let mut rest = self.collected.as_mut_slice();
            let copies = self.pieces.iter().map(|piece| {
                let (into, after) = std::mem::take(&mut rest).split_at_mut(piece.len());
                rest = after;
                (into, self.keys.range(piece.clone()))
            });
            distmemcpy_many(copies)
        })?;
        Ok(wrong(round, &self.pieces, &self.collected))
    }
}

/// What is wrong with the pieces that a rank has collected, one after the other.
pub fn wrong(round: Round, pieces: &[Range<usize>], collected: &[u32]) -> u64 {
    let mut rest = collected;
    let wrong = pieces.iter().map(|piece| {
        let (these, after) = rest.split_at(piece.len());
        rest = after;
        round.wrong(bytemuck::cast_slice(these), piece.start * size_of::<u32>())
    });
    wrong.sum()
}

/// Where each rank's block is cut into a range for each rank. As in a sort they are about equal, and not exactly: they
/// vary by a few per cent, alike in every run.
#[derive(Clone, Debug)]
pub struct Cuts {
    size: usize,
    keys: usize,
}

/// How far a cut is from where equal ranges would have it, at most, in ranges.
const UNEVEN: f64 = 0.03;

impl Cuts {
    /// Of `keys` keys over `size` ranks.
    pub fn new(keys: usize, size: usize) -> Self {
        Cuts { size, keys }
    }

    /// The keys of `rank`.
    pub fn block(&self, rank: usize) -> Range<usize> {
        block(self.keys, self.size, rank)
    }

    /// The keys that `from` has for `to`.
    pub fn piece(&self, from: usize, to: usize) -> Range<usize> {
        self.cut(from, to)..self.cut(from, to + 1)
    }

    /// What each rank has for `to`.
    pub fn for_rank(&self, to: usize) -> impl Iterator<Item = Range<usize>> {
        (0..self.size).map(move |from| self.piece(from, to))
    }

    fn cut(&self, rank: usize, number: usize) -> usize {
        let block = self.block(rank);
        if number == 0 || number == self.size {
            return if number == 0 { block.start } else { block.end };
        }
        let range = block.len() as f64 / self.size as f64;
        let shift = (Stream::new(0, rank as u64).unit(number as u64) * 2.0 - 1.0) * UNEVEN;
        block.start + ((number as f64 + shift) * range) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_are_a_division_of_all_keys(keys in 0usize..10_000, size in 1usize..9) {
            let cuts = Cuts::new(keys, size);
            let mut end = 0;
            for from in 0..size {
                for piece in (0..size).map(|to| cuts.piece(from, to)) {
                    prop_assert_eq!(piece.start, end);
                    end = piece.end;
                }
                prop_assert_eq!(cuts.block(from).end, end);
            }
            prop_assert_eq!(end, keys);
        }
    }

    #[test]
    fn pieces_differ_by_a_few_per_cent() {
        let cuts = Cuts::new(8_000_000, 16);
        let equal = 8_000_000.0 / 256.0;
        let lengths: Vec<f64> = (0..16).flat_map(|to| cuts.for_rank(to)).map(|p| p.len() as f64 / equal).collect();
        assert!(lengths.iter().all(|length| (0.93..1.07).contains(length)), "{lengths:?}");
        assert!(lengths.iter().any(|length| *length > 1.02) && lengths.iter().any(|length| *length < 0.98));
    }
}
