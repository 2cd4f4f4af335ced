//! The repetitions: new draws, the sequential program, the parallel ones in turns, verification.

use super::{Draws, accumulate, in_turns, release, sequential};
use crate::check;
use crate::clock::{Clock, Laps};
use crate::implementation::{Implementation, Program};
use crate::job::{App, Job, Repetitions};
use crate::report::{Comparison, Report};
use crate::tally::Repetition;
use crate::values::number;
use aurora_core::ops::Sum;
use aurora_core::prelude::*;
use clap::Args;
use std::time::Instant;

/// The parameters of a run.
#[derive(Args, Clone, Debug)]
pub struct Histogram {
    /// Number of counters.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = number::<usize>(0..))]
    pub table: usize,
    /// Updates of each rank.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = number::<usize>(0..=u32::MAX.into()))]
    pub updates: usize,
}

impl App for Histogram {
    const PROGRAM: Program = Program("histogram");
    type Report = Report;

    /// Verifies every counter, and the sum of all counters.
    fn run(world: &World, job: &Job<Self>, progress: &mut dyn FnMut(usize)) -> Result<Comparison<Report>> {
        let Histogram { table, updates } = job.program;
        let lane = |implementation| Lane::new(world, &job.program, implementation);
        let mut reps = Repetitions::new(world, job, progress, lane)?;
        let mut expected = GVector::new(world, table)?;
        for rep in reps.numbers() {
            let draws = Draws::new(reps.seed, rep, table, updates);
            let answer = world.is_root().then(|| Answer::new(table, draws, world.size()));
            let (right, sequential) =
                answer.as_ref().map_or((&[][..], 0.0), |answer| (&answer.table[..], answer.seconds));
            check::spread(world, right, &mut expected)?;
            reps.run(rep, |_, lane| {
                let laps = lane.count(draws)?;
                if job.damage {
                    misplace(world, &mut lane.table)?;
                }
                let wrong = check::wrong_elements(&lane.table, &expected)?;
                let wrong = wrong + wrong_sum(world, &lane.table, world.size() * draws.each())?;
                Ok(Repetition { laps, sequential, wrong })
            })?;
        }
        reps.compare("counters", table, |report, _| report.measure("updates", updates))
    }
}

/// One implementation with its table.
struct Lane<'w> {
    world: &'w World,
    implementation: Implementation,
    #[cfg(feature = "mpi")]
    over_mpi: Option<super::mpi::OverMpi<'w>>,
    table: GVector<u64>,
}

impl<'w> Lane<'w> {
    fn new(world: &'w World, job: &Histogram, implementation: Implementation) -> Result<Self> {
        #[cfg(feature = "mpi")]
        let over_mpi = match implementation.is_mpi() {
            true => Some(super::mpi::OverMpi::new(world, job.table, job.updates, implementation)?),
            false => None,
        };
        Ok(Lane {
            world,
            implementation,
            #[cfg(feature = "mpi")]
            over_mpi,
            table: GVector::new(world, job.table)?,
        })
    }

    /// Collective. Runs a repetition.
    fn count(&mut self, draws: Draws) -> Result<Laps> {
        #[cfg(feature = "mpi")]
        if let Some(over_mpi) = &mut self.over_mpi {
            return over_mpi.run(draws, &mut self.table);
        }
        let Lane { world, implementation, table, .. } = self;
        if *implementation == Implementation::Sequential {
            return alone(world, draws, table);
        }
        check::fill(table, |_| 0)?;
        let mine = draws.of(world.rank().index());
        let mut clock = Clock::start(*world)?;
        clock.sharing("update", || match implementation {
            Implementation::Accumulate => accumulate(table, mine),
            Implementation::Naive => in_turns(world, table, mine),
            _ => release(table, mine),
        })?;
        clock.stop()
    }
}

/// Collective. Runs the sequential program in its turn on rank 0, while the other ranks wait.
fn alone(world: &World, draws: Draws, table: &mut GVector<u64>) -> Result<Laps> {
    let mut counters = vec![0; if world.is_root() { table.len() } else { 0 }];
    let mut clock = Clock::start(world)?;
    clock.computing("update", || {
        if world.is_root() {
            sequential(&mut counters, (0..world.size()).flat_map(|rank| draws.of(rank)));
        }
        Ok(())
    })?;
    let laps = clock.stop()?;
    check::spread(world, &counters, table)?;
    Ok(laps)
}

/// The sequential program's counters, and its time.
struct Answer {
    table: Vec<u64>,
    seconds: f64,
}

impl Answer {
    fn new(table: usize, draws: Draws, ranks: usize) -> Self {
        let mut table = vec![0u64; table];
        let start = Instant::now();
        sequential(&mut table, (0..ranks).flat_map(|rank| draws.of(rank)));
        Answer { seconds: start.elapsed().as_secs_f64(), table }
    }
}

/// Collective. Returns 1 if the sum of all ranks' counters differs from the number of updates, and 0 otherwise.
fn wrong_sum(world: &World, table: &GVector<u64>, updates: usize) -> Result<u64> {
    let own: u64 = table.owner_computes()?.local().iter().sum();
    Ok(u64::from(world.all_reduce(Sum, own)? != updates as u64))
}

/// Moves an update from one counter of rank 0 to the next, which keeps their sum. If rank 0 has no next counter, the
/// update is lost.
fn misplace(world: &World, table: &mut GVector<u64>) -> Result<()> {
    if world.is_root() {
        let mut own = table.owner_computes_mut()?;
        let own = own.local_mut();
        if let Some(counted) = own.iter().position(|count| *count > 0) {
            own[counted] -= 1;
            if let Some(next) = own.get_mut(counted + 1) {
                *next += 1;
            }
        }
    }
    world.barrier()
}
