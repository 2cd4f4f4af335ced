//! One implementation of one operation, as often as the caller asks: for criterion, which chooses its own number of
//! iterations.

use super::job::Job;
use super::lane::{Lane, next_times};
use crate::report::NothingToRun;
use aurora_core::prelude::*;

/// The target time of a repetition of a short operation, in seconds: long compared with the work around it, and short
/// enough for progress reports.
const AIM: f64 = 0.1;

/// The figures of some iterations of an operation, the same on all ranks.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Took {
    /// The slowest rank's seconds, of all iterations together.
    pub seconds: f64,
    /// The seconds of the operation with one full read of its result; 0 if that is not measured.
    pub with_read: f64,
    /// The amount of wrong data that has arrived.
    pub wrong: f64,
}

/// An operation by one implementation, with memory that lives as long as the series.
pub struct Series<'w> {
    lane: Lane<'w>,
    rep: usize,
}

impl<'w> Series<'w> {
    /// Collective. Prepares the operation of `job` by the first of its implementations; of an operation with several
    /// parts, the first part. `job.reps` is ignored.
    ///
    /// One repetition runs here and does not count, so that later ones touch no memory for the first time.
    ///
    /// # Errors
    /// A [`Refusal`](crate::implementation::Refusal) of an implementation that cannot run, or the error that ended the
    /// job.
    pub fn new(world: &'w World, job: &Job) -> Result<Self> {
        let by = *job.implementations.first().ok_or(NothingToRun).map_err(|error| Error::user(error))?;
        let first = Job { operation: job.operation.parts()[0], implementations: vec![by], ..job.clone() };
        let mut lane = Lane::all(world, &first)?.remove(0);
        lane.repetition(1, 1)?;
        Ok(Series { lane, rep: 1 })
    }

    /// Collective. Carries out the operation `iterations` times and verifies all data that it moves. It calls
    /// `progress` after each repetition; a repetition of a short operation has many iterations.
    ///
    /// # Errors
    /// The error that ended the job.
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

    /// All operations, small, with an odd size.
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
                let ended = Config::threads(3).run(|world| {
                    let mut series = Series::new(world, &job)?;
                    let mut heard = 0;
                    let took = series.run(if operation.is_short() { 600 } else { 2 }, &mut || heard += 1)?;
                    let is_read = matches!(operation, Operation::ReadCache { .. });
                    assert!(took.seconds > 0.0 && (took.with_read > 0.0) == is_read, "{operation:?}: {took:?}");
                    assert!(if operation.is_short() { heard < 600 } else { heard == 2 }, "{operation:?}: {heard}");
                    assert_eq!(took.wrong > 0.0, damage, "{operation:?} by {by:?}: {took:?}");
                    Ok(took)
                });
                ended.expect("the job ends well");
            }
        }
    }
}
