//! The repetitions: a new matrix, the sequential program, the super-program, verification.

use super::{Cholesky, CholeskyReport, Factor, Matrix, Tiles, checksums, factorise};
use crate::agree;
use crate::checksum::wrong;
use crate::clock::{Clock, Laps};
use crate::implementation::{Implementation, Program};
use crate::job::{App, Job, Repetitions};
use crate::launches::Launches;
use crate::report::Comparison;
use crate::tally::Repetition;
use aurora_core::prelude::*;
use aurora_super::run::Report as Counters;
use aurora_super::{Dense, Super, SuperProgram};
use std::time::Instant;

/// The phase of a repetition.
const FACTORISE: &str = "A = L x L^T";

impl App for Cholesky {
    const PROGRAM: Program = Program("cholesky");
    type Report = CholeskyReport;

    /// Verifies every element.
    fn run(world: &World, job: &Job<Self>, progress: &mut dyn FnMut(usize)) -> Result<Comparison<CholeskyReport>> {
        let Cholesky { size, tile, .. } = job.program;
        job.program.check().map_err(|error| Error::user(error))?;
        agree::same(world, job)?;
        let mut reps = Repetitions::new(world, job, progress, |_| Ok(Vec::new()))?;
        let mut residual = 0.0_f64;
        for rep in reps.numbers() {
            let matrix = Matrix::new(&job.program, reps.seed, rep);
            let answer = world.is_root().then(|| Answer::new(matrix));
            let of_this = world.broadcast(0, answer.as_ref().map_or(0.0, |answer| answer.residual))?;
            // A NaN stays.
            residual = if of_this > residual || of_this.is_nan() { of_this } else { residual };
            reps.run(rep, |implementation, launches| {
                let (laps, found) = match implementation {
                    Implementation::Sequential => alone(world, matrix)?,
                    _ => by_super_program(world, job, matrix, launches)?,
                };
                let (wrong, sequential) =
                    answer.as_ref().map_or((0, 0.0), |answer| (answer.wrong(&found), answer.seconds));
                Ok(Repetition { laps, sequential, wrong })
            })?;
        }
        reps.compare("", size, |run, launches| CholeskyReport {
            run: run.measure("tile", tile),
            residual,
            launches: Launches::of(launches),
        })
    }
}

/// Collective. The super-program: its times, and the checksums of L's tiles, which rank 0 needs.
fn by_super_program(
    world: &World,
    job: &Job<Cholesky>,
    matrix: Matrix,
    launches: &mut Vec<Counters>,
) -> Result<(Laps, Vec<u64>)> {
    let super_program = job.program.policy.map_or_else(Super::default, |policy| Super::default().policy(policy));
    let sp = super_program.start(world)?;
    let mut timed = None;
    let l = factorise(&sp, matrix, |work| {
        let before = sp.report()?;
        let mut clock = Clock::start(world)?;
        clock.computing(FACTORISE, work)?;
        timed = Some((clock.stop()?, sp.report()?.since(&before)));
        Ok(())
    })?;
    let (laps, counters) = timed.expect("the super-program has launched them");
    if job.damage {
        damage(&sp, l, matrix.tiles())?;
    }
    launches.push(counters);
    Ok((laps, checksums(&sp, l)?))
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
