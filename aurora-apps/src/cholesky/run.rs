//! The repetitions: a new matrix, the sequential program, the super-program, verification.

use super::{Cholesky, CholeskyReport, Factor, Matrix, Tiles, checksums, factorise};
use crate::agree;
use crate::checksum::wrong;
use crate::clock::{Clock, Laps};
use crate::implementation::{Conditions, Implementation, Offer, Program};
use crate::launches::Launches;
use crate::report::{Comparison, Report};
use crate::tally::{Repetition, Subject, Tally};
use aurora_core::prelude::*;
use aurora_super::run::Report as Counters;
use aurora_super::{Dense, Super, SuperProgram};
use std::collections::BTreeMap;
use std::time::Instant;

/// The phase of a repetition.
const FACTORISE: &str = "A = L x L^T";

/// Collective. Factorises `job.reps` matrices by each implementation and verifies every element. After each repetition
/// `progress` is called with the number of complete ones.
///
/// The report is the same on all ranks.
///
/// # Errors
/// A job that is [`Impossible`](super::Impossible); a [`Refusal`](crate::implementation::Refusal) of an implementation;
/// an error that has ended the job.
pub fn run(world: &World, job: &Cholesky, progress: &mut dyn FnMut(usize)) -> Result<Comparison<CholeskyReport>> {
    let offer = Program("cholesky");
    job.check().map_err(|error| Error::user(error))?;
    offer.check(&job.implementations, Conditions::of(world)).map_err(|(_, refusal)| Error::user(refusal))?;
    agree::same(world, job)?;
    let seed = agree::seed(world, job.seed)?;
    let lane = |implementation: &Implementation| Lane {
        implementation: *implementation,
        tally: Tally::default(),
        launches: Vec::new(),
    };
    let mut lanes: Vec<Lane> = job.implementations.iter().map(lane).collect();
    let mut residual = 0.0_f64;
    for rep in 0..job.reps {
        let matrix = Matrix::new(job, seed, rep);
        let answer = world.is_root().then(|| Answer::new(matrix));
        let of_this = world.broadcast(0, answer.as_ref().map_or(0.0, |answer| answer.residual))?;
        // A NaN stays.
        residual = if of_this > residual || of_this.is_nan() { of_this } else { residual };
        for lane in &mut lanes {
            let (laps, found) = lane.factorise(world, job, matrix)?;
            let (wrong, sequential) = answer.as_ref().map_or((0, 0.0), |answer| (answer.wrong(&found), answer.seconds));
            lane.tally.add(world, &Repetition { laps, sequential, wrong })?;
        }
        progress(rep + 1);
    }
    let report = |lane: &Lane| {
        let Lane { implementation, .. } = *lane;
        let subject = Subject { app: offer.name(), implementation, variant: "", size: job.size, seed };
        let measures = BTreeMap::from([("tile".into(), job.tile)]);
        let run = Report { measures, ..lane.tally.report(world, subject) };
        CholeskyReport { run, residual, launches: Launches::of(&lane.launches) }
    };
    Comparison::of(lanes.iter().map(report).collect()).map_err(|error| Error::user(error))
}

/// One implementation and its figures.
struct Lane {
    implementation: Implementation,
    tally: Tally,
    launches: Vec<Counters>,
}

impl Lane {
    /// Collective. A repetition: its times, and the checksums of L's tiles, which rank 0 needs.
    fn factorise(&mut self, world: &World, job: &Cholesky, matrix: Matrix) -> Result<(Laps, Vec<u64>)> {
        if self.implementation == Implementation::Sequential {
            return alone(world, matrix);
        }
        let (laps, checksums, launches) = by_super_program(world, job, matrix)?;
        self.launches.push(launches);
        Ok((laps, checksums))
    }
}

/// Collective. The super-program.
fn by_super_program(world: &World, job: &Cholesky, matrix: Matrix) -> Result<(Laps, Vec<u64>, Counters)> {
    let super_program = job.policy.map_or_else(Super::default, |policy| Super::default().policy(policy));
    let sp = super_program.start(world)?;
    let mut timed = None;
    let l = factorise(&sp, matrix, |launches| {
        let before = sp.report()?;
        let mut clock = Clock::start(world)?;
        clock.computing(FACTORISE, launches)?;
        timed = Some((clock.stop()?, sp.report()?.since(&before)));
        Ok(())
    })?;
    let (laps, launches) = timed.expect("the super-program has launched them");
    if job.damage {
        damage(&sp, l, matrix.tiles())?;
    }
    Ok((laps, checksums(&sp, l)?, launches))
}

/// Collective. Changes the last element of the last tile of L.
fn damage(sp: &SuperProgram<'_>, l: Factor, tiles: u32) -> Result<()> {
    let change = |tile: &mut Dense<f64>| {
        if let Some(last) = tile.values_mut().last_mut() {
            *last += 1.0;
        }
    };
    sp.each(1, change, move |_: u32| (l.at((tiles - 1, tiles - 1)),))
}

/// Collective. Runs the sequential program in its turn on rank 0, while the other ranks wait.
fn alone(world: &World, matrix: Matrix) -> Result<(Laps, Vec<u64>)> {
    let mut tiles = world.is_root().then(|| Tiles::new(matrix));
    let mut clock = Clock::start(world)?;
    clock.computing(FACTORISE, || {
        tiles.iter_mut().for_each(Tiles::factorise);
        Ok(())
    })?;
    let laps = clock.stop()?;
    Ok((laps, tiles.map_or_else(Vec::new, |tiles| tiles.checksums())))
}

/// The checksums of the sequential program's result, its residual, and its time.
struct Answer {
    checksums: Vec<u64>,
    residual: f64,
    seconds: f64,
    rows: usize,
}

impl Answer {
    fn new(matrix: Matrix) -> Self {
        let mut tiles = Tiles::new(matrix);
        let start = Instant::now();
        tiles.factorise();
        let seconds = start.elapsed().as_secs_f64();
        Answer { checksums: tiles.checksums(), residual: tiles.residual(), seconds, rows: matrix.size() }
    }

    /// The number of wrong tiles. If the residual is larger than rounding explains, all tiles are wrong.
    fn wrong(&self, found: &[u64]) -> u64 {
        if self.residual.is_nan() || self.residual > self.rows as f64 {
            return self.checksums.len() as u64;
        }
        wrong(&self.checksums, found)
    }
}
