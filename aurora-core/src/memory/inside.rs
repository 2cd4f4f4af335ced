//! Inside of the doors of blocks: entering them, with some patience, and leaving them.

use super::door::{Entry, Intent};
use super::shared::Sharing;
use crate::ids::Epoch;
use std::hint;
use std::thread;

/// Inside of the door of one owner, or of all; it is left also by a panic.
pub(super) struct Inside<'s> {
    sharing: &'s Sharing,
    owner: Option<usize>,
}

impl<'s> Inside<'s> {
    #[inline]
    pub(super) fn enter(sharing: &'s Sharing, owner: Option<usize>, intent: Intent, epoch: Epoch) -> Option<Self> {
        let may = match owner {
            Some(owner) => enter(sharing, owner, intent, epoch),
            None => soon(|| sharing.enter_doors(intent, epoch)),
        };
        may.then_some(Inside { sharing, owner })
    }

    /// Whether what was done there counts.
    #[inline]
    pub(super) fn leave(self) -> bool {
        let counts = match self.owner {
            Some(owner) => self.sharing.leave_door(owner),
            None => self.sharing.leave_doors(),
        };
        std::mem::forget(self);
        counts
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.sharing.step_out();
    }
}

/// Enters the door of one owner, if it is let in.
#[inline]
pub(super) fn enter(sharing: &Sharing, owner: usize, intent: Intent, epoch: Epoch) -> bool {
    soon(|| sharing.enter_door(owner, intent, epoch))
}

/// Tries to enter; where an owner writes just now it tries again: that is over sooner than a message would be there.
#[inline]
fn soon(mut enter: impl FnMut() -> Entry) -> bool {
    match enter() {
        Entry::Inside => true,
        Entry::Closed => false,
        Entry::Busy => try_again(&mut enter),
    }
}

#[cold]
fn try_again(enter: &mut dyn FnMut() -> Entry) -> bool {
    const SPINS: u32 = 200;
    const YIELDS: u32 = 20;
    for round in 0..SPINS + YIELDS {
        match enter() {
            Entry::Inside => return true,
            Entry::Closed => return false,
            Entry::Busy if round < SPINS => hint::spin_loop(),
            Entry::Busy => thread::yield_now(),
        }
    }
    false
}
