//! Holding the latches of blocks: acquires them, with some retries, and releases them.

use super::latch::{Attempt, Intent};
use super::shared::Sharing;
use crate::ids::Epoch;
use std::hint;
use std::thread;

/// The latch of one owner, or of all; a panic releases it too.
pub(super) struct Latched<'s> {
    sharing: &'s Sharing,
    owner: Option<usize>,
}

impl<'s> Latched<'s> {
    #[inline]
    pub(super) fn acquire(sharing: &'s Sharing, owner: Option<usize>, intent: Intent, epoch: Epoch) -> Option<Self> {
        acquire(sharing, owner, intent, epoch).then_some(Latched { sharing, owner })
    }

    /// Releases the latch. Returns true if the access counts.
    #[inline]
    pub(super) fn release(self) -> bool {
        let counts = self.sharing.release_latch(self.owner);
        std::mem::forget(self);
        counts
    }
}

impl Drop for Latched<'_> {
    fn drop(&mut self) {
        self.sharing.abandon();
    }
}

/// Acquires the latch of one owner, or of all; [`Sharing::release_latch`] has to release it. Retries while an owner
/// writes: the write ends sooner than a message would arrive.
#[inline]
pub(super) fn acquire(sharing: &Sharing, owner: Option<usize>, intent: Intent, epoch: Epoch) -> bool {
    match sharing.acquire_latch(owner, intent, epoch) {
        Attempt::Held => true,
        Attempt::Refused => false,
        Attempt::Busy => try_again(&mut || sharing.acquire_latch(owner, intent, epoch)),
    }
}

#[cold]
fn try_again(acquire: &mut dyn FnMut() -> Attempt) -> bool {
    const SPINS: u32 = 200;
    const YIELDS: u32 = 20;
    for round in 0..SPINS + YIELDS {
        match acquire() {
            Attempt::Held => return true,
            Attempt::Refused => return false,
            Attempt::Busy if round < SPINS => hint::spin_loop(),
            Attempt::Busy => thread::yield_now(),
        }
    }
    false
}
