//! `cargo bench`: operations and programs by Aurora and by MPI, side by side, as criterion measures. See
//! `benches/README.md`.
//!
//! This process is the driver, which starts itself again as the job; what both are made of is
//! `aurora_suite::side_by_side`.

use aurora_suite::side_by_side::case::{Amount, Variant, variants};
use aurora_suite::side_by_side::child::{Failure, LIMITS, Running};
use aurora_suite::side_by_side::job::{self, Line};
use aurora_suite::side_by_side::launch::{JOB, Launch, Skipped};
use criterion::{Criterion, Throughput};
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

/// The second argument of a job whose results shall be wrong.
const DAMAGE: &str = "--damage";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first() {
        Some(first) if first == JOB => run_job(arguments[1..].iter().any(|argument| argument == DAMAGE)),
        _ => drive(),
    }
}

/// On every rank of the job.
fn run_job(damage: bool) -> ExitCode {
    let outcome = aurora_core::run(|world| job::serve(world, world.is_root().then(Line::of_process), damage));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error.to_string()),
    }
}

/// Criterion's side.
fn drive() -> ExitCode {
    // Its arguments go before these.
    let criterion = Criterion::default();
    let (warm_up, measurement) = (Duration::from_millis(300), Duration::from_secs(2));
    let criterion = criterion.sample_size(10).warm_up_time(warm_up).measurement_time(measurement);
    let mut criterion = criterion.configure_from_args();
    let launch = match Launch::detect() {
        Ok(launch) => launch,
        Err(error) => return complain(&error),
    };
    if let Some(why) = launch.skipped() {
        say(&format!("skipped: the variants of MPI, because {why}"));
        // Whoever checks everything wants to know that this was not.
        if matches!(why, Skipped::NotFound(_)) && std::env::var("CI").is_ok_and(|ci| ci == "true") {
            return ExitCode::FAILURE;
        }
    }
    let mut driver = Driver { launch, running: None };
    driver.measure_all(&mut criterion);
    let ended = driver.finish();
    criterion.final_summary();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => complain(&failure.to_string()),
    }
}

/// Starts the job when something is to be measured, which criterion's filter decides.
struct Driver {
    launch: Launch,
    running: Option<Running>,
}

impl Driver {
    fn measure_all(&mut self, criterion: &mut Criterion) {
        let possible = variants(self.launch.ranks).into_iter().filter(|variant| self.launch.has(variant));
        let possible: Vec<Variant> = possible.collect();
        for together in possible.chunk_by(|one, next| one.case.group == next.case.group) {
            let mut group = criterion.benchmark_group(together[0].case.group);
            for variant in together {
                if let Some(amount) = variant.case.amount(variant.ranks) {
                    group.throughput(match amount {
                        Amount::Bytes(bytes) => Throughput::Bytes(bytes as u64),
                        Amount::Elements(elements) => Throughput::Elements(elements as u64),
                    });
                }
                let id = variant.id();
                group.bench_function(self.launch.name(variant), |bencher| {
                    bencher.iter_custom(|iterations| self.measure(&id, iterations));
                });
            }
            group.finish();
        }
    }

    /// Ends everything where there is no time to give: criterion takes nothing else.
    fn measure(&mut self, id: &str, iterations: u64) -> Duration {
        self.try_measure(id, iterations).unwrap_or_else(|failure| {
            self.running = None;
            let _ = complain(&format!("{id}: {failure}"));
            std::process::exit(1)
        })
    }

    fn try_measure(&mut self, id: &str, iterations: u64) -> Result<Duration, Box<Failure>> {
        let running = match &mut self.running {
            Some(running) => running,
            none => {
                let own = std::env::current_exe().expect("Linux knows the file that runs");
                none.insert(Running::start(self.launch.command(&own), self.launch.ranks, LIMITS)?)
            }
        };
        Ok(running.measure(id, iterations)?)
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.running.take().map_or(Ok(()), Running::finish)
    }
}

fn complain(error: &str) -> ExitCode {
    say(&format!("error: {error}"));
    ExitCode::FAILURE
}

fn say(text: &str) {
    // A reader that has gone has heard enough.
    let _ = writeln!(io::stderr(), "{text}");
}
