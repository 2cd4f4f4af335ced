//! One implementation of one operation, as often as somebody else says: for criterion, which chooses its iterations by
//! itself.

use super::bout::Bout;
use super::figures::Repetition;
use super::job::{Job, Operation};
use crate::agree;
use crate::implementation::{Conditions, Implementation, Offer};
use aurora_core::prelude::*;

/// A repetition of a short operation is made as long as this, in seconds: long beside what surrounds it, and no long
/// wait for who wants to hear that there is progress.
const AIM: f64 = 0.1;

/// It has the operation at most so often.
const MOST_TIMES: usize = 1 << 20;

/// What some iterations of an operation took: agreed figures, the same on all ranks.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Took {
    /// The slowest rank's seconds, those of all iterations together.
    pub seconds: f64,
    /// The same of the operation with one full read of its result; 0 where that is not measured.
    pub with_read: f64,
    /// How much of what has arrived was wrong; 0 if nothing.
    pub wrong: f64,
}

/// An operation by one implementation, with memory that lives as long as this does.
pub struct Series<'w> {
    bout: Bout<'w>,
    is_short: bool,
    seed: u64,
    rep: usize,
    times: usize,
}

impl<'w> Series<'w> {
    /// Collective. What `job` asks for, by the first of its implementations; of an operation of several parts, by the
    /// first of these. How often `job` wants it does not count.
    ///
    /// One repetition comes before all others and does not count: then no memory is touched for the first time.
    ///
    /// # Errors
    /// A [`Refusal`](crate::implementation::Refusal) of what cannot be had; whatever ended the job.
    pub fn new(world: &'w World, job: &Job) -> Result<Self> {
        let (operation, by) = Series::what(job)?;
        operation.check(&[by], Conditions::of(world)).map_err(|(_, refusal)| Error::user(refusal))?;
        let mut series = Series {
            bout: Bout::new(world, operation, by, job.damage)?,
            is_short: operation.is_short(),
            seed: agree::seed(world, job.seed)?,
            rep: 0,
            times: 1,
        };
        series.repetition(1)?;
        Ok(series)
    }

    fn what(job: &Job) -> Result<(Operation, Implementation)> {
        let by = job.implementations.first().ok_or_else(|| Error::user("no implementation was asked for"))?;
        Ok((job.operation.parts()[0], *by))
    }

    /// Collective. Carries out the operation `iterations` times and verifies all that it moves. After each repetition,
    /// of which a short operation takes many at once, `progress` hears of it.
    ///
    /// # Errors
    /// Whatever ended the job.
    pub fn run(&mut self, iterations: u64, progress: &mut dyn FnMut()) -> Result<Took> {
        let (mut took, mut left) = (Took::default(), iterations);
        while left > 0 {
            let times = if self.is_short { left.min(self.times as u64) as usize } else { 1 };
            let repetition = self.repetition(times)?;
            took.seconds += repetition.seconds.max(0.0);
            took.with_read += repetition.with_read.max(0.0);
            took.wrong += repetition.wrong;
            self.times = next_times(times, repetition.seconds);
            left -= times as u64;
            progress();
        }
        Ok(took)
    }

    /// Collective.
    fn repetition(&mut self, times: usize) -> Result<Repetition> {
        self.rep += 1;
        self.bout.repetition(self.seed, self.rep, times)
    }
}

/// How often the next repetition has a short operation, of which `times` took `seconds`: as often as fits, but at most
/// eight times as often as now, in case that this was a lucky one.
fn next_times(times: usize, seconds: f64) -> usize {
    let fits = times as f64 * AIM / seconds.max(1e-9);
    (fits as usize).clamp(1, 8 * times).min(MOST_TIMES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Access, Target};

    fn job(operation: Operation, damage: bool) -> Job {
        Job { operation, implementations: vec![Implementation::Aurora], reps: 1, seed: Some(3), damage }
    }

    #[test]
    fn a_short_operation_fills_its_repetition() {
        assert_eq!(next_times(1, 1e-9), 8);
        assert_eq!(next_times(100, 1e-3), 800);
        assert_eq!(next_times(100, 0.08), 125);
        assert_eq!(next_times(100, 1.0), 10);
        assert_eq!(next_times(1, 5.0), 1);
        assert_eq!(next_times(MOST_TIMES, 1e-3), MOST_TIMES);
    }

    #[test]
    fn iterations_are_carried_out_and_verified() {
        let operations = [
            (Operation::ReadCache { bytes: 4099, late: None }, true),
            (Operation::Get { target: Target::Idle }, false),
            (Operation::Local { access: Some(Access::GuardOpen) }, false),
            (Operation::FetchAdd { tasks: false }, false),
            (Operation::FetchAdd { tasks: true }, false),
            (Operation::ScalarSum, false),
            (Operation::AllReduce { values: 1 }, false),
            (Operation::AllReduce { values: 9001 }, false),
            (Operation::Barrier, false),
        ];
        for (operation, is_read) in operations {
            for damage in [false, true] {
                let job = job(operation, damage);
                let told = Config::threads(2).run(|world| {
                    let mut series = Series::new(world, &job)?;
                    let mut heard = 0;
                    let took = series.run(20, &mut || heard += 1)?;
                    assert!(took.seconds > 0.0 && (took.with_read > 0.0) == is_read, "{operation:?}: {took:?}");
                    assert!(if operation.is_short() { heard < 20 } else { heard == 20 }, "{operation:?}: {heard}");
                    assert_eq!(took.wrong > 0.0, damage, "{operation:?}: {took:?}");
                    Ok(took)
                });
                told.expect("the job ends well");
            }
        }
    }
}
