//! A rank's own doorbell, as its threads wait on it.

use crate::shm::{Control, Look, SpinBudget};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct OwnDoorbell {
    control: Arc<Control>,
    /// `None`: transfers arrive by other routes, which do not ring the doorbell.
    budget: Option<SpinBudget>,
}

impl OwnDoorbell {
    /// `rings`: whether transfers arrive through rings.
    pub fn new(control: Arc<Control>, rings: bool) -> Self {
        let budget = rings.then(|| SpinBudget::of(control.ranks()));
        OwnDoorbell { control, budget }
    }

    /// Polls for a short while. True: the doorbell has rung.
    pub fn spin(&self) -> bool {
        self.budget.is_some_and(|SpinBudget { spins, yields }| self.control.spin(spins, yields))
    }

    pub fn acknowledge(&self) {
        self.control.acknowledge();
    }

    pub fn prepare_sleep(&self) -> Look {
        self.control.prepare_sleep()
    }

    pub fn stop_polling(&self) -> Look {
        self.control.stop_polling()
    }

    pub fn ring(&self) {
        self.control.ring(self.control.me());
    }
}
