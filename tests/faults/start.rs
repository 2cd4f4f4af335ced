//! Starts a job that must fail.

use crate::cell::{Fault, Place, RANKS, Starter};
use crate::job;
use aurora_suite::driver::Job;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Starts a job of `RANKS` ranks.
pub fn job(starter: Starter, fault: &str, place: Place, rank: usize) -> Result<Job, String> {
    let mut command = launcher(starter, RANKS)?;
    command.args([job::ARGUMENT, word(starter), fault, place.name(), &rank.to_string()]);
    if fault == Fault::Stop.name() {
        // Longer than a busy machine keeps the other ranks from a processor.
        command.env("AURORA_SILENCE", "3");
    }
    Job::start(command)
}

/// The command that starts a job, up to the program.
pub fn launcher(starter: Starter, ranks: usize) -> Result<Command, String> {
    let myself = std::env::current_exe().map_err(|error| error.to_string())?;
    match starter {
        Starter::Threads | Starter::Processes => {
            // A script's background jobs, and processes that they start, ignore Ctrl-C.
            let mut command = Command::new("env");
            command.arg("--default-signal=INT").arg(myself);
            Ok(command)
        }
        Starter::Mpi(flavour) => {
            let mut command = flavour.launcher(ranks)?;
            command.arg(myself);
            Ok(command)
        }
    }
}

/// The argument that tells the job its launcher. It is the same for each MPI.
pub fn word(starter: Starter) -> &'static str {
    match starter {
        Starter::Threads => "threads",
        Starter::Processes => "processes",
        Starter::Mpi(_) => "mpi",
    }
}

/// Waits until all ranks have reached the place.
pub fn wait_for_ranks(job: &mut Job) -> Result<(), String> {
    let names: Vec<String> = (0..RANKS).map(|rank| format!("pid-{rank}")).collect();
    job.wait_for_notes(&names)?;
    thread::sleep(Duration::from_millis(100));
    Ok(())
}
