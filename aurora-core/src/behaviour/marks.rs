//! Which elements of a vector have been touched: a bit for each.

use std::ops::Range;

const BITS: usize = u64::BITS as usize;

/// A bit for each element. Takes memory from the first mark on.
#[derive(Debug, Default)]
pub(super) struct Marks {
    words: Vec<u64>,
}

impl Marks {
    /// Memory for the marks of `len` elements, if it is not there.
    pub(super) fn prepare(&mut self, len: usize) {
        self.words.resize(len.div_ceil(BITS), 0);
    }

    /// Marks an element. Whether it was not marked.
    #[inline]
    pub(super) fn mark(&mut self, index: usize) -> bool {
        let (word, bit) = (&mut self.words[index / BITS], 1 << (index % BITS));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Marks consecutive elements.
    pub(super) fn mark_all(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min((at / BITS + 1) * BITS);
            self.words[at / BITS] |= mask(at % BITS..at % BITS + (end - at));
            at = end;
        }
    }

    /// Runs of marked elements, in ascending order.
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut next = 0;
        std::iter::from_fn(move || {
            let start = self.find(next, true)?;
            let end = self.find(start, false).unwrap_or(self.words.len() * BITS);
            next = end;
            Some(start..end)
        })
    }

    /// The first element from `from` on that is marked, or is not.
    fn find(&self, from: usize, marked: bool) -> Option<usize> {
        let flip = if marked { 0 } else { u64::MAX };
        let mut at = from;
        while let Some(word) = self.words.get(at / BITS) {
            let rest = (word ^ flip) >> (at % BITS);
            if rest != 0 {
                return Some(at + rest.trailing_zeros() as usize);
            }
            at = (at / BITS + 1) * BITS;
        }
        None
    }

    /// Forgets all, keeping the memory.
    pub(super) fn clear(&mut self) {
        self.words.fill(0);
    }
}

fn mask(bits: Range<usize>) -> u64 {
    let upto = |bit: usize| if bit == BITS { u64::MAX } else { (1 << bit) - 1 };
    upto(bits.end) & !upto(bits.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_cover_what_was_marked_and_nothing_else(
            single in prop::collection::vec(0usize..500, 0..40),
            ranges in prop::collection::vec((0usize..400, 0usize..150), 0..5),
        ) {
            let mut marks = Marks::default();
            marks.prepare(600);
            let mut model = vec![false; 600];
            for index in single {
                prop_assert_eq!(marks.mark(index), !model[index]);
                model[index] = true;
            }
            for (start, len) in ranges {
                marks.mark_all(start..start + len);
                model[start..start + len].fill(true);
            }
            let mut got = vec![false; 640];
            let mut last = 0;
            for run in marks.runs() {
                prop_assert!(run.start < run.end && (run.start > last || last == 0));
                last = run.end;
                got[run].fill(true);
            }
            prop_assert_eq!(&got[..600], &model[..]);
            marks.clear();
            prop_assert_eq!(marks.runs().count(), 0);
        }
    }

    #[test]
    fn runs_across_words_and_to_the_end() {
        let mut marks = Marks::default();
        marks.prepare(128);
        marks.mark_all(60..70);
        marks.mark_all(100..128);
        assert_eq!(marks.runs().collect::<Vec<_>>(), [60..70, 100..128]);
    }
}
