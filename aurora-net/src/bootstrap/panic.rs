//! Turns a panic inside a job's body into a failure.

use super::Failure;
use crate::Rank;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// True if this thread runs a body whose panics become failures.
    static CAPTURING: Cell<bool> = const { Cell::new(false) };
    /// The source position of this thread's last captured panic.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `body` and turns a panic into a failure of `rank`. The panic is not printed here, since it will be reported
/// with the failure; with `RUST_BACKTRACE` set it is printed as usual, for the backtrace.
///
/// # Errors
/// The failure, if `body` panics.
pub fn capture<R>(rank: Rank, body: impl FnOnce() -> R) -> Result<R, Failure> {
    install_hook();
    let nested = CAPTURING.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(body));
    CAPTURING.set(nested);
    outcome.map_err(|payload| failure(rank, &*payload))
}

/// Separate from `capture`, which is compiled once for each body.
#[cold]
fn failure(rank: Rank, payload: &(dyn Any + Send)) -> Failure {
    Failure { at: PLACE.take(), ..Failure::of(rank, format_args!("panicked: {}", message(payload))) }
}

fn message(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("with a value that is no text")
}

fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // Thread-locals may be gone while a thread ends.
            let capturing = CAPTURING.try_with(Cell::get).unwrap_or(false);
            if capturing {
                PLACE.set(info.location().map(ToString::to_string));
            }
            let backtrace = std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
            if !capturing || backtrace {
                previous(info);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_failure_with_text_and_place() {
        let failure = capture(Rank::new(3), || -> () { panic!("no {}", "tea") }).unwrap_err();
        assert_eq!(failure.cause, "panicked: no tea");
        assert!(failure.at.unwrap().contains("src/bootstrap/panic.rs:"));
        assert_eq!(capture(Rank::new(3), || 7), Ok(7));
    }
}
