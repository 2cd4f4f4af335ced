//! How long a rank waits for its node peers before it sleeps.

use std::hint;
use std::thread;

/// Looks before giving up the core: some 20 us, about what going to sleep and being woken costs.
const SPINS: u32 = 1500;

/// Times that the core is given up before sleeping.
const YIELDS: u32 = 20;

/// So many looks, of each kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpinBudget {
    /// Without giving up the core.
    pub spins: u32,
    /// Each after giving it up.
    pub yields: u32,
}

impl SpinBudget {
    /// Of one of so many ranks on a node. Who spins on the core that another one needs makes itself wait.
    pub fn of(ranks: usize) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let spins = if ranks <= cores { SPINS } else { 0 };
        SpinBudget { spins, yields: YIELDS }
    }

    /// Looks without giving up the core. Whether it has come.
    pub fn spin(self, mut has_come: impl FnMut() -> bool) -> bool {
        for _ in 0..self.spins {
            if has_come() {
                return true;
            }
            hint::spin_loop();
        }
        has_come()
    }

    /// Looks, at last after giving up the core each time. Whether it has come.
    pub fn spin_then_yield(self, mut has_come: impl FnMut() -> bool) -> bool {
        let yielded = |has_come: &mut dyn FnMut() -> bool| {
            thread::yield_now();
            has_come()
        };
        self.spin(&mut has_come) || (0..self.yields).any(|_| yielded(&mut has_come))
    }
}
