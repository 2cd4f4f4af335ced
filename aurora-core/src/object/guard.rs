//! A guard of the program: the common part of the guards of all objects, and their end.

use super::{Cx, Shared, SharedObject};
use crate::window::Window;
use crate::{Result, Site};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

/// A guard of a rank's program: while it lives, the program uses the object in a certain way.
///
/// The kernel knows the open guards of each object. It reports a guard that was forgotten (`Leaked`): at the next use
/// that the guard forbids, as soon as another rank waits for the guard's end, or at the end of `run`. A guard that a
/// panic ends makes the object faulty (`Poisoned`). Both errors have the guard's line.
///
/// A type that derefs to data of the object holds a `Guard`. Its `Drop` gives the data back by [`end`](Guard::end).
#[must_use = "a guard ends when it is dropped"]
pub struct Guard<'s, O: SharedObject> {
    shared: &'s Shared<O>,
    /// `None` after its end.
    id: Option<GuardId>,
    behaviour: &'static str,
    site: Site,
}

impl<O: SharedObject> Guard<'_, O> {
    /// The handle of the object.
    pub fn shared(&self) -> &Shared<O> {
        self.shared
    }

    /// The line that has opened the guard.
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// Returns true if a panic that has begun after the opening ends this guard: data that it has may be half changed.
    pub fn is_broken_off(&self) -> bool {
        self.id.is_some_and(GuardId::is_broken_off)
    }

    /// Ends the guard: `give_back` puts the data of the guard back into this rank's part of the object. Inside a call
    /// of this rank that happens when the call has ended. The action must not use shared objects.
    pub fn end(self, give_back: impl FnOnce(&mut O, &mut Cx<'_>) + Send + 'static) {
        let panicked = self.is_broken_off();
        self.close(panicked, give_back);
    }

    /// Ends the guard, by a panic if `panicked`.
    pub(crate) fn close(mut self, panicked: bool, give_back: impl FnOnce(&mut O, &mut Cx<'_>) + Send + 'static) {
        self.close_once(panicked, give_back);
    }

    fn close_once(&mut self, panicked: bool, give_back: impl FnOnce(&mut O, &mut Cx<'_>) + Send + 'static) {
        if let Some(id) = self.id.take() {
            self.shared.let_go(move |object, cx| {
                cx.close_guard(id, panicked);
                give_back(object, cx);
                object.guard_ended();
            });
        }
    }
}

impl<O: SharedObject> Drop for Guard<'_, O> {
    fn drop(&mut self) {
        self.close_once(self.is_broken_off(), |_, _| ());
    }
}

impl<O: SharedObject> fmt::Debug for Guard<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {:?}, opened at {}", self.behaviour, self.shared, self.site)
    }
}

/// A guard that is registered with the kernel, from [`Cx::open_guard`] to [`Cx::close_guard`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuardId {
    pub(crate) id: u64,
    /// Opened while the thread was already unwinding: that panic does not concern this guard.
    amid_panic: bool,
}

impl GuardId {
    /// On the thread that opens it.
    pub(crate) fn new(id: u64) -> Self {
        GuardId { id, amid_panic: thread::panicking() }
    }

    /// True if a panic that began after the opening ends this guard.
    pub(crate) fn is_broken_off(self) -> bool {
        thread::panicking() && !self.amid_panic
    }
}

impl<O: SharedObject> Shared<O> {
    /// Opens a guard of this rank alone, named `behaviour` in errors. `mutable`: it borrows the object mutably. While a
    /// guard is in scope, the borrow checker has to prevent the uses that it forbids: any use if it is `mutable`, and
    /// writes. Other calls check it by [`Cx::usable`]. An object with collective scopes uses [`lend`](Shared::lend).
    ///
    /// # Errors
    /// `Leaked`, if a forgotten guard forbids this one; the error that ended the object or the job.
    #[track_caller]
    pub fn guard(&self, behaviour: &'static str, mutable: bool) -> Result<Guard<'_, O>> {
        let site = Site::here();
        self.on(&site, |_, cx| cx.usable(mutable))?;
        Ok(self.open_guard((behaviour, &site), mutable))
    }

    /// Registers a guard that may be opened now.
    pub(crate) fn open_guard(&self, (behaviour, site): (&'static str, &Site), mutable: bool) -> Guard<'_, O> {
        let id = self.tidy(|_, cx| cx.open_guard((behaviour, site), (mutable, false), Window::WHOLE));
        Guard { shared: self, id: Some(id), behaviour, site: site.clone() }
    }

    /// Ends a guard; `None`: it has ended. `close` sends the buffers, and puts the loans into its second argument. Its
    /// first argument is true if a panic has broken off the guard; then it sends nothing and gives the loans back
    /// itself. `ended` gives the loans to the object as soon as the guard is deregistered.
    pub(crate) fn end_guard<L: Default + Send + 'static>(
        &self,
        guard: Option<GuardId>,
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
