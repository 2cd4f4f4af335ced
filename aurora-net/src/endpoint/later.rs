//! What a thread asks of its handler inside of a call of the same handler: it is done when that call is over.

use crate::{Handler, Outbox};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Something to do with a handler, once.
pub(super) type Action<H> = Box<dyn FnOnce(&mut H, &mut Outbox) + Send>;

/// Actions that wait, in the order in which they were asked for.
pub(super) struct Later<H> {
    actions: Mutex<VecDeque<Action<H>>>,
    /// Whether there are any, for who looks at each call.
    any: AtomicBool,
}

impl<H> Default for Later<H> {
    fn default() -> Self {
        Later { actions: Mutex::default(), any: AtomicBool::new(false) }
    }
}

impl<H: Handler> Later<H> {
    /// Adds one: by the thread that holds the endpoint's lock.
    pub fn add(&self, action: Action<H>) {
        self.actions().push_back(action);
        // Relaxed: the endpoint's lock effects this with who looks.
        self.any.store(true, Ordering::Relaxed);
    }

    /// The next one, which is the caller's to do: under the endpoint's lock. Those behind it stay, also if it panics.
    #[inline]
    pub fn next(&self) -> Option<Action<H>> {
        if self.any.load(Ordering::Relaxed) { self.pop() } else { None }
    }

    #[cold]
    fn pop(&self) -> Option<Action<H>> {
        let mut actions = self.actions();
        let next = actions.pop_front();
        self.any.store(!actions.is_empty(), Ordering::Relaxed);
        next
    }

    fn actions(&self) -> MutexGuard<'_, VecDeque<Action<H>>> {
        self.actions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
