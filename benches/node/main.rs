//! The figures of Aurora on one machine, as a table and as a section of `benches/RESULTS.md`.
//!
//! `benches/one-node` builds what this needs and starts it.

mod against;
mod job;
mod judge;
mod report;
mod row;

use aurora_suite::choice::Choice;
use aurora_suite::{machine, results};
use clap::Parser;
use job::Jobs;
use report::Line;
use row::ROWS;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Its part of the results.
const HEADING: &str = "# Measured on one node";

/// What the README says of it.
const README_HEADING: &str = "### On one machine";

/// Measure Aurora on this machine beside Open MPI and rayon, or beside another build of it.
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
    let Arguments { choice, aurora } = Arguments::parse();
    let outcome = match choice.against() {
        Some(old) => against::compare(&choice, &aurora, &old),
        None => measure(&choice, aurora),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "one-node: {error}");
            ExitCode::from(2)
        }
    }
}

fn measure(choice: &Choice, aurora: PathBuf) -> Result<ExitCode, String> {
    let rows = choice.rows(&ROWS, |row| row.name)?;
    let mut jobs = Jobs { aurora, reps: choice.reps(), damage: choice.damage, done: Vec::new() };
    let begun = Instant::now();
    let mut lines: Vec<Line> = Vec::new();
    say(report::HEAD);
    for row in rows {
        let line = (row, jobs.of(row.job).and_then(|said| judge::complete(&row, &said)));
        say(&report::summary(&line));
        lines.push(line);
    }
    let took = format!("{} jobs in {:.1} minutes", jobs.done.len(), begun.elapsed().as_secs_f64() / 60.0);
    say(&format!("\n{took}"));
    if let Some(out) = choice.out() {
        results::write(&out, HEADING, &section(&lines, &jobs, &took))?;
        say(&format!("written to {}", out.display()));
    }
    if choice.is_published() {
        results::write(results::README.as_ref(), README_HEADING, &short(&lines))?;
    }
    let whole = lines.iter().all(|(_, result)| result.is_ok());
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn section(lines: &[Line], jobs: &Jobs, took: &str) -> String {
    let (rows, failures): (Vec<_>, Vec<_>) = lines.iter().partition(|(_, result)| result.is_ok());
    let of = |lines: &[&Line]| lines.iter().map(|line| report::summary(line) + "\n").collect::<String>();
    let openmpi = machine::said("mpirun.openmpi", &["--version"], "mpirun");
    format!(
        "Written by `benches/one-node`; what is measured how: [aurora bench](../aurora-apps/src/bench/README.md).\n\n\
         - Machine: {}.\n- Open MPI {}, rayon; all implementations of a job in turns on the same data, every byte checked.\n\
         - Commit {}, {}; {took}, {} repetitions unless the command says fewer.\n\
         - Least, middle and most of the repetitions, whose times are the slowest rank's; what is to be reached is the middle.\n\n\
         {}\n{}\n{}## The commands\n\n{}",
        machine::description(),
        openmpi.split_whitespace().last().unwrap_or("unknown"),
        machine::commit(),
        machine::today(),
        jobs.reps,
        report::HEAD,
        of(&rows),
        of(&failures),
        report::commands(jobs),
    )
}

/// The rows that stand beside MPI, in short.
fn short(lines: &[Line]) -> String {
    format!(
        "By `benches/one-node` on {}, {}; Open MPI in the same job, in turns, on the same data, every byte checked. Medians on \
         2 ranks, or as many as it says; beside programs stands the faster of their two forms over MPI. Where a ratio is **bold**, MPI is faster.\n\n{}\n{}\n\n\
         More, with least and most, and the commands: [RESULTS.md](benches/RESULTS.md).\n",
        machine::description(),
        machine::today(),
        report::SHORT_HEAD,
        lines.iter().filter_map(|line| report::short(line, machine::allowed_cores())).collect::<String>().trim_end(),
    )
}

fn say(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_section_takes_the_place_of_its_own_and_no_others() {
        let file = std::env::temp_dir().join(format!("aurora-results-{}", std::process::id()));
        let parts = [("# B", "old\n## b\nold"), ("# A", "a\n## b\n#c\n"), ("# B", "new\n## b\n"), ("# C", "c")];
        for (heading, text) in parts {
            results::write(&file, heading, text).expect("it can be written");
        }
        let text = fs::read_to_string(&file).expect("it can be read");
        fs::remove_file(&file).expect("it is there");
        assert_eq!(text, "# B\n\nnew\n## b\n\n# A\n\na\n## b\n#c\n\n# C\n\nc\n");
    }
}
