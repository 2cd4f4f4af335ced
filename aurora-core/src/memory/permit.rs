//! The accesses that the calling thread of a rank may make to an object without asking its kernel: one number, which
//! every access reads first. The kernel writes it under its lock. To watch accesses (see [`polls`](crate::polls)) at no
//! cost to other accesses, the bits of watched accesses are moved *aside* in this number. Then the fast paths refuse,
//! and the slow paths read the bits there.

use crate::ids::Epoch;
use crate::polls::Level;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// This rank's block may be read where it was made.
pub(crate) const OWN: u64 = 1;
/// Elements may be read, if their latches admit it.
pub(crate) const READ: u64 = 2;
/// Elements may be written, if their latches admit it.
pub(crate) const WRITE: u64 = 4;
const MAY: u64 = OWN | READ | WRITE;
/// Bits that are aside stand this much higher.
const ASIDE: u32 = 3;
/// Reads are watched.
const READS: u64 = 1 << 6;
/// Writes are watched.
const WRITES: u64 = 1 << 7;
/// The number of scopes stands above all of these.
pub(super) const SCOPES: u32 = 8;

/// Changed under the kernel's lock, except by [`Permit::wake`].
#[derive(Debug, Default)]
pub(crate) struct Permit {
    /// The number of scopes that this rank has entered and completed; in the lower bits the allowed accesses, those
    /// that are aside, and those that are watched.
    ready: AtomicU64,
    /// The last load among these scopes.
    load: AtomicU64,
    /// The calling thread has written to memory that no other rank shares.
    written: AtomicBool,
}

impl Permit {
    pub(crate) fn close(&self) {
        self.store(0, 0);
    }

    /// Allows the flags `may` from now on, after `epoch` scopes of which `load` is the last load.
    pub(crate) fn set(&self, epoch: Epoch, load: Epoch, may: u64) {
        self.load.store(load, Ordering::Relaxed);
        self.store(epoch, may);
    }

    /// Under the kernel's lock. The calling thread may call `wake` meanwhile, and may have to repeat it.
    fn store(&self, epoch: Epoch, may: u64) {
        self.ready.store(arrange(self.ready.load(Ordering::Relaxed), epoch, may), Ordering::Release);
    }

    /// The whole number: in its lowest bits the accesses allowed at once, from bit [`SCOPES`] on the number of scopes.
    #[inline(always)]
    pub(super) fn word(&self) -> u64 {
        self.ready.load(Ordering::Acquire)
    }

    /// The allowed accesses, at once or aside, and the number of scopes.
    #[inline]
    pub(super) fn allowed(&self) -> (u64, Epoch) {
        let ready = self.word();
        (allowed(ready), ready >> SCOPES)
    }

    /// Moves reads and writes aside from now on: the slow paths find the allowed accesses by [`Permit::allowed`].
    pub(crate) fn watch(&self) {
        self.replace(|ready| Some(arrange(ready | READS | WRITES, ready >> SCOPES, allowed(ready))));
    }

    /// Moves back the accesses that this level does not watch. Keeps concurrent changes by the kernel. False: nothing
    /// was aside.
    pub(crate) fn wake(&self, level: Level) -> bool {
        let over = match level {
            Level::Nothing => READS | WRITES,
            Level::Writes => READS,
            Level::All => 0,
        };
        self.replace(|ready| (ready & over != 0).then(|| arrange(ready & !over, ready >> SCOPES, allowed(ready))))
    }

    fn replace(&self, by: impl FnMut(u64) -> Option<u64>) -> bool {
        self.ready.fetch_update(Ordering::AcqRel, Ordering::Acquire, by).is_ok()
    }

    #[inline]
    pub(super) fn load(&self) -> Epoch {
        self.load.load(Ordering::Relaxed)
    }

    /// The calling thread has written without the kernel.
    #[inline]
    pub(super) fn note_write(&self) {
        self.written.store(true, Ordering::Relaxed);
    }

    /// True if the calling thread has written without the kernel since the last call.
    pub(crate) fn take_written(&self) -> bool {
        self.written.swap(false, Ordering::Relaxed)
    }
}

fn allowed(ready: u64) -> u64 {
    (ready | ready >> ASIDE) & MAY
}

/// The allowed accesses, with the same accesses aside as `before`.
fn arrange(before: u64, epoch: Epoch, may: u64) -> u64 {
    let watched = before & (READS | WRITES);
    let aside = match (watched & READS != 0, watched & WRITES != 0) {
        (true, true) => MAY,
        (true, false) => OWN | READ,
        (false, true) => WRITE,
        (false, false) => 0,
    };
    epoch << SCOPES | watched | (may & aside) << ASIDE | may & !aside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_once(permit: &Permit) -> (u64, Epoch) {
        (permit.word() & MAY, permit.word() >> SCOPES)
    }

    #[test]
    fn what_is_watched_may_be_done_all_the_same() {
        let permit = Permit::default();
        permit.set(5, 2, MAY);
        assert_eq!((at_once(&permit), permit.allowed(), permit.load()), ((MAY, 5), (MAY, 5), 2));
        for _ in 0..2 {
            permit.watch();
            assert_eq!((at_once(&permit), permit.allowed()), ((0, 5), (MAY, 5)));
            assert!(!permit.wake(Level::All));
        }
        // The kernel continues meanwhile.
        permit.set(6, 2, READ);
        assert_eq!((at_once(&permit), permit.allowed()), ((0, 6), (READ, 6)));
        permit.close();
        assert_eq!((at_once(&permit).0, permit.allowed().0), (0, 0));
        permit.set(7, 2, READ | WRITE);
        assert!(permit.wake(Level::Writes) && !permit.wake(Level::Writes));
        assert_eq!((at_once(&permit), permit.allowed()), ((READ, 7), (READ | WRITE, 7)));
        permit.set(8, 2, MAY);
        assert_eq!((at_once(&permit), permit.allowed()), ((OWN | READ, 8), (MAY, 8)));
        assert!(permit.wake(Level::Nothing) && !permit.wake(Level::Nothing));
        assert_eq!((at_once(&permit), permit.allowed()), ((MAY, 8), (MAY, 8)));
    }
}
