//! The faults of the failing rank.

use crate::cell::Fault;
use aurora_core::prelude::*;
use rustix::process::{Signal, getpid, kill_process};
use std::time::Duration;

/// Fails at once, on the thread of the rank.
pub fn now(fault: Fault) -> Result<()> {
    match fault {
        Fault::Error => Err(Error::user("out of tea")),
        Fault::Panic => panic!("out of cheese"),
        _ => {
            die(fault);
            Ok(())
        }
    }
}

/// Fails after a while, if this is possible while the rank's own thread waits. True if it will fail.
pub fn soon(fault: Fault, after: Duration) -> bool {
    let suits = !matches!(fault, Fault::Error | Fault::Panic);
    if suits {
        std::thread::spawn(move || {
            std::thread::sleep(after);
            die(fault);
        });
    }
    suits
}

fn die(fault: Fault) {
    aurora_suite::notes::note_fault();
    match fault {
        Fault::Exit0 => std::process::exit(0),
        Fault::Exit3 => std::process::exit(3),
        Fault::Kill => signal(Signal::KILL),
        Fault::Stop => signal(Signal::STOP),
        Fault::Error | Fault::Panic => unreachable!("the rank's own thread does that"),
    }
    // A stopped process that is continued later arrives here, after its job has ended.
}

fn signal(signal: Signal) {
    kill_process(getpid(), signal).expect("a signal to oneself");
}
