//! The emulated cluster: operations of all ranks with packet loss, and the end of a job when a node fails.
//!
//! This binary is the driver. mpirun starts it on every node of a lab as the job.

mod apart;
mod bulk;
mod cut;
mod damage;
mod killed;
mod late;
mod place;
mod scenario;
mod stopped;

use aurora_suite::Body;
use aurora_suite::{harness, netlab};
use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1) {
        Some(first) if first == scenario::ARGUMENT => scenario::job(&arguments[2..]),
        _ => harness::run(bodies, trials),
    }
}

fn bodies() -> Vec<Body> {
    bulk::bodies().into_iter().chain(apart::bodies()).collect()
}

fn trials(bodies: &'static [Body], arguments: &Arguments) -> Vec<Trial> {
    let flavour = match netlab::flavour(place::NODES) {
        Ok(flavour) => flavour,
        Err(reason) => return vec![harness::missing("lab/all", reason)],
    };
    let mut trials = Vec::new();
    for place in place::all(flavour) {
        trials.extend(harness::trials_of(place, bodies, arguments));
    }
    trials.extend(damage::trials(flavour));
    trials.extend(late::trials(flavour));
    trials.extend(cut::trials(flavour));
    trials.extend(stopped::trials(flavour));
    trials.extend(killed::trials(flavour));
    trials.extend(apart::trials(flavour));
    trials
}
