//! `cargo bench`: operations and programs by Aurora and by MPI, side by side, as criterion measures. See
//! `benches/README.md`.
//!
//! The process that cargo starts becomes a job of several ranks. The job's parts are in `aurora_suite::side_by_side`.

use aurora_core::prelude::*;
use aurora_suite::side_by_side::case::{Amount, Variant};
use aurora_suite::side_by_side::job::Job;
use aurora_suite::side_by_side::launch::{DAMAGED, JOB, Launch, Skipped};
use aurora_suite::side_by_side::watch::Watch;
use criterion::{Criterion, Throughput};
use std::io::{self, IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let outcome = match std::env::var(JOB) {
        Ok(word) => aurora_core::run(|world| {
            let job = Job::new(world, word == DAMAGED);
            if world.is_root() { drive(world.size(), job) } else { job.serve() }
        })
        .map_err(|error| error.to_string()),
        Err(_) => start(),
    };
    outcome.map_or_else(|error| complain(&error), |()| ExitCode::SUCCESS)
}

/// Replaces this process by the job. Returns only with an error.
fn start() -> Result<(), String> {
    let launch = Launch::detect()?;
    if let Err(Skipped { why, is_missing }) = &launch.mpirun {
        say(&format!("skipped: the variants of MPI, because {why}"));
        // A run in CI must check everything: a missing mpirun is an error.
        if *is_missing && std::env::var("CI").is_ok_and(|ci| ci == "true") {
            return Err("CI=true, and not all can be measured".into());
        }
    }
    let own = std::env::current_exe().expect("Linux knows the file that runs");
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.iter().any(|argument| argument.starts_with("--color") || argument.starts_with("-c")) {
        // A rank cannot see whether the output goes to a terminal: Open MPI gives each rank a terminal of its own.
        arguments.push(format!("--color={}", if io::stdout().is_terminal() { "always" } else { "never" }));
    }
    let mut command = launch.command(&own, arguments);
    let error = command.exec();
    Err(format!("the job cannot be started: {}: {error}", command.get_program().to_string_lossy()))
}

/// Runs criterion on rank 0. Criterion's filter selects the variants.
fn drive(ranks: usize, mut job: Job<'_>) -> Result<()> {
    // Criterion's arguments override these values.
    let (warm_up, measurement) = (Duration::from_millis(300), Duration::from_secs(2));
    let criterion = Criterion::default().sample_size(10).warm_up_time(warm_up).measurement_time(measurement);
    let mut criterion = criterion.configure_from_args();
    let watch = Watch::start();
    let known: Vec<(usize, Variant)> = job.known.iter().cloned().enumerate().collect();
    for together in known.chunk_by(|(_, one), (_, next)| one.group == next.group) {
        let mut group = criterion.benchmark_group(together[0].1.group);
        for (number, variant) in together {
            if let Some(amount) = variant.work.amount(ranks) {
                group.throughput(match amount {
                    Amount::Bytes(bytes) => Throughput::Bytes(bytes as u64),
                    Amount::Elements(elements) => Throughput::Elements(elements as u64),
                });
            }
            group.bench_function(&variant.name, |bencher| {
                bencher.iter_custom(|iterations| {
                    watch.sees(Some(&variant.id()));
                    let took = job.measure(*number, iterations, &mut || watch.sign());
                    watch.sees(None);
                    // Criterion accepts only a time, so an error ends the process.
                    took.unwrap_or_else(|error| {
                        let _ = complain(&format!("{}: {error}", variant.id()));
                        std::process::exit(1)
                    })
                });
            });
        }
        group.finish();
    }
    criterion.final_summary();
    watch.sees(Some("the end of the job"));
    job.finish()
}

fn complain(error: &str) -> ExitCode {
    say(&format!("error: {error}"));
    ExitCode::FAILURE
}

fn say(text: &str) {
    // An error is ignored: the reader of stderr has ended.
    let _ = writeln!(io::stderr(), "{text}");
}
