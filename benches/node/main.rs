//! The figures of Aurora on one machine, as a table and as a section of `benches/RESULTS.md`.
//!
//! `benches/one-node` builds this program and the programs that it needs, and starts it.

mod report;
mod row;

use aurora_suite::against;
use aurora_suite::choice::Choice;
use aurora_suite::figures::{self, Table};
use clap::Parser;
use row::ROWS;
use std::path::PathBuf;
use std::process::ExitCode;

/// The heading of its section in the results.
const HEADING: &str = "# Measured on one node";

/// Measure Aurora on this machine, compared with Open MPI and rayon, or with another build of Aurora.
#[derive(Parser, Debug)]
#[command(name = "one-node")]
struct Arguments {
    #[command(flatten)]
    choice: Choice,
    /// The `aurora` built for Open MPI
    #[arg(long, value_name = "FILE")]
    aurora: PathBuf,
}

fn main() -> ExitCode {
    figures::exit("one-node", measure(&Arguments::parse()))
}

fn measure(Arguments { choice, aurora }: &Arguments) -> Result<ExitCode, String> {
    let rows = choice.rows(&ROWS)?;
    if let Some(old) = choice.against() {
        return against::compare(rows, choice, aurora, &old);
    }
    let reps = choice.reps();
    let runs = |row: &figures::row::Row| vec![row.job.whole(reps)];
    let table = Table::fill(&rows, report::figures, runs, |_| aurora, choice.damage);
    table.write(choice, HEADING, &report::section(&table, reps))
}
