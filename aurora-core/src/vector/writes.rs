//! The writes of other ranks to a block: their numbers, and the elements that they touch while a load is under way.
//!
//! An owner numbers the writes that it applies for other ranks, and its answer to each write carries the number. A
//! rank that enters a load announces its *write marks*: for each owner, the highest number answered since its last
//! load. A block pushed before its owner had applied that many writes needs a correction. No load waits for a write
//! that is not applied yet: such a write belongs to a scope of another part, which may be open around the load, or to
//! a call that has failed.

use aurora_net::Rank;
use std::ops::Range;

/// One rank's knowledge of the one-sided writes to one vector.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    /// The number of the last write that this rank, as an owner, has applied for another rank.
    pub(crate) applied: u64,
    /// For each owner, the highest number of this rank's writes that no load contains yet; 0: none.
    marks: Vec<u64>,
    /// Local ranges that were written since the begin of a load that is under way.
    touched: Option<Vec<Range<usize>>>,
}

impl Writes {
    pub(crate) fn new(owners: usize) -> Self {
        Writes { marks: vec![0; owners], ..Writes::default() }
    }

    /// Notes that some elements of the block are written, if a load is under way.
    pub(super) fn touch<I: IntoIterator<Item = Range<usize>>>(&mut self, runs: impl FnOnce() -> I) {
        if let Some(touched) = &mut self.touched {
            touch(touched, runs());
        }
    }

    /// From now on keeps the ranges that are written.
    pub(crate) fn begin_load(&mut self) {
        self.touched = Some(Vec::new());
    }

    /// The ranges written since then.
    pub(crate) fn end_load(&mut self) -> Vec<Range<usize>> {
        self.touched.take().unwrap_or_default()
    }

    /// Counts a write of another rank that this rank has applied. Returns the answer to the write.
    pub(crate) fn apply(&mut self) -> Vec<u8> {
        self.applied += 1;
        self.applied.to_le_bytes().to_vec()
    }

    /// An owner has answered a write of this rank. False: malformed.
    pub(crate) fn answered(&mut self, owner: Rank, answer: &[u8]) -> bool {
        let number = answer.try_into().map(u64::from_le_bytes);
        number.is_ok_and(|number| {
            let marks = &mut self.marks[owner.index()];
            *marks = number.max(*marks);
            true
        })
    }

    pub(crate) fn any(&self) -> bool {
        self.marks.iter().any(|number| *number > 0)
    }

    /// The marks of this rank's next announcement, by owners. Later loads contain these writes in any case.
    pub(crate) fn take(&mut self) -> Vec<(u32, u64)> {
        let marks = self.marks.iter_mut().enumerate().filter(|(_, number)| **number > 0);
        marks.map(|(owner, number)| (owner as u32, std::mem::take(number))).collect()
    }
}

/// Adds ranges to a list; a list that gets long becomes one range that covers all.
fn touch(touched: &mut Vec<Range<usize>>, runs: impl IntoIterator<Item = Range<usize>>) {
    const LONGEST: usize = 256;
    for run in runs {
        match touched.last_mut() {
            Some(last) if run.start >= last.start && run.start <= last.end => last.end = last.end.max(run.end),
            _ => touched.push(run),
        }
    }
    if touched.len() > LONGEST {
        let start = touched.iter().map(|run| run.start).min().unwrap_or(0);
        let end = touched.iter().map(|run| run.end).max().unwrap_or(0);
        touched.clear();
        touched.push(start..end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_writer_announces_once_the_last_write_that_was_answered() {
        let (mut owner, mut writer) = (Writes::new(2), Writes::new(2));
        assert!(!writer.any() && writer.take().is_empty());
        let answers = [owner.apply(), owner.apply(), owner.apply()];
        // Answers arrive in any order.
        for answer in [&answers[1], &answers[0]] {
            assert!(writer.answered(Rank::new(1), answer));
        }
        assert!(writer.any());
        assert_eq!((writer.take(), owner.applied), (vec![(1, 2)], 3));
        assert!(!writer.any() && writer.take().is_empty());
        assert!(!writer.answered(Rank::new(1), &[]) && !writer.answered(Rank::new(0), &[1; 9]));
    }

    proptest! {
        #[test]
        fn what_was_touched_is_covered(runs in prop::collection::vec((0usize..1000, 1usize..20), 0..600)) {
            let runs: Vec<_> = runs.into_iter().map(|(start, len)| start..start + len).collect();
            let mut touched = Vec::new();
            for run in &runs {
                touch(&mut touched, std::iter::once(run.clone()));
            }
            prop_assert!(touched.len() <= 256);
            for i in runs.iter().flat_map(Clone::clone) {
                prop_assert!(touched.iter().any(|t| t.contains(&i)));
            }
        }
    }
}
