//! The fault matrix: the end of a job in which a rank fails, for every fault, place and launcher. Kill points: the
//! remains of a job in which a rank is killed at any moment.
//!
//! This binary is the driver. It starts itself as the job that fails.

mod carried;
mod cell;
mod commit;
mod foreign;
mod job;
mod lent;
mod matrix;
mod mismatch;
mod points;
mod signals;
mod start;
mod touched;
mod walk;

use libtest_mimic::Arguments;
use std::process::ExitCode;
use std::sync::RwLock;

/// The lock of the machine. A test that looks for all remains of a job takes it exclusively.
static MACHINE: RwLock<()> = RwLock::new(());

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1) {
        Some(first) if first == job::ARGUMENT => return job::main(&arguments[2..]),
        Some(first) if first == carried::ARGUMENT => return carried::main(&arguments[2..]),
        Some(first) if first == lent::ARGUMENT => return lent::main(&arguments[2..]),
        Some(first) if first == touched::ARGUMENT => return touched::main(&arguments[2..]),
        Some(first) if first == mismatch::ARGUMENT => return mismatch::main(&arguments[2..]),
        Some(first) if first == walk::ARGUMENT => return walk::main(&arguments[2..]),
        _ => {}
    }
    let mut arguments = Arguments::from_args();
    // A failing job mostly waits for its end, so several run at the same time.
    arguments.test_threads.get_or_insert(4);
    let mut trials = matrix::trials();
    trials.extend(carried::trials());
    trials.extend(signals::trials());
    trials.extend(foreign::trials());
    trials.extend(mismatch::trials());
    trials.extend(points::trials());
    trials.extend(lent::trials());
    trials.extend(touched::trials());
    let listing = arguments.list;
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !listing {
        matrix::print();
    }
    conclusion.exit_code()
}
