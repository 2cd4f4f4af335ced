//! The bell of a rank: a word in shared memory by which others wake it, but only if it sleeps.
//!
//! Ringing, answering and going to sleep each exchange the word, and exchanges of one word are ordered. Who has something for
//! a rank puts it where it belongs *first* and rings *second*; the rank answers first and looks second. So either it sees what
//! was put, or the ring comes after its answer, and it finds the word changed when it wants to sleep.
//!
//! Who answers takes charge: it looks everywhere, and then dozes or has another thread of its rank do so.

use super::ring::Flag;
use std::sync::atomic::Ordering;

/// Nobody looks: has to be woken. As all shared memory begins.
const ASLEEP: u32 = 0;
/// Someone looks, and will look again before it sleeps if this changes.
const AWAKE: u32 = 1;
/// The same, and there is something to see.
const RUNG: u32 = 2;

/// A rank's bell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bell<'a, F>(pub &'a F);

/// What to do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// Nothing has come since the bell was answered.
    Sleep,
    /// Something has.
    Again,
}

impl<F: Flag> Bell<'_, F> {
    /// Says that there is something to see. True: the rank sleeps, and the caller is the one to wake it.
    pub fn ring(&self) -> bool {
        self.0.swap(RUNG, Ordering::AcqRel) == ASLEEP
    }

    /// Says that the caller is about to look.
    pub fn answer(&self) {
        self.0.swap(AWAKE, Ordering::AcqRel);
    }

    /// Says that the caller looks from now on, although nobody has rung: nobody needs to wake this rank until it dozes.
    pub fn rouse(&self) {
        self.0.compare_exchange(ASLEEP, AWAKE, Ordering::AcqRel);
    }

    /// Whether someone has rung since it was answered. Costs nothing while nobody has.
    pub fn has_rung(&self) -> bool {
        self.0.load(Ordering::Relaxed) == RUNG
    }

    /// Says that nobody will look from now on, unless someone has rung.
    pub fn doze(&self) -> Look {
        match self.0.compare_exchange(AWAKE, ASLEEP, Ordering::AcqRel) {
            true => Look::Sleep,
            // Another thread of this rank sleeps already, who will be woken instead.
            false if self.0.load(Ordering::Relaxed) == ASLEEP => Look::Sleep,
            false => Look::Again,
        }
    }
}
