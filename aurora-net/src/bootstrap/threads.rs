//! Ranks that are threads of this process: for tests, examples and debuggers.
//!
//! Rank 0 is the calling thread. A failure cannot end a thread from outside: the other ranks learn of it at their next
//! call, and the job returns when all have returned. `exit` ends the process with a message and code 1.

use super::control_client::{ControlClient, Notices};
use super::coordinator::{Coordinator, Report};
use super::seat::{Job, Seat, exited, run_body};
use super::{Failure, Launcher, Options, address_here, exit, new_key};

use crate::{Error, Rank};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The stack size of a main thread, so that all ranks have equal stacks.
const STACK: usize = 8 << 20;

pub(super) fn run<R: Send>(
    size: usize,
    options: &Options,
    body: impl Fn(Seat) -> Result<R, Failure> + Sync,
) -> Result<R, Failure> {
    let control = Arc::new(Control {
        coordinator: Mutex::new(Coordinator::new(size)),
        notices: (0..size).map(|_| Arc::default()).collect(),
    });
    let key = new_key()?;
    let address = address_here(options)?;
    let rank_body = |rank: Rank| {
        let job = Job { rank, size, machines: vec![Rank::new(0)], launcher: Launcher::Threads, key, address };
        run_body(job, Rc::new(control.client(rank)), &body)
    };
    let _guard = exit::guard(Arc::new(|| exited(Rank::new(0)).print()));
    let outcome = thread::scope(|scope| {
        let mut others = Vec::new();
        for rank in (1..size).map(Rank::new) {
            let started = thread::Builder::new()
                .name(format!("aurora-rank-{}", rank.index()))
                .stack_size(STACK)
                // The value of this rank is not returned; only its failure matters.
                .spawn_scoped(scope, move || drop(rank_body(rank)));
            match started {
                Ok(thread) => others.push(thread),
                Err(error) => {
                    let failure = Failure::of(rank, Error::starting("start its thread")(error));
                    control.report(rank, Report::Failed(failure.clone()));
                    return Err(failure);
                }
            }
        }
        let outcome = rank_body(Rank::new(0));
        for thread in others {
            // The end of the scope waits only for the closures; this waits for the threads.
            thread.join().expect("a rank's panics are caught");
        }
        outcome
    });
    match control.failure() {
        Some(failure) => Err(failure),
        None => outcome,
    }
}

struct Control {
    coordinator: Mutex<Coordinator>,
    notices: Vec<Arc<Notices>>,
}

impl Control {
    fn report(&self, from: Rank, report: Report) {
        let notices = self.lock().handle(from, report);
        // Handled outside the lock: a failure callback may take a while.
        for (to, notice) in notices {
            self.notices[to.index()].handle(notice);
        }
    }

    fn failure(&self) -> Option<Failure> {
        self.lock().failure().cloned()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Coordinator> {
        self.coordinator.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn client(self: &Arc<Self>, rank: Rank) -> ControlClient {
        let control = self.clone();
        ControlClient {
            notices: self.notices[rank.index()].clone(),
            reporter: Arc::new(move |report| control.report(rank, report)),
        }
    }
}
