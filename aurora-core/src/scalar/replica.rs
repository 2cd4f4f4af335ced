//! A rank's replica of a scalar under ReadMostly: written by its kernel, read by its program without asking the kernel.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The longest value, in bytes, that is read by one atomic load.
pub(crate) const WORD: usize = 8;

/// The value is shown.
const OPEN: u8 = 0;
/// The value is shown only to reads that are watched: see [`polls`](crate::polls).
const WATCHED: u8 = 1;
/// The value is not shown any more: its object is faulty, or the job has ended.
const CLOSED: u8 = 2;

/// The replica. Its one writer is its rank's kernel, under the endpoint's lock, so reads never see an older value.
#[derive(Debug, Default)]
pub(crate) struct Replica {
    /// A value of up to [`WORD`] bytes, little-endian.
    word: AtomicU64,
    /// Any value, also a short one: a reader need not know the length.
    bytes: Mutex<Vec<u8>>,
    state: AtomicU8,
}

impl Replica {
    pub(crate) fn store(&self, value: &[u8]) {
        if value.len() <= WORD {
            let mut word = [0; WORD];
            word[..value.len()].copy_from_slice(value);
            self.word.store(u64::from_le_bytes(word), Ordering::Release);
        }
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.clear();
        bytes.extend_from_slice(value);
    }

    /// The value of a type of fixed size, [`WORD`] bytes at most, in the first of these bytes.
    #[inline]
    pub(crate) fn word(&self) -> Option<[u8; WORD]> {
        // The state before the value: a value that is shown after a fault is then one from before it.
        let open = self.state.load(Ordering::Acquire) == OPEN;
        open.then(|| self.word.load(Ordering::Acquire).to_le_bytes())
    }

    /// Shows the value, of any type, also while looks are watched.
    pub(crate) fn read<R>(&self, show: impl FnOnce(&[u8]) -> R) -> Option<R> {
        if self.state.load(Ordering::Acquire) == CLOSED {
            return None;
        }
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        Some(show(&bytes))
    }

    pub(crate) fn close(&self) {
        self.state.store(CLOSED, Ordering::Release);
    }

    /// Looks are watched from now on, until [`wake`](Self::wake).
    pub(crate) fn watch(&self) {
        self.turn(OPEN, WATCHED);
    }

    pub(crate) fn wake(&self) {
        self.turn(WATCHED, OPEN);
    }

    fn turn(&self, from: u8, to: u8) {
        // A closed replica stays closed.
        let _ = self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_was_stored_until_it_is_closed() {
        let replica = Replica::default();
        for value in [&[7u8, 1][..], &[1; 8], &[9; 300], &[]] {
            replica.store(value);
            assert_eq!(replica.read(<[u8]>::to_vec).as_deref(), Some(value));
            if value.len() <= WORD {
                assert_eq!(&replica.word().expect("open")[..value.len()], value);
            }
        }
        replica.watch();
        assert_eq!((replica.word(), replica.read(<[u8]>::len)), (None, Some(0)));
        replica.wake();
        assert!(replica.word().is_some());
        replica.close();
        replica.watch();
        replica.wake();
        assert_eq!((replica.word(), replica.read(|_| ())), (None, None));
    }
}
