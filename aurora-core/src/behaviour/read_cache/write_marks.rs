//! The writes by one-sided calls that a load has to contain.
//!
//! An owner numbers the writes that it applies for other ranks, and its answer to each write carries the number. A
//! rank that enters a load announces its *write marks*: for each owner, the highest number answered since its last
//! load. A block pushed before its owner had applied that many writes needs a correction. No load waits for a write
//! that is not applied yet: such a write belongs to a scope of another part, which may be open around the load, or to
//! a call that has failed.

use aurora_net::Rank;

/// One rank's knowledge of the one-sided writes to one vector.
#[derive(Debug, Default)]
pub(crate) struct WriteMarks {
    /// The number of the last write that this rank, as an owner, has applied for another rank.
    pub(crate) applied: u64,
    /// For each owner, the highest number of this rank's writes that no load contains yet; 0: none.
    marks: Vec<u64>,
}

impl WriteMarks {
    pub(crate) fn new(owners: usize) -> Self {
        WriteMarks { applied: 0, marks: vec![0; owners] }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_announces_once_the_last_write_that_was_answered() {
        let (mut owner, mut writer) = (WriteMarks::new(2), WriteMarks::new(2));
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
}
