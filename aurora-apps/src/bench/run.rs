//! The repetitions of a bench: implementations in turns, on the same new data.

use super::job::{Job, Operation};
use super::lane::{Lane, MOST_TIMES, next_times};
use super::lap::{Lap, rate, spread};
use crate::agree;
use crate::implementation::{Conditions, Implementation, Offer};
use crate::report::Comparison;
use crate::report::figures::Figures;
use aurora_core::prelude::*;

/// A repetition of a short operation takes at least so long, in seconds.
const LEAST: f64 = 5e-3;

/// And is made to take a little longer.
const AIM: f64 = 1.2 * LEAST;

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
    let mut turns = Vec::new();
    for operation in job.operation.parts() {
        for &by in &job.implementations {
            let lane = Lane::new(world, operation, by, job, seed)?;
            turns.push(Turns { operation, by, lane, times: 1, verified: true, laps: Vec::new() });
        }
    }
    for turns in &mut turns {
        turns.warm_up()?;
    }
    for rep in 1..=job.reps {
        for turns in &mut turns {
            let lap = turns.repetition(rep)?;
            turns.laps.push(lap);
        }
        progress(rep);
    }
    // Nobody else's memory counts with that of one who is alone.
    let alone = job.implementations.len() == 1;
    Comparison::of(turns.iter().map(|turns| turns.figures(world, seed, alone)).collect()).map_err(Error::user)
}

/// One implementation with what was measured of it.
struct Turns<'w> {
    operation: Operation,
    by: Implementation,
    lane: Lane<'w>,
    times: usize,
    verified: bool,
    laps: Vec<Lap>,
}

impl Turns<'_> {
    /// Collective. Unmeasured repetitions: memory has been touched after the first one; of a short operation as many as
    /// it takes to find out how often it fits into a repetition.
    fn warm_up(&mut self) -> Result<()> {
        loop {
            let seconds = self.repetition(0)?.took.seconds();
            if !self.operation.is_short() || seconds >= LEAST || self.times == MOST_TIMES {
                return Ok(());
            }
            self.times = next_times(self.times, seconds, AIM);
        }
    }

    /// Collective.
    fn repetition(&mut self, rep: usize) -> Result<Lap> {
        let lap = self.lane.repetition(rep, self.times)?;
        self.verified &= lap.wrong == 0.0;
        Ok(lap)
    }

    fn figures(&self, world: &World, seed: u64, alone: bool) -> Figures {
        let of = |figure: fn(&Lap) -> f64| spread(&self.laps, self.times, figure);
        let rate = |amount: f64| rate(&self.laps, self.times, amount);
        let ours = (self.by == Implementation::Aurora).then_some(of);
        let packets = ours.filter(|_| world.udp().is_some());
        let mut figures = Figures {
            bench: self.operation.name().into(),
            implementation: self.by.name().into(),
            variant: self.operation.variant(),
            ranks: world.size(),
            bytes: self.operation.bytes(),
            reps: self.laps.len(),
            times: self.times,
            seed,
            verified: self.verified,
            seconds: of(|lap| lap.took.seconds()),
            cpu_seconds: of(|lap| lap.cpu),
            messages_sent: ours.map(|of| of(|lap| lap.messages)),
            bytes_sent: ours.map(|of| of(|lap| lap.bytes)),
            packets_sent: packets.map(|of| of(|lap| lap.packets)),
            packets_resent: packets.map(|of| of(|lap| lap.resent)),
            ..Figures::default()
        };
        match self.operation {
            Operation::ReadCache { .. } => {
                figures.with_read_seconds = Some(of(|lap| lap.with_read.seconds()));
                figures.ready_seconds = (world.about().nodes == 1).then(|| of(|lap| (lap.through - lap.began) / 1e9));
                figures.pss_bytes = Some(of(|lap| lap.pss)).filter(|pss| alone && pss.median.is_finite());
            }
            Operation::FetchAdd { tasks: true } => figures.shares = Some(of(|lap| lap.share[1] / lap.share[0])),
            Operation::Updates { updates: places, .. } | Operation::Reads { reads: places, .. } => {
                figures.per_second = Some(rate(places as f64 * world.size() as f64));
            }
            Operation::FirstTouch { bytes, memory } => {
                figures.gigabytes_per_second = Some(rate(bytes as f64 / 1e9));
                figures.memory = memory.map(|memory| memory.name().into());
            }
            Operation::Local { access } => figures.access = access.map(|access| access.name().into()),
            _ => (),
        }
        figures
    }
}
