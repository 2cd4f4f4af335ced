//! The figures of Aurora and of both MPIs on the emulated cluster, as tables and as sections of `benches/RESULTS.md`.
//!
//! `tests/netlab/measure` and `tests/netlab/study` build what this needs and start it.

mod against;
mod job;
mod judge;
mod measure;
mod report;
mod row;
mod study;
mod tuning;

use clap::Parser;
use std::io::{self, Write};
use std::process::ExitCode;

/// Measure Aurora beside both MPIs on the emulated cluster.
#[derive(Parser, Debug)]
#[command(name = "netlab")]
enum Arguments {
    /// One operation at a time
    Measure(measure::Arguments),
    /// Whole programs: the figures of the paper
    Study(study::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse() {
        Arguments::Measure(arguments) => measure::measure(&arguments),
        Arguments::Study(arguments) => study::study(&arguments),
    };
    outcome.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "{error}");
        ExitCode::from(2)
    })
}

fn say(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}
