//! How a rank waits for what its node peers have for it.

use crate::shm::{Control, Look, SpinBudget};
use std::sync::Arc;

/// The rank's doorbell, and how long it pays to wait for it.
#[derive(Debug)]
pub(super) struct OwnDoorbell {
    control: Arc<Control>,
    /// None: what arrives comes by other ways, which a thread that waits here would not see.
    budget: Option<SpinBudget>,
}

impl OwnDoorbell {
    /// `rings`: whether transfers come through rings.
    pub fn new(control: Arc<Control>, rings: bool) -> Self {
        let budget = rings.then(|| SpinBudget::of(control.ranks()));
        OwnDoorbell { control, budget }
    }

    /// Waits a short while. True: there is something to look at.
    pub fn spin(&self) -> bool {
        self.budget.is_some_and(|SpinBudget { spins, yields }| self.control.spin(spins, yields))
    }

    /// The calling thread is about to look.
    pub fn acknowledge(&self) {
        self.control.acknowledge();
    }

    /// The calling thread, which waits for something, will not look from now on; unless there is something to look at.
    pub fn prepare_sleep(&self) -> Look {
        self.control.prepare_sleep()
    }

    /// The calling thread goes, and nobody waits; what is in no hurry may stay.
    pub fn stop_polling(&self) -> Look {
        self.control.stop_polling()
    }

    /// Has a thread of this rank look.
    pub fn ring(&self) {
        self.control.ring(self.control.me());
    }
}
