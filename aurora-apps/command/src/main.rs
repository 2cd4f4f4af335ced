//! The `aurora` command: runs, verifies and measures the applications.
//!
//! Under self-started processes and under mpirun every rank runs this code; only one rank prints messages.

mod arguments;
mod bench;
mod check;
mod cholesky;
mod definition;
mod examples;
mod farm;
mod implementation;
mod info;
mod launch;
mod launches;
mod memory;
mod model;
#[cfg(test)]
mod page;
mod program;
mod progress;
mod refusal;
mod report;
mod run;
mod simulate;
mod sparse_mm;
mod table;

use arguments::{Arguments, Command, WorldArguments};
use aurora_apps::report::Measured;
use aurora_apps::report::circumstances::{Circumstances, WithCircumstances};
use aurora_apps::report::label::{Label, Labels};
use aurora_core::LaunchInfo;
use aurora_core::prelude::*;
use clap::error::ErrorKind;
use clap::{ArgMatches, FromArgMatches};
use definition::definition;
use launch::speaks;
use progress::Progress;
use refusal::{Reason, Refusal};
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;
use table::Table;

/// The exit code if the result is wrong, or the job failed.
const FAILED: u8 = 1;
/// The exit code if a variable has an impossible value, as for a wrong argument.
const BAD_SETTING: u8 = 2;

fn main() -> ExitCode {
    let starter = LaunchInfo::detect();
    let mut matches = match definition().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return refuse(&error, starter),
    };
    let called = called(&matches);
    let arguments = match Arguments::from_arg_matches_mut(&mut matches) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error.format(&mut definition()), starter),
    };
    let outcome = match &arguments.command {
        Command::Mm2(arguments) => program::start(arguments),
        Command::Psrs(arguments) => program::start(arguments),
        Command::Histogram(arguments) => program::start(arguments),
        Command::Wordcount(arguments) => program::start(arguments),
        Command::Indexgather(arguments) => program::start(arguments),
        Command::Diffusion(arguments) => program::start(arguments),
        Command::Sor(arguments) => program::start(arguments),
        Command::SparseMm(arguments) => program::start(arguments),
        Command::Cholesky(arguments) => program::start(arguments),
        Command::Tsp(arguments) => program::start(arguments),
        Command::Farm(arguments) => farm::start(arguments),
        Command::Bench(arguments) => bench::start(arguments, starter),
        Command::Info(world) => prepare(world).map(info::show),
        Command::Run(arguments) => arguments.check().map(|()| run::start(arguments)),
        Command::Check(arguments) => arguments.run.check().map(|()| check::show(arguments, starter)),
        Command::Completions(arguments) => Ok(complete(arguments.shell)),
        Command::Report(arguments) => Ok(report::write(arguments, starter)),
        Command::Model(arguments) => model::show(arguments, starter),
        Command::Simulate(arguments) => simulate::start(arguments, starter),
    };
    outcome.unwrap_or_else(|refusal| {
        let mut command = definition();
        // This tells each command the words that call it.
        command.build();
        let command =
            called.iter().fold(&mut command, |command, name| command.find_subcommand_mut(name).expect("it was called"));
        refuse(&command.error(ErrorKind::ValueValidation, refusal), starter)
    })
}

/// Returns the words that called a command: `bench`, `put`.
fn called(matches: &ArgMatches) -> Vec<String> {
    let mut names = Vec::new();
    let mut matches = matches;
    while let Some((name, inner)) = matches.subcommand() {
        names.push(name.to_string());
        matches = inner;
    }
    names
}

fn complete(shell: clap_complete::Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut definition(), "aurora", &mut script);
    say(&String::from_utf8_lossy(&script)).err().unwrap_or(ExitCode::SUCCESS)
}

/// Reports wrong arguments (exit code 2), or prints the requested help, on one rank only.
fn refuse(error: &clap::Error, starter: LaunchInfo) -> ExitCode {
    if speaks(starter) {
        // Nothing can be done about a closed terminal.
        let _ = error.print();
    } else {
        after_the_speaker();
    }
    ExitCode::from(error.exit_code() as u8)
}

