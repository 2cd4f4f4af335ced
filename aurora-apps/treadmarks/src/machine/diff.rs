//! Differences: the words of a page that have changed, as runs.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Bytes of a word. Two ranks may write neighbouring words of a page at the same time.
pub const WORD: usize = 4;

/// Bytes of the longest page.
pub const PAGE: usize = 4096;

/// Bytes before the words of a run: the number of its first word in the page, and the number of its words.
const HEAD: usize = 2 * size_of::<u16>();

/// The words of a page that have changed, run-length encoded.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Diff(Bytes);

impl Diff {
    /// The words of `new` that differ from those of `old`. Both have the same number of whole words.
    pub fn between(old: &[u8], new: &[u8]) -> Self {
        let ((old, []), (new, [])) = (old.as_chunks::<WORD>(), new.as_chunks::<WORD>()) else {
            unreachable!("a page has whole words");
        };
        let mut runs = Vec::new();
        let mut at = 0;
        while let Some(equal) = old[at..].iter().zip(&new[at..]).position(|(old, new)| old != new) {
            let first = at + equal;
            let changed = old[first..].iter().zip(&new[first..]).take_while(|(old, new)| old != new).count();
            at = first + changed;
            runs.extend_from_slice(&(first as u16).to_le_bytes());
            runs.extend_from_slice(&(changed as u16).to_le_bytes());
            runs.extend_from_slice(new[first..at].as_flattened());
        }
        Diff(runs.into())
    }

    /// The runs: the offset of each in the page, in bytes, and its words. `None` for a run that is cut off.
    fn runs(&self) -> impl Iterator<Item = Option<(usize, &[u8])>> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let run = rest.split_at_checked(HEAD).and_then(|(head, behind)| {
                let [first, words] = [[head[0], head[1]], [head[2], head[3]]].map(u16::from_le_bytes);
                let (words, behind) = behind.split_at_checked(usize::from(words) * WORD)?;
                rest = behind;
                Some((usize::from(first) * WORD, words))
            });
            if run.is_none() {
                rest = &[];
            }
            Some(run)
        })
    }

    /// Returns true if all runs are whole and lie in a page of `len` bytes.
    pub fn fits(&self, len: usize) -> bool {
        self.runs().all(|run| run.is_some_and(|(offset, words)| offset + words.len() <= len))
    }

    /// Writes the changed words into a page that it [fits](Self::fits).
    pub fn apply(&self, page: &mut [u8]) {
        for (offset, words) in self.runs().flatten() {
            page[offset..offset + words.len()].copy_from_slice(words);
        }
    }

    /// Marks the words of the difference. Returns the number of words that were marked before.
    pub(crate) fn mark(&self, words: &mut [bool]) -> usize {
        let places = self.runs().flatten().flat_map(|(offset, run)| (offset..offset + run.len()).step_by(WORD));
        places.filter(|place| std::mem::replace(&mut words[place / WORD], true)).count()
    }

    /// The bytes of the changed words.
    pub fn data(&self) -> usize {
        self.runs().flatten().map(|(_, words)| words.len()).sum()
    }

    /// The bytes of the changed words and of the heads of the runs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if no word has changed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_turns_the_old_page_into_the_new_one() {
        let mut random = fastrand::Rng::with_seed(7);
        for len in [0, 4, 2048, PAGE] {
            for share in [0, 1, 50, 99, 100] {
                let old: Vec<u8> = (0..len).map(|_| random.u8(..)).collect();
                let mut new = old.clone();
                for word in new.as_chunks_mut::<WORD>().0 {
                    if random.u32(0..100) < share {
                        word[random.usize(..WORD)] ^= 1;
                    }
                }
                let diff = Diff::between(&old, &new);
                let changed = old.as_chunks::<WORD>().0.iter().zip(new.as_chunks::<WORD>().0).filter(|(a, b)| a != b);
                assert_eq!(diff.data(), WORD * changed.count());
                assert!(diff.fits(len) && (len == 0 || diff.is_empty() || !diff.fits(0)));
                let mut page = old;
                diff.apply(&mut page);
                assert_eq!(page, new);
            }
        }
    }

    #[test]
    fn a_difference_of_another_build_does_not_fit() {
        let run = |first: u16, words: u16, bytes: usize| {
            let head = [first.to_le_bytes(), words.to_le_bytes()].concat();
            Diff([head, vec![9; bytes]].concat().into())
        };
        assert!(run(1023, 1, 4).fits(PAGE));
        assert!(!run(1024, 1, 4).fits(PAGE), "behind the page");
        assert!(!run(0, 2, 7).fits(PAGE), "cut off");
        assert!(!run(u16::MAX, u16::MAX, 4).fits(PAGE));
        assert!(!Diff(vec![1, 2, 3].into()).fits(PAGE), "half a head");
        let mut page = vec![0; 8];
        run(0, 9, 4).apply(&mut page);
        assert_eq!(page, [0; 8], "a run that is cut off is not applied");
    }
}
