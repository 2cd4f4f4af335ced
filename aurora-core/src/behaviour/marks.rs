//! The touched elements of a vector: a bit for each element.

use crate::memory::{self, Shortage};
use std::ops::Range;

const BITS: usize = u64::BITS as usize;

#[derive(Debug, Default)]
pub(super) struct Marks {
    words: Vec<u64>,
}

impl Marks {
    /// Bytes of the marks of `len` elements.
    pub(super) fn bytes(len: usize) -> usize {
        len.div_ceil(BITS) * size_of::<u64>()
    }

    /// Takes memory for the marks of `len` elements.
    pub(super) fn new(len: usize) -> Result<Self, Shortage> {
        Ok(Marks { words: memory::zeros(len.div_ceil(BITS))? })
    }

    /// Cuts a range at the borders of the words of bits.
    pub(super) fn pieces(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut at = range.start;
        std::iter::from_fn(move || {
            let piece = at..range.end.min((at / BITS + 1) * BITS);
            at = piece.end;
            (!piece.is_empty()).then_some(piece)
        })
    }

    /// Marks an element. Returns true if it was not marked before.
    #[inline]
    pub(super) fn mark(&mut self, index: usize) -> bool {
        let (word, bit) = (&mut self.words[index / BITS], 1 << (index % BITS));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    #[inline]
    pub(super) fn is_marked(&self, index: usize) -> bool {
        self.words[index / BITS] >> (index % BITS) & 1 == 1
    }

    /// Marked elements of a [piece](Self::pieces).
    pub(super) fn count(&self, piece: Range<usize>) -> usize {
        let word = self.words[piece.start / BITS] & mask(&piece);
        word.count_ones() as usize
    }

    pub(super) fn mark_all(&mut self, range: Range<usize>) {
        for piece in Self::pieces(range) {
            self.words[piece.start / BITS] |= mask(&piece);
        }
    }

    /// Marks the elements whose value is `wanted`, and no others.
    pub(super) fn mark_where<T>(&mut self, values: &[T], wanted: impl Fn(&T) -> bool) {
        for (word, values) in self.words.iter_mut().zip(values.chunks(BITS)) {
            // Without branches, so that many are compared at once.
            let (all, any) = values.iter().fold((true, false), |(all, any), value| {
                let found = wanted(value);
                (all & found, any | found)
            });
            *word = if all {
                mask(&(0..values.len()))
            } else if any {
                values.iter().rev().fold(0, |bits, value| bits << 1 | u64::from(wanted(value)))
            } else {
                0
            };
        }
    }

    /// Marks also elements between marked ones that are no more than `gap` apart, as far as one word shows them.
    pub(super) fn bridge(&mut self, range: Range<usize>, gap: usize) {
        for piece in Self::pieces(range) {
            let word = &mut self.words[piece.start / BITS];
            let inside = *word & mask(&piece);
            // Each mark grows by `gap` elements, and each run of marks shrinks by as many.
            let grown = (0..gap).fold(u128::from(inside), |bits, _| bits | bits << 1);
            *word |= (0..gap).fold(grown, |bits, _| bits & bits >> 1) as u64;
        }
    }

    /// Runs of marked elements of a range, in ascending order.
    pub(super) fn runs_in(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
        let (mut next, end) = (range.start, range.end);
        std::iter::from_fn(move || {
            let start = self.find(next..end, true)?;
            next = self.find(start..end, false).unwrap_or(end);
            Some(start..next)
        })
    }

    /// The first element of a range whose mark is `marked`.
    fn find(&self, range: Range<usize>, marked: bool) -> Option<usize> {
        let flip = if marked { 0 } else { u64::MAX };
        let mut at = range.start;
        while at < range.end {
            let rest = (self.words[at / BITS] ^ flip) >> (at % BITS);
            if rest != 0 {
                return Some(at + rest.trailing_zeros() as usize).filter(|found| *found < range.end);
            }
            at = (at / BITS + 1) * BITS;
        }
        None
    }
}

/// The bits of a [piece](Marks::pieces) in its word.
fn mask(piece: &Range<usize>) -> u64 {
    let (first, upto) = (piece.start % BITS, |bit: usize| if bit == BITS { u64::MAX } else { (1 << bit) - 1 });
    upto(first + piece.len()) & !upto(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_cover_what_was_marked_and_nothing_else(
            single in prop::collection::vec(0usize..500, 0..40),
            ranges in prop::collection::vec((0usize..512, 0usize..150), 0..5),
            cuts in (0usize..513, 0usize..513),
        ) {
            let mut marks = Marks::new(512).expect("there is memory");
            let mut model = vec![false; 512];
            for index in single {
                prop_assert_eq!(marks.mark(index), !model[index]);
                model[index] = true;
            }
            for (start, len) in ranges {
                let range = start..(start + len).min(512);
                marks.mark_all(range.clone());
                model[range].fill(true);
            }
            let mut got = vec![false; 512];
            let mut last = 0;
            for run in marks.runs_in(0..512) {
                prop_assert!(run.start < run.end && (run.start > last || last == 0));
                last = run.end;
                got[run].fill(true);
            }
            prop_assert_eq!(got, &model[..]);
            let part = cuts.0.min(cuts.1)..cuts.0.max(cuts.1);
            let marked = |range: Range<usize>| range.filter(|i| model[*i]).collect::<Vec<_>>();
            prop_assert_eq!(marks.runs_in(part.clone()).flatten().collect::<Vec<_>>(), marked(part.clone()));
            for piece in Marks::pieces(part) {
                prop_assert_eq!(marks.count(piece.clone()), marked(piece.clone()).len());
                prop_assert!(piece.into_iter().all(|i| marks.is_marked(i) == model[i]));
            }
        }
    }
}
