//! Which writes by one-sided calls a load has to contain.
//!
//! An owner numbers the writes that it applies for other ranks, and its answer to each write carries the number. A rank
//! that enters a load announces its *write marks*: of each owner the highest number that it was answered since its last
//! load. A block that was sent when its owner had applied as many writes contains them all; else the owner sends what
//! has changed since. So no rank has to remember which writes were of which part, and none waits for a write that is
//! not applied yet: that write is of a scope of another part, which may be open around the load, or of a call that has
//! failed.

use aurora_net::Rank;

/// What one rank knows of the writes to one vector.
#[derive(Debug)]
pub(crate) struct WriteMarks {
    /// Of others, applied here: the number of the last.
    applied: u64,
    /// For each owner, the highest number of a write of ours that no load contains yet; 0: none.
    marks: Vec<u64>,
}

impl WriteMarks {
    /// To so many owners.
    pub(crate) fn new(owners: usize) -> Self {
        WriteMarks { applied: 0, marks: vec![0; owners] }
    }

    /// One of another rank is applied here. The answer to it.
    pub(crate) fn apply(&mut self) -> Vec<u8> {
        self.applied += 1;
        self.applied.to_le_bytes().to_vec()
    }

    /// How many are.
    pub(crate) fn applied(&self) -> u64 {
        self.applied
    }

    /// One of our own is applied at its owner. False: that is no answer to one.
    pub(crate) fn answered(&mut self, owner: Rank, answer: &[u8]) -> bool {
        let number = answer.try_into().map(u64::from_le_bytes);
        number.is_ok_and(|number| {
            let marks = &mut self.marks[owner.index()];
            *marks = number.max(*marks);
            true
        })
    }

    /// Whether there is a mark to announce.
    pub(crate) fn any(&self) -> bool {
        self.marks.iter().any(|number| *number > 0)
    }

    /// The marks of this rank's next announcement, by owners. Later loads contain those writes in any case.
    pub(crate) fn take(&mut self) -> Vec<(u32, u64)> {
        let marks = self.marks.iter_mut().enumerate().filter(|(_, number)| **number > 0);
        marks.map(|(owner, number)| (owner as u32, std::mem::take(number))).collect()
    }
}

/// Adds the marks of one rank, by owners, to those of all.
pub(crate) fn merge_marks(noted: &mut [u64], marks: &[(u32, u64)]) {
    for (owner, number) in marks {
        if let Some(noted) = noted.get_mut(*owner as usize) {
            *noted = (*number).max(*noted);
        }
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
        // Answers may come in any order, and some are of no interest any more.
        for answer in [&answers[1], &answers[0]] {
            assert!(writer.answered(Rank::new(1), answer));
        }
        assert!(writer.any());
        assert_eq!((writer.take(), owner.applied()), (vec![(1, 2)], 3));
        assert!(!writer.any() && writer.take().is_empty());
        assert!(!writer.answered(Rank::new(1), &[]) && !writer.answered(Rank::new(0), &[1; 9]));
    }

    #[test]
    fn of_the_marks_of_several_ranks_the_highest_counts() {
        let mut noted = vec![0; 2];
        merge_marks(&mut noted, &[(1, 7), (0, 2)]);
        merge_marks(&mut noted, &[(1, 5), (9, 1)]);
        assert_eq!(noted, [2, 7]);
    }
}
