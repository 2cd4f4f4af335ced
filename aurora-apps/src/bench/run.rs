//! The repetitions of a bench: implementations in turns, on the same new data.

use super::job::{Job, Operation};
use super::lane::{Lane, MOST_TIMES, next_times};
use super::lap::{Lap, rate, spread};
use crate::implementation::{Implementation, Offer};
use crate::report::Comparison;
use crate::report::figures::Figures;
use aurora_core::prelude::*;

/// The minimum time of a repetition of a short operation, in seconds.
const LEAST: f64 = 5e-3;

/// The time that such a repetition aims at, in seconds: a little more than the minimum.
const AIM: f64 = 1.2 * LEAST;

/// Collective. Runs `job.operation` by each of `job.implementations` in turns, `job.reps` times each, and verifies all
/// data that it moves. After each round of turns it calls `progress` with the number of completed rounds.
///
/// The report is the same on all ranks.
///
/// # Errors
/// A [`Refusal`](crate::implementation::Refusal) of an implementation that cannot run, or the error that ended the job.
pub fn run(world: &World, job: &Job, progress: &mut dyn FnMut(usize)) -> Result<Comparison<Figures>> {
    let mut lanes = Lane::all(world, job)?;
    let mut laps = vec![Vec::new(); lanes.len()];
    lanes.iter_mut().try_for_each(warm_up)?;
    for rep in 1..=job.reps {
        for (lane, laps) in lanes.iter_mut().zip(&mut laps) {
            laps.push(lane.repetition(rep, lane.times)?);
        }
        progress(rep);
    }
    // Memory is reported for a single implementation only: the memory of several would add up.
    let alone = job.implementations.len() == 1;
    let figures = lanes.iter().zip(&laps).map(|(lane, laps)| figures(world, lane, laps, alone));
    Comparison::of(figures.collect()).map_err(|error| Error::user(error))
}

/// Collective. Runs repetitions that do not count. The first one touches the memory; for a short operation more follow
/// until the number of operations that fill a repetition is found.
fn warm_up(lane: &mut Lane<'_>) -> Result<()> {
    loop {
        let seconds = lane.repetition(0, lane.times)?.took.seconds();
        if !lane.operation.is_short() || seconds >= LEAST || lane.times == MOST_TIMES {
            return Ok(());
        }
        lane.times = next_times(lane.times, seconds, AIM);
    }
}

fn figures(world: &World, lane: &Lane<'_>, laps: &[Lap], alone: bool) -> Figures {
    let of = |figure: fn(&Lap) -> f64| spread(laps, lane.times, figure);
    let rate = |amount: f64| rate(laps, lane.times, amount);
    let ours = (lane.by == Implementation::Aurora).then_some(of);
    let packets = ours.filter(|_| world.udp().is_some());
    let mut figures = Figures {
        bench: lane.operation.name().into(),
        implementation: lane.by.name().into(),
        variant: lane.operation.variant(),
        ranks: world.size(),
        bytes: lane.operation.bytes(),
        reps: laps.len(),
        times: lane.times,
        seed: lane.seed,
        verified: lane.verified,
        seconds: of(|lap| lap.took.seconds()),
        cpu_seconds: of(|lap| lap.cpu),
        messages_sent: ours.map(|of| of(|lap| lap.messages)),
        bytes_sent: ours.map(|of| of(|lap| lap.bytes)),
        packets_sent: packets.map(|of| of(|lap| lap.packets)),
        packets_resent: packets.map(|of| of(|lap| lap.resent)),
        ..Figures::default()
    };
    match lane.operation {
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
        Operation::Copy { way, .. } => figures.access = way.map(|way| way.name().into()),
        _ => (),
    }
    figures
}
