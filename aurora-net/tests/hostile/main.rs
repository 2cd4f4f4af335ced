//! Jobs in hostile surroundings: strangers at their sockets, few descriptors, no files, no `/proc`.
//!
//! This binary is the test driver and, started by itself with a body's name, the job under test.

mod few;
mod flight;
mod strangers;
#[path = "../support/mod.rs"]
mod support;

use aurora_net::bootstrap::{Announced, Launch, Options, VARIABLE, run};
use libtest_mimic::Arguments;
use std::path::Path;
use std::time::Duration;
use support::bodies::{body, print, print_error};

/// The file for which started ranks wait before they join their job.
const GATE: &str = "HOSTILE_GATE";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("body") => body_main(&arguments[2..]),
        _ => driver_main(),
    }
}

fn body_main(arguments: &[String]) {
    let [_marker, size, launcher, name, rest @ ..] = arguments else {
        panic!("body <marker> <size> <launcher> <name> ...");
    };
    let size = size.parse().unwrap();
    let _held = (name == "flight").then(flight::begin);
    let launch = match (std::env::var(VARIABLE), launcher.as_str()) {
        (Ok(ticket), _) => {
            if let Some(gate) = std::env::var_os(GATE) {
                while !Path::new(&gate).exists() {
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
            Launch::Child(ticket)
        }
        (Err(_), "threads") => Launch::Threads(size),
        (Err(_), "mpi") => Launch::Mpi(Announced { size: Some(size), ..Announced::default() }),
        (Err(_), _) => Launch::Processes(size),
    };
    let name = if name == "flight" { "share" } else { name };
    match run(launch, Options::default(), |seat| body(&seat, name, rest)) {
        Ok(text) => print(&text),
        Err(failure) => {
            print_error(&format!("error: {failure}"));
            std::process::exit(1);
        }
    }
}

fn driver_main() {
    let mut arguments = Arguments::from_args();
    // They mostly wait.
    arguments.test_threads = Some(3);
    let trials = [strangers::trials(), few::trials(), flight::trials()].into_iter().flatten().collect();
    libtest_mimic::run(&arguments, trials).exit();
}
