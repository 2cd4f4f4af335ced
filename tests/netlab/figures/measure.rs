//! One operation at a time, row by row: what `tests/netlab/measure` starts.

use crate::mpis::Mpis;
use crate::report;
use crate::row::ROWS;
use aurora_suite::against;
use aurora_suite::choice::Choice;
use aurora_suite::figures::Table;
use aurora_suite::figures::job::{Run, Stage, Tuning};
use aurora_suite::figures::row::Row;
use aurora_suite::mpi::Flavour;
use clap::Args;
use std::process::ExitCode;

/// Its part of the results.
const HEADING: &str = "# Measured on the emulated cluster";

#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    mpis: Mpis,
}

/// Measures the rows and writes them.
///
/// # Errors
/// What was asked for and cannot be.
pub fn measure(Arguments { choice, mpis }: &Arguments) -> Result<ExitCode, String> {
    let rows = choice.rows(&ROWS)?;
    if let Some(old) = choice.against() {
        mpis.as_they_come()?;
        return against::compare(rows, choice, mpis.aurora(Flavour::Open), &old);
    }
    let reps = choice.reps();
    let aurora = |run: &Run| mpis.aurora(run.flavour);
    let runs = |row: &Row| runs(row, reps, mpis);
    let table = Table::fill((report::HEAD, report::line), &rows, runs, aurora, choice.damage);
    table.write(choice, HEADING, &report::section(&table, reps))
}

/// The jobs of a row: each MPI as it comes and tuned, or, without one, a single job.
fn runs(row: &Row, reps: usize, mpis: &Mpis) -> Vec<Run> {
    if matches!(row.job.stage, Stage::Alone { .. }) {
        return vec![row.job.whole(reps)];
    }
    let of = |flavour| {
        let tunings = [Tuning::DEFAULTS, mpis.best(flavour, row.job.command())];
        tunings.map(|tuning| Run { flavour, tuning, ..row.job.whole(reps) })
    };
    Flavour::BOTH.into_iter().flat_map(of).collect()
}
