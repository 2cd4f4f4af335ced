//! The repetitions of a bench: implementations in turns, on the same new data.

use super::bout::Bout;
use super::figures::{Repetition, rate, spread};
use super::job::{Job, Operation};
use crate::agree;
use crate::implementation::{Conditions, Implementation, Offer};
use crate::report::Comparison;
use crate::report::figures::Figures;
use aurora_core::prelude::*;

/// A repetition of a short operation takes at least so long.
const LEAST: f64 = 5e-3;

/// And has it at most so often.
const MOST_TIMES: usize = 1 << 20;

/// Collective. Runs `job.operation` by each of `job.implementations` in turns, `job.reps` times each, and verifies all
/// that it moves. After each turn of all `progress` hears how many are done.
///
/// The report is the same on all ranks.
///
/// # Errors
/// A [`Refusal`](crate::implementation::Refusal) of what cannot be had; whatever ended the job.
pub fn run(world: &World, job: &Job, progress: &mut dyn FnMut(usize)) -> Result<Comparison<Figures>> {
    let conditions = Conditions::of(world);
    job.operation.check(&job.implementations, conditions).map_err(|(_, refusal)| Error::user(refusal))?;
    let seed = agree::seed(world, job.seed)?;
    let mut lanes = Vec::new();
    for part in job.operation.parts() {
        for &implementation in &job.implementations {
            lanes.push(Lane::new(world, part, implementation, job)?);
        }
    }
    for lane in &mut lanes {
        lane.warm_up(seed)?;
    }
    for rep in 1..=job.reps {
        for lane in &mut lanes {
            lane.repeat(seed, rep)?;
        }
        progress(rep);
    }
    Comparison::of(lanes.iter().map(|lane| lane.figures(world, seed)).collect()).map_err(Error::user)
}

/// One implementation with what was measured of it.
struct Lane<'w> {
    operation: Operation,
    implementation: Implementation,
    bout: Bout<'w>,
    /// Nobody else's memory counts with its own.
    alone: bool,
    times: usize,
    verified: bool,
    repetitions: Vec<Repetition>,
}

impl<'w> Lane<'w> {
    fn new(world: &'w World, operation: Operation, implementation: Implementation, job: &Job) -> Result<Self> {
        Ok(Lane {
            operation,
            implementation,
            bout: Bout::new(world, operation, implementation, job.damage)?,
            alone: job.implementations.len() == 1,
            times: 1,
            verified: true,
            repetitions: Vec::new(),
        })
    }

    /// Collective. Unmeasured repetitions: memory has been touched after the first one; of a short operation as many as
    /// it takes to find out how often it fits into a repetition.
    fn warm_up(&mut self, seed: u64) -> Result<()> {
        loop {
            let seconds = self.repetition(seed, 0)?.seconds;
            if !self.operation.is_short() || seconds >= LEAST || self.times == MOST_TIMES {
                return Ok(());
            }
            self.times = more_times(self.times, seconds);
        }
    }

    /// Collective. One measured repetition.
    fn repeat(&mut self, seed: u64, rep: usize) -> Result<()> {
        let repetition = self.repetition(seed, rep)?;
        self.repetitions.push(repetition);
        Ok(())
    }

    fn repetition(&mut self, seed: u64, rep: usize) -> Result<Repetition> {
        let repetition = self.bout.repetition(seed, rep, self.times)?;
        self.verified &= repetition.wrong == 0.0;
        Ok(repetition)
    }

    fn figures(&self, world: &World, seed: u64) -> Figures {
        let of = |figure: fn(&Repetition) -> f64| spread(&self.repetitions, self.times, figure);
        let rate = |amount: f64| Some(rate(&self.repetitions, self.times, amount));
        let is_load = matches!(self.operation, Operation::ReadCache { .. });
        let is_ours = self.implementation == Implementation::Aurora;
        let has_packets = is_ours && world.udp().is_some();
        Figures {
            bench: self.operation.name().into(),
            implementation: self.implementation.name().into(),
            variant: self.operation.variant(),
            memory: match self.operation {
                Operation::FirstTouch { memory, .. } => memory.map(|memory| memory.name().into()),
                _ => None,
            },
            access: match self.operation {
                Operation::Local { access } => access.map(|access| access.name().into()),
                _ => None,
            },
            ranks: world.size(),
            bytes: self.operation.bytes(),
            reps: self.repetitions.len(),
            times: self.times,
            seed,
            verified: self.verified,
            seconds: of(|repetition| repetition.seconds),
            ready_seconds: (is_load && world.about().nodes == 1).then(|| of(|repetition| repetition.ready)),
            with_read_seconds: is_load.then(|| of(|repetition| repetition.with_read)),
            pss_bytes: (is_load && self.alone)
                .then(|| of(|repetition| repetition.pss))
                .filter(|pss| pss.median.is_finite()),
            shares: matches!(self.operation, Operation::FetchAdd { tasks: true })
                .then(|| of(|repetition| repetition.shares)),
            per_second: match self.operation {
                Operation::Updates { updates: places, .. } | Operation::Reads { reads: places, .. } => {
                    rate(places as f64 * world.size() as f64)
                }
                _ => None,
            },
            gigabytes_per_second: match self.operation {
                Operation::FirstTouch { bytes, .. } => rate(bytes as f64 / 1e9),
                _ => None,
            },
            cpu_seconds: of(|repetition| repetition.cpu),
            messages_sent: is_ours.then(|| of(|repetition| repetition.messages)),
            bytes_sent: is_ours.then(|| of(|repetition| repetition.bytes)),
            packets_sent: has_packets.then(|| of(|repetition| repetition.packets)),
            packets_resent: has_packets.then(|| of(|repetition| repetition.resent)),
        }
    }
}

/// How often to try next, after `times` took `seconds`: a little more than should do, at most eight times as often.
fn more_times(times: usize, seconds: f64) -> usize {
    let enough = times as f64 * LEAST * 1.2 / seconds.max(1e-9);
    (enough.ceil() as usize).clamp(times + 1, 8 * times).min(MOST_TIMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_operation_is_repeated_until_it_is_long_enough() {
        assert_eq!(more_times(1, 1e-3), 6);
        assert_eq!(more_times(10, 1e-6), 80);
        assert_eq!(more_times(10, 0.0), 80);
        assert_eq!(more_times(10, 4.99e-3), 13);
        assert_eq!(more_times(MOST_TIMES - 1, 1e-3), MOST_TIMES);
    }
}
