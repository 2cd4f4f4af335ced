//! One operation at a time, row by row: what `tests/netlab/measure` starts.

use crate::against;
use crate::job::{Binaries, Jobs, version};
use crate::judge;
use crate::report::{self, Line};
use crate::row::ROWS;
use crate::say;
use crate::tuning::{self, Wishes};
use aurora_suite::choice::Choice;
use aurora_suite::mpi::Flavour;
use aurora_suite::{machine, results};
use clap::Args;
use std::process::ExitCode;
use std::time::Instant;

/// Its part of the results.
const HEADING: &str = "# Measured on the emulated cluster";

#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,
    /// Another tuning of Open MPI, such as "OMPI_MCA_a=1 OMPI_MCA_b=2"
    #[arg(long, value_name = "VARIABLES", conflicts_with = "against")]
    tuned_openmpi: Option<String>,
    /// Another tuning of MPICH, such as "UCX_RNDV_THRESH=inf"
    #[arg(long, value_name = "VARIABLES", conflicts_with = "against")]
    tuned_mpich: Option<String>,
    #[command(flatten)]
    binaries: Binaries,
}

/// Measures the rows and writes them.
///
/// # Errors
/// What was asked for and cannot be.
pub fn measure(arguments: &Arguments) -> Result<ExitCode, String> {
    let choice = &arguments.choice;
    let rows = choice.rows(&ROWS, |row| row.name)?;
    if let Some(old) = choice.against() {
        return against::compare(choice, rows, &arguments.binaries, &old);
    }
    let wishes = Wishes {
        openmpi: arguments.tuned_openmpi.as_deref().map(tuning::parse).transpose()?,
        mpich: arguments.tuned_mpich.as_deref().map(tuning::parse).transpose()?,
    };
    let binaries = arguments.binaries.clone();
    let reps = choice.reps();
    let mut jobs = Jobs { binaries, reps, damage: choice.damage, wishes, done: Vec::new() };
    let begun = Instant::now();
    let mut lines: Vec<Line> = Vec::new();
    say(report::HEAD);
    for row in rows {
        let ran = jobs.of(&row);
        let line = (row, judge::complete(row, ran, reps));
        say(&report::summary(&line));
        lines.push(line);
    }
    let took = format!("{} jobs in {:.1} minutes", jobs.done.len(), begun.elapsed().as_secs_f64() / 60.0);
    say(&format!("\n{took}"));
    if let Some(out) = choice.out() {
        results::write(&out, HEADING, &section(&lines, reps, &took))?;
        say(&format!("written to {}", out.display()));
    }
    let whole = lines.iter().all(|(_, result)| result.is_ok());
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn section(lines: &[Line], reps: usize, took: &str) -> String {
    let (rows, failures): (Vec<_>, Vec<_>) = lines.iter().partition(|(_, result)| result.is_ok());
    let of = |lines: &[&Line]| lines.iter().map(|line| report::summary(line) + "\n").collect::<String>();
    let details: Vec<String> = lines.iter().filter_map(report::details).collect();
    let [openmpi, mpich] = [Flavour::Open, Flavour::Mpich].map(version);
    format!(
        "Written by `tests/netlab/measure`; what the cluster is: [tests/netlab](../tests/netlab/README.md).\n\n\
         - Machine: {}.\n- Open MPI {openmpi}, MPICH {mpich}, TCP with cubic.\n- Commit {}, {}; {took}.\n\
         - {reps} repetitions, all implementations of a job in turns on the same data, every byte checked. Times are the slowest\n  \
           rank's, between barriers; the bound is the payload into the busiest node at the rate of its link.\n\
         - Cores busy: of the whole job, of both MPIs the one that took most; above 90 % a row tells of the cores. In the details: what an\n  \
           implementation took during its own turn, by its ranks' CPU time.\n\n\
         {}\n{}\n{}## Details\n\n{}",
        machine::description(),
        machine::commit(),
        machine::today(),
        report::HEAD,
        of(&rows),
        of(&failures),
        details.join("\n"),
    )
}
