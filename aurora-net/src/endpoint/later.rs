//! Actions on a handler that a thread requests from within a call of the same handler. They run after that call.

use crate::{Handler, Outbox};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) type Action<H> = Box<dyn FnOnce(&mut H, &mut Outbox) + Send>;

pub(super) struct Later<H> {
    actions: Mutex<VecDeque<Action<H>>>,
    /// True if there are actions: checked each time the lock is taken.
    any: AtomicBool,
}

impl<H> Default for Later<H> {
    fn default() -> Self {
        Later { actions: Mutex::default(), any: AtomicBool::new(false) }
    }
}

impl<H: Handler> Later<H> {
    /// Adds an action. The calling thread holds the endpoint's lock.
    pub fn add(&self, action: Action<H>) {
        self.actions().push_back(action);
        // Relaxed: the endpoint's lock orders this with the readers.
        self.any.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.any.load(Ordering::Relaxed)
    }

    /// Takes the next action, which the caller runs under the endpoint's lock. If it panics, the others stay queued.
    pub fn next(&self) -> Option<Action<H>> {
        let mut actions = self.actions();
        let next = actions.pop_front();
        self.any.store(!actions.is_empty(), Ordering::Relaxed);
        next
    }

    fn actions(&self) -> MutexGuard<'_, VecDeque<Action<H>>> {
        self.actions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
