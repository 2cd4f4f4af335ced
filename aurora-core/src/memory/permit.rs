//! What the calling thread of a rank may do to an object without asking its kernel.
//!
//! That is one number, which every access reads first. The kernel writes it under its lock. So that it costs an access
//! nothing to be watched (see [`polls`](crate::polls)), what is watched is put *aside* in this number: the fast paths
//! then find that they may not do it, and the slow ones look there.

use crate::ids::Epoch;
use crate::polls::Level;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// This rank's block may be read where it was made.
pub(crate) const OWN: u64 = 1;
/// Elements may be read, if their owners let us.
pub(crate) const READ: u64 = 2;
/// Elements may be written, if their owners let us.
pub(crate) const WRITE: u64 = 4;
/// All of them.
const MAY: u64 = OWN | READ | WRITE;
/// What is aside stands so many bits higher.
const ASIDE: u32 = 3;
/// Reads are aside, or would be.
const READS: u64 = 1 << 6;
/// Writes are.
const WRITES: u64 = 1 << 7;
/// Above all of these stands the number of scopes.
pub(super) const SCOPES: u32 = 8;

/// What the calling thread may do to an object without asking its kernel. Changed under the kernel's lock, but for
/// [`Permit::wake`].
#[derive(Debug, Default)]
pub(crate) struct Permit {
    /// The scopes that this rank has entered and settled, above what may be done after them, at once or aside, and what
    /// is watched.
    ready: AtomicU64,
    /// The last load among them.
    load: AtomicU64,
    /// The calling thread has written to memory that no other rank shares.
    written: AtomicBool,
}

impl Permit {
    /// Nothing may be done.
    pub(crate) fn close(&self) {
        self.store(0, 0);
    }

    /// May be done from now on: any of the flags above.
    pub(crate) fn set(&self, epoch: Epoch, load: Epoch, may: u64) {
        self.load.store(load, Ordering::Relaxed);
        self.store(epoch, may);
    }

    /// Under the kernel's lock. The calling thread may wake meanwhile, and may have to do so again.
    fn store(&self, epoch: Epoch, may: u64) {
        self.ready.store(arrange(self.ready.load(Ordering::Relaxed), epoch, may), Ordering::Release);
    }

    /// What may be done at once, in the lowest bits, and above [`SCOPES`] of them after how many scopes.
    #[inline(always)]
    pub(super) fn word(&self) -> u64 {
        self.ready.load(Ordering::Acquire)
    }

    /// What may be done, at once or aside, and after how many scopes.
    #[inline]
    pub(super) fn allowed(&self) -> (u64, Epoch) {
        let ready = self.word();
        (allowed(ready), ready >> SCOPES)
    }

    /// From now on reads and writes are aside: who makes one finds out by [`Permit::allowed`] what may be done.
    pub(crate) fn watch(&self) {
        self.replace(|ready| Some(arrange(ready | READS | WRITES, ready >> SCOPES, allowed(ready))));
    }

    /// Nothing is aside any more that is not watched at this level. By the calling thread; what the kernel says
    /// meanwhile stays. False if nothing was.
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

    /// The last load among the scopes.
    #[inline]
    pub(super) fn load(&self) -> Epoch {
        self.load.load(Ordering::Relaxed)
    }

    /// The calling thread has written by itself.
    #[inline]
    pub(super) fn note_write(&self) {
        self.written.store(true, Ordering::Relaxed);
    }

    /// Whether the calling thread has written by itself since this was asked last.
    pub(crate) fn take_written(&self) -> bool {
        self.written.swap(false, Ordering::Relaxed)
    }
}

fn allowed(ready: u64) -> u64 {
    (ready | ready >> ASIDE) & MAY
}

/// What may be done, with as much of it aside as `before`.
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
        // The kernel goes on meanwhile.
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
