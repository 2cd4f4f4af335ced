//! Detects calls of `exit` inside a job.
//!
//! A rank that calls `exit` has failed, whatever the exit code: the other ranks would wait for it. An `atexit` handler
//! then runs the actions armed by this process's jobs and ends the process with code 1. Without an armed action it does
//! nothing.
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. The handler is a function item without captures: it exists as long as the process, and never unwinds into C.
//! 2. `_exit` may be called at any time from any thread: it runs no code of this process.
#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

type Action = Arc<dyn Fn() + Send + Sync>;

/// The armed actions, by number: the only state that the handler can reach.
static ARMED: Mutex<(u64, Vec<(u64, Action)>)> = Mutex::new((0, Vec::new()));

/// Keeps an action armed: the action runs if the process calls `exit` before the guard is dropped.
#[must_use]
#[derive(Debug)]
pub(super) struct ExitGuard(u64);

pub(super) fn guard(action: Action) -> ExitGuard {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: invariant 1.
        let refused = unsafe { libc::atexit(handler) };
        if refused != 0 {
            tracing::warn!("the system takes no exit handler: `exit` inside `run` may go unnoticed");
        }
    });
    let mut armed = armed();
    armed.0 += 1;
    let number = armed.0;
    armed.1.push((number, action));
    ExitGuard(number)
}

impl Drop for ExitGuard {
    fn drop(&mut self) {
        armed().1.retain(|(number, _)| *number != self.0);
    }
}

/// Ends the process at once, without exit handlers, while other threads may still run.
pub(super) fn immediately(code: i32) -> ! {
    // SAFETY: invariant 2.
    unsafe { libc::_exit(code) }
}

fn armed() -> MutexGuard<'static, (u64, Vec<(u64, Action)>)> {
    ARMED.lock().unwrap_or_else(PoisonError::into_inner)
}

extern "C" fn handler() {
    let actions: Vec<Action> = armed().1.iter().map(|(_, action)| action.clone()).collect();
    if actions.is_empty() {
        return;
    }
    for action in actions {
        // A panic here loses the report, but not the exit code.
        let _ = catch_unwind(AssertUnwindSafe(|| action()));
    }
    immediately(1);
}
