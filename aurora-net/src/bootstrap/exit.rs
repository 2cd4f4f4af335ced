//! `exit` inside a job, noticed.
//!
//! A rank that leaves by `exit`, with whatever code, has failed: the others would wait for it. The C library runs an
//! `atexit` handler of ours then; it runs the actions that jobs of this process have armed and ends the process with
//! code 1. Without an armed action it does nothing.
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. The handler is a function item without captures: it lives as long as the process, and never unwinds into C.
//! 2. `_exit` may be called at any time from any thread: it runs no code of this process.
#![allow(unsafe_code)]

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

type Action = Arc<dyn Fn() + Send + Sync>;

/// The armed actions, by number: the one piece of state that the handler can reach.
static ARMED: Mutex<(u64, Vec<(u64, Action)>)> = Mutex::new((0, Vec::new()));

/// An action that runs if the process calls `exit` before this is dropped.
#[must_use]
pub(super) struct ExitGuard(u64);

impl fmt::Debug for ExitGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExitGuard").field(&self.0).finish()
    }
}

/// Arms `action`: it reports the failure; the process then ends with code 1.
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

/// Ends the process at once, without running exit handlers, while other threads still work.
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
        // What it had to say is lost; the exit code is not.
        let _ = catch_unwind(AssertUnwindSafe(|| action()));
    }
    immediately(1);
}
