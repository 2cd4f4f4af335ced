//! A rank's doorbell: a word in shared memory that tells senders whether the rank has to be woken.
//!
//! Every ring, acknowledgement and preparation to sleep is an atomic exchange of this word, so they are totally
//! ordered. A sender first stores its data and then rings. The rank first acknowledges and then looks for data. So
//! either the rank sees the data, or the ring follows the acknowledgement and the rank finds the word changed when it
//! prepares to sleep.
//!
//! The thread that acknowledges must look at all data before that thread, or another thread of its rank, sleeps.
//!
//! A *lazy* ring wakes the rank only if one of its threads waits. Lazy data for a computing rank stays where it is
//! until the rank next looks, or until a normal ring.

use super::ring::Flag;
use std::sync::atomic::Ordering;

/// No thread looks: the rank has to be woken. The initial value.
const ASLEEP: u32 = 0;
/// A thread looks, and checks this word again before it sleeps.
const AWAKE: u32 = 1;
/// A thread looks; the doorbell has rung since the acknowledgement.
const RUNG: u32 = 2;
/// A thread looks; the doorbell has rung since the acknowledgement, lazily only.
const RUNG_LAZILY: u32 = 3;
/// No thread looks, but one waits: the rank has to be woken for lazy rings too.
const WAITING: u32 = 4;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Doorbell<'a, F>(pub &'a F);

/// The next step of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// Sleep: the doorbell has not rung since it was acknowledged.
    Sleep,
    /// Look again: the doorbell has rung.
    Again,
}

impl<F: Flag> Doorbell<'_, F> {
    /// Rings. True: the rank sleeps and the caller has to wake it.
    pub fn ring(&self) -> bool {
        matches!(self.0.swap(RUNG, Ordering::AcqRel), ASLEEP | WAITING)
    }

    /// Rings lazily. True: a waiting thread sleeps and the caller has to wake it.
    pub fn ring_lazily(&self) -> bool {
        loop {
            let state = self.0.load(Ordering::Relaxed);
            let rung = match state {
                AWAKE => RUNG_LAZILY,
                WAITING => RUNG,
                other => other,
            };
            // Exchanged even if equal, to be ordered with the acknowledgement.
            if self.change(state, rung) {
                return state == WAITING;
            }
        }
    }

    /// The caller is about to look everywhere.
    pub fn acknowledge(&self) {
        self.0.swap(AWAKE, Ordering::AcqRel);
    }

    /// The caller polls from now on, without a ring: no sender has to wake this rank until it prepares to sleep. True:
    /// no thread looked before, so lazy data may be waiting.
    pub fn start_polling(&self) -> bool {
        self.change(ASLEEP, AWAKE) || self.change(WAITING, AWAKE)
    }

    /// True if the doorbell has rung, lazily or not, since it was acknowledged. Costs a plain load.
    pub fn has_rung(&self) -> bool {
        matches!(self.0.load(Ordering::Relaxed), RUNG | RUNG_LAZILY)
    }

    /// The caller waits for something and will sleep, unless the doorbell has rung, lazily or not.
    pub fn prepare_sleep(&self) -> Look {
        loop {
            match self.0.load(Ordering::Relaxed) {
                AWAKE if self.change(AWAKE, WAITING) => return Look::Sleep,
                // Another thread of this rank already sleeps. It would take the wake-up, but not for lazy rings.
                ASLEEP if self.change(ASLEEP, AWAKE) => return Look::Again,
                WAITING => return Look::Sleep,
                RUNG | RUNG_LAZILY => return Look::Again,
                _ => {}
            }
        }
    }

    /// The caller stops polling, and no thread waits. Lazy rings are left for later.
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
