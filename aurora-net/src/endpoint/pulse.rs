//! How a rank waits for what its node-mates have for it.

use crate::shm::{Control, Look, Patience};
use std::sync::Arc;

/// The rank's bell, and how long it pays to wait for it.
#[derive(Debug)]
pub(super) struct Pulse {
    control: Arc<Control>,
    /// None: what arrives comes by other ways, which a thread that waits here would not see.
    patience: Option<Patience>,
}

impl Pulse {
    /// `rings`: whether transfers come through rings.
    pub fn new(control: Arc<Control>, rings: bool) -> Self {
        let patience = rings.then(|| Patience::of(control.ranks()));
        Pulse { control, patience }
    }

    /// Waits a short while. True: there is something to look at.
    pub fn linger(&self) -> bool {
        self.patience.is_some_and(|Patience { spins, yields }| self.control.linger(spins, yields))
    }

    /// The calling thread is about to look.
    pub fn answer(&self) {
        self.control.answer();
    }

    /// The calling thread, which waits for something, will not look from now on; unless there is something to look at.
    pub fn doze(&self) -> Look {
        self.control.doze()
    }

    /// The calling thread goes, and nobody waits; what is in no hurry may stay.
    pub fn leave(&self) -> Look {
        self.control.leave()
    }

    /// Has a thread of this rank look.
    pub fn ring(&self) {
        self.control.ring(self.control.me());
    }
}
