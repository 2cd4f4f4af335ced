//! The endpoint's lock, which detects recursive locking.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A mutex that panics instead of deadlocking when its holder locks it again. It ignores poisoning: after a panic the
/// rank is about to fail anyway.
#[derive(Debug)]
pub(crate) struct Lock<T> {
    value: Mutex<T>,
    holder: AtomicUsize,
}

#[derive(Debug)]
pub(crate) struct Locked<'a, T> {
    lock: &'a Lock<T>,
    guard: Option<MutexGuard<'a, T>>,
}

impl<T> Lock<T> {
    pub fn new(value: T) -> Self {
        Lock { value: Mutex::new(value), holder: AtomicUsize::new(NOBODY) }
    }

    pub fn lock(&self) -> Locked<'_, T> {
        assert!(
            !self.is_mine(),
            "an endpoint was called from inside one of its own calls: an operation (`Op`) or the \
             serde implementation of a value must not use shared objects"
        );
        let guard = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        Locked::new(self, guard)
    }

    pub fn is_mine(&self) -> bool {
        // Relaxed: only our own store can be equal, and a thread sees its own stores.
        self.holder.load(Ordering::Relaxed) == this_thread()
    }
}

impl<'a, T> Locked<'a, T> {
    fn new(lock: &'a Lock<T>, guard: MutexGuard<'a, T>) -> Self {
        lock.holder.store(this_thread(), Ordering::Relaxed);
        let guard = Some(guard);
        Locked { lock, guard }
    }

    pub fn wait(mut self, condvar: &Condvar) -> Self {
        let lock = self.lock;
        lock.holder.store(NOBODY, Ordering::Relaxed);
        let guard = self.guard.take().expect("held until dropped");
        let guard = condvar.wait(guard).unwrap_or_else(PoisonError::into_inner);
        Locked::new(lock, guard)
    }
}

impl<T> Drop for Locked<'_, T> {
    fn drop(&mut self) {
        if self.guard.is_some() {
            self.lock.holder.store(NOBODY, Ordering::Relaxed);
        }
    }
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.guard.as_ref().expect("held until dropped")
    }
}

impl<T> DerefMut for Locked<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().expect("held until dropped")
    }
}

const NOBODY: usize = 0;

/// A number unique among living threads.
fn this_thread() -> usize {
    thread_local!(static ANCHOR: u8 = const { 0 });
    ANCHOR.with(|anchor| std::ptr::from_ref(anchor).addr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "from inside one of its own calls")]
    fn locking_twice_panics() {
        let lock = Lock::new(0);
        let _held = lock.lock();
        lock.lock();
    }

    #[test]
    fn a_panic_under_the_lock_leaves_it_usable() {
        let lock = Lock::new(0);
        std::thread::scope(|scope| {
            let panicked = scope.spawn(|| {
                let mut held = lock.lock();
                *held = 1;
                panic!("under the lock");
            });
            assert!(panicked.join().is_err());
        });
        assert_eq!(*lock.lock(), 1);
    }
}
