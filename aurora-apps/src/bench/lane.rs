//! One implementation of one operation, repetition after repetition.

use super::contestant::{self, Contestant};
use super::job::{Job, Operation};
use super::lap::Lap;
use super::pattern::Round;
use super::watch::Watch;
use crate::agree;
use crate::implementation::{Conditions, Implementation, Offer};
use crate::meeting::Meeting;
use aurora_core::prelude::*;
use std::time::Duration;

/// The maximum number of operations in a repetition, for short operations.
pub const MOST_TIMES: usize = 1 << 20;

/// A contestant, with the way in which its ranks wait for each other.
pub struct Lane<'w> {
    pub operation: Operation,
    pub by: Implementation,
    /// The number of operations in the next repetition, if they are short. A repetition of a long operation has one.
    pub times: usize,
    /// True while all data that has arrived was right.
    pub verified: bool,
    pub seed: u64,
    damage: bool,
    contestant: Contestant<'w>,
    meeting: Box<dyn Meeting + 'w>,
    /// The time by which this rank begins late.
    delay: Option<Duration>,
}

impl<'w> Lane<'w> {
    /// Collective. Returns a lane for each part of the operation and each implementation of `job`, in the order of
    /// their turns.
    ///
    /// # Errors
    /// A [`Refusal`](crate::implementation::Refusal) of an implementation that cannot run, or the error that ended the
    /// job.
    pub fn all(world: &'w World, job: &Job) -> Result<Vec<Self>> {
        let checked = job.operation.check(&job.implementations, Conditions::of(world));
        checked.map_err(|(_, refusal)| Error::user(refusal))?;
        let seed = agree::seed(world, job.seed)?;
        let is_last = world.rank().index() + 1 == world.size();
        let mut lanes = Vec::new();
        for operation in job.operation.parts() {
            let late = if let Operation::ReadCache { late, .. } = operation { late } else { None };
            for &by in &job.implementations {
                let contestant = contestant::new(world, operation, by)?;
                let (meeting, delay) = (contestant::meeting(world, by)?, late.filter(|_| is_last));
                let (times, verified, damage) = (1, true, job.damage);
                lanes.push(Lane { operation, by, times, verified, seed, damage, contestant, meeting, delay });
            }
        }
        Ok(lanes)
    }

    /// Collective. Runs repetition `rep`, with `times` operations in it. All ranks agree on the returned lap.
    pub fn repetition(&mut self, rep: usize, times: usize) -> Result<Lap> {
        let mut watch = Watch::new(&*self.meeting, self.delay);
        let wrong = (self.contestant)(Round::new(self.seed, rep, times, self.damage), &mut watch)?;
        let lap = Lap { wrong: wrong as f64, ..watch.lap }.agree(self.meeting.world())?;
        self.verified &= lap.wrong == 0.0;
        Ok(lap)
    }
}

/// Returns the number of short operations that the next repetition needs to take `aim` seconds, if `times` operations
/// took `seconds`. It is at most eight times the present number, because this measurement may have been unusually
/// short.
pub fn next_times(times: usize, seconds: f64, aim: f64) -> usize {
    let fits = times as f64 * aim / seconds.max(1e-9);
    (fits.ceil() as usize).clamp(1, 8 * times).min(MOST_TIMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_operation_fills_its_repetition() {
        for (times, seconds, next) in [
            (1, 1e-3, 6),
            (1, 1e-9, 8),
            (10, 0.0, 80),
            (10, 4.99e-3, 13),
            (100, 48e-3, 13),
            (1, 5.0, 1),
            (MOST_TIMES - 1, 1e-3, MOST_TIMES),
        ] {
            assert_eq!(next_times(times, seconds, 6e-3), next, "{times} times in {seconds} s");
        }
    }
}
