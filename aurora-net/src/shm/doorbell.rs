//! The doorbell of a rank: a word in shared memory by which others wake it, but only if it sleeps.
//!
//! Ringing, answering and going to sleep each exchange the word, and exchanges of one word are ordered. Who has
//! something for a rank puts it where it belongs *first* and rings *second*; the rank answers first and looks second.
//! So either it sees what was put, or the ring comes after its answer, and it finds the word changed when it wants to
//! sleep.
//!
//! Who answers takes charge: it looks everywhere, and then dozes or has another thread of its rank do so.
//!
//! What is in no hurry is *hinted at* instead: nobody is woken for it, except a thread that waits. For a rank that
//! merely computes it lies where it was put until the rank looks again by itself, or somebody rings.

use super::ring::Flag;
use std::sync::atomic::Ordering;

/// Nobody looks: has to be woken. As all shared memory begins.
const ASLEEP: u32 = 0;
/// Someone looks, and will look again before it sleeps if this changes.
const AWAKE: u32 = 1;
/// The same, and there is something to see.
const RUNG: u32 = 2;
/// The same, but only something that is in no hurry.
const RUNG_LAZILY: u32 = 3;
/// Nobody looks, and a thread waits: has to be woken for hints too.
const WAITING: u32 = 4;

/// A rank's doorbell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doorbell<'a, F>(pub &'a F);

/// What to do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// Nothing has come since the doorbell was answered.
    Sleep,
    /// Something has.
    Again,
}

impl<F: Flag> Doorbell<'_, F> {
    /// Says that there is something to see. True: the rank sleeps, and the caller is the one to wake it.
    pub fn ring(&self) -> bool {
        matches!(self.0.swap(RUNG, Ordering::AcqRel), ASLEEP | WAITING)
    }

    /// Says that there is something to see that is in no hurry. True: a thread sleeps that waits for something, and the
    /// caller is the one to wake it.
    pub fn ring_lazily(&self) -> bool {
        loop {
            let state = self.0.load(Ordering::Relaxed);
            let rung = match state {
                AWAKE => RUNG_LAZILY,
                WAITING => RUNG,
                other => other,
            };
            // Also where nothing changes: it has to be ordered with the answer.
            if self.change(state, rung) {
                return state == WAITING;
            }
        }
    }

    /// Says that the caller is about to look.
    pub fn acknowledge(&self) {
        self.0.swap(AWAKE, Ordering::AcqRel);
    }

    /// Says that the caller looks from now on, although nobody has rung: nobody needs to wake this rank until it dozes.
    /// True: nobody did until now, and there may be what was only hinted at.
    pub fn start_polling(&self) -> bool {
        self.change(ASLEEP, AWAKE) || self.change(WAITING, AWAKE)
    }

    /// Whether someone has rung since it was answered, or hinted. Costs nothing while nobody has.
    pub fn has_rung(&self) -> bool {
        matches!(self.0.load(Ordering::Relaxed), RUNG | RUNG_LAZILY)
    }

    /// Says that the caller, who waits for something, will not look from now on, unless someone has rung or hinted.
    pub fn prepare_sleep(&self) -> Look {
        loop {
            match self.0.load(Ordering::Relaxed) {
                AWAKE if self.change(AWAKE, WAITING) => return Look::Sleep,
                // Another thread of this rank sleeps already, who would be woken instead; but not for hints.
                ASLEEP if self.change(ASLEEP, AWAKE) => return Look::Again,
                WAITING => return Look::Sleep,
                RUNG | RUNG_LAZILY => return Look::Again,
                _ => {}
            }
        }
    }

    /// Says that the caller will not look from now on and that nobody waits; leaves hints for later.
    pub fn stop_polling(&self) -> Look {
        loop {
            match self.0.load(Ordering::Relaxed) {
                ASLEEP => return Look::Sleep,
                RUNG => return Look::Again,
                looking if self.change(looking, ASLEEP) => return Look::Sleep,
                _ => {}
            }
        }
    }

    fn change(&self, from: u32, to: u32) -> bool {
        self.0.compare_exchange(from, to, Ordering::AcqRel)
    }
}
