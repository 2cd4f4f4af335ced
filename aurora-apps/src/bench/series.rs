//! One implementation of one operation, as often as somebody else says: for criterion, which chooses its iterations by
//! itself.

use super::job::Job;
use super::lane::{Lane, next_times};
use crate::report::NothingToRun;
use aurora_core::prelude::*;

/// A repetition of a short operation is made as long as this, in seconds: long beside what surrounds it, and no long
/// wait for who wants to hear that there is progress.
const AIM: f64 = 0.1;

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
    lane: Lane<'w>,
    rep: usize,
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
        let by = *job.implementations.first().ok_or(NothingToRun).map_err(|error| Error::user(error))?;
        let first = Job { operation: job.operation.parts()[0], implementations: vec![by], ..job.clone() };
        let mut lane = Lane::all(world, &first)?.remove(0);
        lane.repetition(1, 1)?;
        Ok(Series { lane, rep: 1 })
    }

    /// Collective. Carries out the operation `iterations` times and verifies all that it moves. After each repetition,
    /// of which a short operation takes many at once, `progress` hears of it.
    ///
    /// # Errors
    /// Whatever ended the job.
    pub fn run(&mut self, iterations: u64, progress: &mut dyn FnMut()) -> Result<Took> {
        let (mut took, mut left) = (Took::default(), iterations);
        while left > 0 {
            let times = if self.lane.operation.is_short() { left.min(self.lane.times as u64) as usize } else { 1 };
            self.rep += 1;
            let lap = self.lane.repetition(self.rep, times)?;
            took.seconds += lap.took.seconds().max(0.0);
            took.with_read += lap.with_read.seconds().max(0.0);
            took.wrong += lap.wrong;
            self.lane.times = next_times(times, lap.took.seconds(), AIM);
            left -= times as u64;
            progress();
        }
        Ok(took)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{By, Operation, Target};
    use crate::implementation::Implementation::{Aurora, Tcp};
    use crate::implementation::Offer;

    /// All of them, small, with an odd size.
    const OPERATIONS: [Operation; 19] = [
        Operation::ReadCache { bytes: 4099, late: None },
        Operation::Exchange { keys: 1003 },
        Operation::Gather { bytes: 4099, by: By::Push },
        Operation::Gather { bytes: 4099, by: By::Pull },
        Operation::Get { target: Target::Idle },
        Operation::Get { target: Target::Computing },
        Operation::Put { target: Target::Idle },
        Operation::FetchAdd { tasks: false },
        Operation::FetchAdd { tasks: true },
        Operation::ScalarSum,
        Operation::Local { access: None },
        Operation::Barrier,
        Operation::AllReduce { values: 1 },
        Operation::AllReduce { values: 9001 },
        Operation::Stream { bytes: 4099 },
        Operation::Copy { bytes: 4099, target: Target::Computing, way: None },
        Operation::Updates { table: 1009, updates: 3001 },
        Operation::Reads { table: 1009, reads: 501, batch: 64 },
        Operation::FirstTouch { bytes: 200_003, memory: None },
    ];

    #[test]
    fn iterations_are_carried_out_and_verified() {
        let parts: Vec<_> = OPERATIONS.iter().flat_map(|operation| operation.parts()).collect();
        let by_tcp = |operation: &Operation| operation.implementations().contains(&Tcp).then_some((*operation, Tcp));
        let aurora = parts.iter().map(|operation| (*operation, Aurora));
        for (operation, by) in aurora.chain(parts.iter().filter_map(by_tcp)) {
            for damage in [false, true] {
                let job = Job { operation, implementations: vec![by], reps: 1, seed: Some(3), damage };
                let told = Config::threads(3).run(|world| {
                    let mut series = Series::new(world, &job)?;
                    let mut heard = 0;
                    let took = series.run(if operation.is_short() { 600 } else { 2 }, &mut || heard += 1)?;
                    let is_read = matches!(operation, Operation::ReadCache { .. });
                    assert!(took.seconds > 0.0 && (took.with_read > 0.0) == is_read, "{operation:?}: {took:?}");
                    assert!(if operation.is_short() { heard < 600 } else { heard == 2 }, "{operation:?}: {heard}");
                    assert_eq!(took.wrong > 0.0, damage, "{operation:?} by {by:?}: {took:?}");
                    Ok(took)
                });
                told.expect("the job ends well");
            }
        }
    }
}
