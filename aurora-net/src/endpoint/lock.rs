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
    // Dropped first: the next holder stores its own number.
    holder: Holder<'a>,
    guard: MutexGuard<'a, T>,
}

/// The present holder's number, until it is dropped.
#[derive(Debug)]
struct Holder<'a>(&'a AtomicUsize);

impl Drop for Holder<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.store(NOBODY, Ordering::Relaxed);
    }
}

impl<T> Lock<T> {
    pub fn new(value: T) -> Self {
        Lock { value: Mutex::new(value), holder: AtomicUsize::new(NOBODY) }
    }

    #[inline]
    pub fn lock(&self) -> Locked<'_, T> {
        if self.is_mine() {
            locked_twice();
        }
        Locked::new(&self.holder, self.value.lock().unwrap_or_else(PoisonError::into_inner))
    }

    #[inline]
    pub fn is_mine(&self) -> bool {
        // Relaxed: only our own store can be equal, and a thread sees its own stores.
        self.holder.load(Ordering::Relaxed) == this_thread()
    }
}

#[cold]
fn locked_twice() -> ! {
    panic!(
        "an endpoint was called from inside one of its own calls: an operation (`Op`) or the \
         serde implementation of a value must not use shared objects"
    )
}

impl<'a, T> Locked<'a, T> {
    #[inline]
    fn new(holder: &'a AtomicUsize, guard: MutexGuard<'a, T>) -> Self {
        holder.store(this_thread(), Ordering::Relaxed);
        Locked { holder: Holder(holder), guard }
    }

    pub fn wait(self, condvar: &Condvar) -> Self {
        let Locked { holder, guard } = self;
        let number = holder.0;
        drop(holder);
        Locked::new(number, condvar.wait(guard).unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Locked<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

const NOBODY: usize = 0;

/// A number unique among living threads.
#[inline]
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
