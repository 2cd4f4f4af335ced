//! Which writes by one-sided calls a load has to contain.
//!
//! An owner numbers what it applies for others, and its answer to each write says the number. Who enters a load vouches for what it has
//! written before: it announces of each owner the highest number that it has been told since its last load. A block that was sent when its owner had
//! applied as many contains all of it; else what has changed since is sent behind it. So nobody has to remember which writes were of
//! which part, and nobody waits for a write that is not applied yet: that one is of a scope of another part, which may be open around
//! the load, or of a call that has failed.

use aurora_net::Rank;

/// What one rank knows of the writes to one vector.
#[derive(Debug)]
pub(crate) struct Writes {
    /// Of others, applied here: the number of the last.
    applied: u64,
    /// For each owner, the highest number of our own that we have to vouch for; 0: none.
    told: Vec<u64>,
}

impl Writes {
    /// To so many owners.
    pub(crate) fn new(owners: usize) -> Self {
        Writes { applied: 0, told: vec![0; owners] }
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
            let told = &mut self.told[owner.index()];
            *told = number.max(*told);
            true
        })
    }

    /// Whether there is anything to vouch for.
    pub(crate) fn are_told(&self) -> bool {
        self.told.iter().any(|number| *number > 0)
    }

    /// What this rank vouches for in its next announcement, by owners. The loads behind that contain it in any case.
    pub(crate) fn vouch(&mut self) -> Vec<(u32, u64)> {
        let told = self.told.iter_mut().enumerate().filter(|(_, number)| **number > 0);
        told.map(|(owner, number)| (owner as u32, std::mem::take(number))).collect()
    }
}

/// Notes what a rank vouches for, by owners.
pub(crate) fn note_made(noted: &mut [u64], made: &[(u32, u64)]) {
    for (owner, number) in made {
        if let Some(noted) = noted.get_mut(*owner as usize) {
            *noted = (*number).max(*noted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_vouches_once_for_the_last_that_was_answered() {
        let (mut owner, mut writer) = (Writes::new(2), Writes::new(2));
        assert!(!writer.are_told() && writer.vouch().is_empty());
        let answers = [owner.apply(), owner.apply(), owner.apply()];
        // Answers may come in any order, and some are of no interest any more.
        for answer in [&answers[1], &answers[0]] {
            assert!(writer.answered(Rank::new(1), answer));
        }
        assert!(writer.are_told());
        assert_eq!((writer.vouch(), owner.applied()), (vec![(1, 2)], 3));
        assert!(!writer.are_told() && writer.vouch().is_empty());
        assert!(!writer.answered(Rank::new(1), &[]) && !writer.answered(Rank::new(0), &[1; 9]));
    }

    #[test]
    fn of_what_several_vouch_for_the_last_counts() {
        let mut noted = vec![0; 2];
        note_made(&mut noted, &[(1, 7), (0, 2)]);
        note_made(&mut noted, &[(1, 5), (9, 1)]);
        assert_eq!(noted, [2, 7]);
    }
}
