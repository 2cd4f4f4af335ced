//! The repetitions: the policies take turns, and each run is simulated.

use super::simulation::{predicted, simulated};
use super::{Farm, farm};
use crate::agree;
use crate::random::Stream;
use crate::report::farm::{ByPolicy, Farm as Report};
use crate::report::{RankCounters, Spread};
use aurora_core::prelude::*;
use aurora_super::sim::{Cost, Outcome};
use aurora_super::{Instruction, Policy, Product, Super, run};

/// Collective. Runs the farm `job.reps` times by each policy, and verifies the result of every unit. After each
/// repetition `progress` is called with the number of complete ones.
///
/// The report is the same on all ranks.
///
/// # Errors
/// A job that is [`Impossible`](super::Impossible); an error that has ended the job.
pub fn run(world: &World, job: &Farm, progress: &mut dyn FnMut(usize)) -> Result<Report> {
    job.check(Some(world.size())).map_err(|error| Error::user(error))?;
    agree::same(world, job)?;
    let seed = agree::seed(world, job.seed)?;
    let speeds = job.relative_speeds(world.size());
    let model = predicted(job, &speeds).map_err(|error| Error::user(error))?;
    let mut lanes: Vec<(Policy, Vec<Repetition>)> = job.policies.iter().map(|policy| (*policy, Vec::new())).collect();
    for rep in 0..job.reps {
        let seed = seed.wrapping_add(rep as u64);
        for (policy, repetitions) in &mut lanes {
            repetitions.push(repetition(world, job, &speeds, *policy, seed)?);
        }
        progress(rep + 1);
    }
    let all = || lanes.iter().flat_map(|(_, repetitions)| repetitions);
    let sequential_seconds = Spread::of(all().map(|rep| rep.sequential)).median;
    Ok(Report {
        app: "farm".into(),
        ranks: world.size(),
        units: job.units as usize,
        steps: job.steps as usize,
        unit_seconds: job.unit_seconds,
        drawn: job.drawn,
        known_speeds: job.known_speeds,
        in_flight: job.in_flight as usize,
        reps: job.reps,
        seed,
        sequential_seconds,
        model,
        policies: lanes
            .iter()
            .map(|(policy, repetitions)| of(*policy, repetitions, &speeds, sequential_seconds))
            .collect(),
        verified: all().all(|rep| rep.wrong == 0),
        speeds,
    })
}

/// One repetition by one policy.
struct Repetition {
    report: run::Report,
    simulated: Outcome,
    /// The time of all instructions on the fastest rank, in seconds.
    sequential: f64,
    /// The number of units with wrong results.
    wrong: usize,
}

/// Collective. Simulates, runs and verifies one repetition.
fn repetition(world: &World, job: &Farm, speeds: &[f64], policy: Policy, seed: u64) -> Result<Repetition> {
    let simulated = simulated(job, speeds, policy, seed).map_err(|error| Error::user(error))?;
    let mut settings = Super::default().policy(policy).workers(1).in_flight(job.in_flight);
    if job.known_speeds {
        settings = settings.speeds(speeds);
    }
    let sp = settings.start(world)?;
    let (shape, cost) = (job.shape(), job.cost(seed));
    let results = farm(&sp, (job.units, job.steps), speeds[world.rank().index()], step(shape, cost, seed))?;
    let report = sp.report()?;
    if job.damage {
        sp.each(1, |result: &mut u64| *result += 1, move |_: u32| (results.at(0),))?;
    }
    let found = sp.fold(&results, |result| vec![*result], |one, other| [one, other].concat())?;
    let step = step(shape, cost, seed);
    let expected = (0..job.units).map(|unit| (0..job.steps).map(|k| step(unit, k).1).sum::<u64>());
    let wrong = expected.zip(found).filter(|(expected, found)| expected != found).count();
    let micros: f64 = (0..job.units).map(|unit| (0..job.steps).map(|k| step(unit, k).0).sum::<f64>()).sum();
    Ok(Repetition { report, simulated, sequential: micros / 1e6, wrong })
}

/// The work of each step. The numbers are below 2^32, so that their sums have no carry.
fn step(shape: Product, cost: Cost, seed: u64) -> impl Fn(u32, u32) -> (f64, u64) {
    let numbers = Stream::new(seed, 0);
    move |group, k| {
        let micros = cost.of(&shape, Instruction { group, k });
        (micros, numbers.child(group.into()).bits(k.into()) >> 32)
    }
}

/// The figures of a policy.
fn of(policy: Policy, all: &[Repetition], speeds: &[f64], sequential: f64) -> ByPolicy {
    let spread = |of: &dyn Fn(&Repetition) -> f64| Spread::of(all.iter().map(of));
    let makespan = |rep: &Repetition| rep.report.total().elapsed.as_secs_f64();
    let simulated = |rep: &Repetition| rep.simulated.makespan / 1e6;
    let seconds = spread(&makespan);
    ByPolicy {
        policy: policy.to_string(),
        seconds,
        simulated_seconds: spread(&simulated),
        ratio: spread(&|rep| makespan(rep) / simulated(rep)),
        imbalance: spread(&|rep| imbalance(&rep.report, speeds)),
        simulated_imbalance: spread(&|rep| rep.simulated.imbalance.max(0.0)),
        speedup: sequential / seconds.median,
        by_rank: all.last().map(|rep| RankCounters::of(&rep.report)).unwrap_or_default(),
    }
}

/// The part of the possible computation of all ranks in which they did not compute.
fn imbalance(report: &run::Report, speeds: &[f64]) -> f64 {
    let makespan = report.total().elapsed.as_secs_f64();
    let idle = report.ranks.iter().zip(speeds).map(|(rank, speed)| speed * (makespan - rank.busy.as_secs_f64()));
    (idle.sum::<f64>() / (speeds.iter().sum::<f64>() * makespan)).max(0.0)
}