/// The inputs of a job before it begins.
struct Start {
    config: Config,
    circumstances: Circumstances,
    json: bool,
    starter: LaunchInfo,
}

fn prepare(world: &WorldArguments) -> Result<Start, Refusal> {
    let config = launch::config(world)?;
    let starter = config.launch_info();
    let circumstances = circumstances(labelled(&world.labels)?, matches!(starter, LaunchInfo::Step { .. }));
    Ok(Start { config, circumstances, json: world.json, starter })
}

/// Returns the circumstances of this process, with the commit of this build.
fn circumstances(labels: Labels, under_launcher: bool) -> Circumstances {
    let commit = git_version::git_version!(args = ["--always", "--dirty=-modified", "--abbrev=12"], fallback = "");
    Circumstances::here(commit, labels, under_launcher)
}

/// Returns the labels, and refuses a repeated key.
fn labelled(labels: &[Label]) -> Result<Labels, Refusal> {
    Labels::of(labels.iter().cloned()).map_err(|bad| {
        let value = labels.iter().map(|label| format!("{}={}", label.key, label.value)).collect::<Vec<_>>();
        Refusal { argument: "--label <KEY=VALUE>", value: Some(value.join(", ")), reason: Reason::Label(bad) }
    })
}

/// Runs a program or an operation and prints its report.
fn measure<R: Measured + Serialize + Send>(
    start: Start,
    reps: usize,
    app: impl Fn(&World, &mut dyn FnMut(usize)) -> Result<R> + Sync,
) -> ExitCode
where
    for<'r> Table<'r, R>: Display,
{
    let Start { config, circumstances, json, starter } = start;
    let outcome = config.run(|world| {
        let mut progress = Progress::new(reps, world.is_root() && !json);
        let report = app(world, &mut |done| progress.done(done))?;
        Ok((world.is_root(), report))
    });
    let (is_root, report) = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return fail(&error, starter),
    };
    if is_root {
        let text = if json { line(&circumstances, &report) } else { Table(&report).to_string() };
        if let Err(code) = say(&text) {
            return code;
        }
    }
    if report.verified() {
        return ExitCode::SUCCESS;
    }
    if !is_root {
        after_the_speaker();
    }
    ExitCode::from(FAILED)
}

/// Returns a report as one JSON object, with its circumstances.
fn line(circumstances: &Circumstances, report: &impl Serialize) -> String {
    let report = WithCircumstances { circumstances, report };
    serde_json::to_string(&report).map_or_else(|error| error.to_string(), |json| json + "\n")
}

/// Waits, so that the rank that has a message can print it first: a launcher ends all ranks when the first rank has
/// failed.
fn after_the_speaker() {
    std::thread::sleep(Duration::from_millis(300));
}

/// Prints a result.
///
/// # Errors
/// The exit code if the output is lost, for example because the disk is full; the error has then been reported. A
/// closed pipe is no error, because its reader needs no more.
fn say(text: &str) -> Result<(), ExitCode> {
    is_heard(text).map(|_| ())
}

/// Prints a result. Returns whether the output still has a reader.
fn is_heard(text: &str) -> Result<bool, ExitCode> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(format_args!("the results cannot be written to standard output: {error}"));
            Err(ExitCode::from(FAILED))
        }
        written => Ok(written.is_ok()),
    }
}

/// Prints an error in one write: a launcher may insert other ranks' output between two writes.
fn complain(error: impl Display) {
    // Nothing can be done about a closed terminal.
    let _ = io::stderr().write_all(format!("error: {error}\n").as_bytes());
}

/// Reports a failed job. An error that every rank finds in its environment is reported by one rank only.
fn fail(error: &Error, starter: LaunchInfo) -> ExitCode {
    let common = matches!(error, Error::BadSetting { .. } | Error::UnknownVariable { .. });
    let code = if common { BAD_SETTING } else { FAILED };
    let common = common || !cfg!(feature = "mpi");
    // A rank that another process has started gets here only if it could not join the job.
    if speaks(starter) || !common || starter == LaunchInfo::Rank {
        complain(error);
    } else {
        after_the_speaker();
    }
    ExitCode::from(code)
}
