//! The figures of Aurora and of both MPIs on the emulated cluster, as tables and as sections of `benches/RESULTS.md`.
//!
//! `tests/netlab/measure` and `tests/netlab/study` build what this needs and start it.

mod measure;
mod mpis;
mod report;
mod row;
mod study;

use aurora_suite::figures::exit;
use clap::Parser;
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
    match Arguments::parse() {
        Arguments::Measure(arguments) => exit("measure", measure::measure(&arguments)),
        Arguments::Study(arguments) => exit("study", study::study(&arguments)),
    }
}
