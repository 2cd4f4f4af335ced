//! A guard of the program: the common part of the guards of all objects, and their end.

use super::{Shared, SharedObject};
use crate::error::Result;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

/// A guard that is registered with the kernel, from [`Cx::open_guard`](super::Cx::open_guard) to
/// [`Cx::close_guard`](super::Cx::close_guard).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    pub(crate) id: u64,
    /// Opened while the thread was already unwinding: that panic does not concern this guard.
    amid_panic: bool,
}

impl Guard {
    /// On the thread that opens it.
    pub(crate) fn new(id: u64) -> Self {
        Guard { id, amid_panic: thread::panicking() }
    }

    /// True if a panic that began after the opening ends this guard.
    pub(crate) fn is_broken_off(self) -> bool {
        thread::panicking() && !self.amid_panic
    }
}

impl<O: SharedObject> Shared<O> {
    /// Ends a guard; `None`: it has ended. `close` sends the buffers, and puts the loans into its second argument. Its
    /// first argument is true if a panic has broken off the guard; then it sends nothing and gives the loans back
    /// itself. `ended` gives the loans to the object as soon as the guard is deregistered.
    pub(crate) fn end_guard<L: Default + Send + 'static>(
        &self,
        guard: Option<Guard>,
        close: impl FnOnce(bool, &mut L) -> Result<()>,
        ended: impl FnOnce(&mut O, L) + Send + 'static,
    ) -> Result<()> {
        let Some(guard) = guard else {
            return Ok(());
        };
        let mut loans = L::default();
        let deregister = |panicked, loans| {
            self.let_go(move |object, cx| {
                cx.close_guard(guard, panicked);
                ended(object, loans);
            });
        };
        if guard.is_broken_off() {
            // First, because the daemon serves lent memory as soon as it is back.
            deregister(true, L::default());
            return close(true, &mut loans);
        }
        let closed = catch_unwind(AssertUnwindSafe(|| close(false, &mut loans)));
        // Code of the user may have panicked: an operation on this rank's own part, or a type's `Serialize`.
        deregister(closed.is_err(), loans);
        match closed {
            Ok(outcome) => outcome,
            // The guard is dropped by an unwinding thread: only the first panic continues.
            Err(_) if thread::panicking() => Ok(()),
            Err(panic) => resume_unwind(panic),
        }
    }
}
