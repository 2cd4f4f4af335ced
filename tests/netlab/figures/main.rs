//! The figures of Aurora and of both MPIs on the emulated cluster, as tables and as sections of `benches/RESULTS.md`.
//!
//! `tests/netlab/measure` and `tests/netlab/study` build the binaries for this program and start it.

mod mpis;
mod report;
mod row;
mod study;

use aurora_suite::against;
use aurora_suite::choice::Choice;
use aurora_suite::figures::job::{Run, Stage};
use aurora_suite::figures::row::Row;
use aurora_suite::figures::{Table, exit};
use aurora_suite::mpi::Flavour;
use clap::Parser;
use mpis::Mpis;
use std::process::ExitCode;

/// The section of the results that `measure` writes.
const HEADING: &str = "# Measured on the emulated cluster";

/// Measure Aurora and both MPIs on the emulated cluster.
#[derive(Parser, Debug)]
#[command(name = "netlab")]
enum Arguments {
    /// One operation at a time
    Measure {
        #[command(flatten)]
        choice: Choice,
        #[command(flatten)]
        mpis: Mpis,
    },
    /// Whole programs: the figures of the paper
    Study(study::Arguments),
}

fn main() -> ExitCode {
    match Arguments::parse() {
        Arguments::Measure { choice, mpis } => exit("measure", measure(&choice, &mpis)),
        Arguments::Study(arguments) => exit("study", study::study(&arguments)),
    }
}

/// Measures rows and writes them.
fn measure(choice: &Choice, mpis: &Mpis) -> Result<ExitCode, String> {
    let (rows, reps) = (choice.rows(&row::ROWS)?, choice.reps());
    if let Some(old) = choice.against() {
        mpis.as_they_come()?;
        return against::compare(rows, choice, mpis.aurora(Flavour::Open), &old);
    }
    let aurora = |run: &Run| mpis.aurora(run.flavour);
    let runs = |row: &Row| runs(row, reps, mpis);
    let table = Table::fill(&rows, report::figures, runs, aurora, choice.damage);
    table.write(choice, HEADING, &report::section(&table, reps))
}

/// The jobs of a row: each MPI with its defaults and tuned, or, without an MPI, a single job.
fn runs(row: &Row, reps: usize, mpis: &Mpis) -> Vec<Run> {
    let whole = row.job.whole(reps);
    if matches!(row.job.stage, Stage::Alone(_)) {
        return vec![whole];
    }
    let of = |flavour| {
        let variables = mpis.best(flavour, row.job.command());
        let defaults = Run { flavour, ..whole.clone() };
        [defaults.clone(), Run { setting: "tuned", variables, ..defaults }]
    };
    Flavour::BOTH.into_iter().flat_map(of).collect()
}
