//! The common part of the models of this folder: loom tries all interleavings of their threads.

#![allow(unsafe_code)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread::{self, JoinHandle};

pub(super) use loom::sync::atomic::AtomicU64 as Modelled;

/// A number that is no atomic: the checker finds accesses that race.
pub(super) struct Plain(UnsafeCell<u64>);

// SAFETY: the checker itself watches every access to the cell.
unsafe impl Sync for Plain {}
// SAFETY: as above.
unsafe impl Send for Plain {}

impl Plain {
    pub(super) fn new(value: u64) -> Self {
        Plain(UnsafeCell::new(value))
    }

    pub(super) fn read(&self) -> u64 {
        // SAFETY: as above.
        self.0.with(|value| unsafe { *value })
    }

    pub(super) fn write(&self, new: u64) {
        // SAFETY: as above.
        self.0.with_mut(|value| unsafe { *value = new });
    }
}

/// Another thread, which shares something with this one.
pub(super) fn beside<S: Send + Sync + 'static, R: 'static>(
    shared: &Arc<S>,
    action: impl FnOnce(&S) -> R + 'static,
) -> JoinHandle<R> {
    let shared = shared.clone();
    thread::spawn(move || action(&shared))
}
