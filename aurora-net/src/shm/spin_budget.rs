//! The number of polls of a waiting rank before it sleeps.

use std::hint;
use std::thread;

/// Polls without giving up the core: about 20 us, the cost of sleeping and being woken.
const SPINS: u32 = 1500;

/// Polls that each give up the core first.
const YIELDS: u32 = 20;

/// The number of polls without giving up the core, and of polls that each give it up first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpinBudget {
    pub spins: u32,
    pub yields: u32,
}

impl SpinBudget {
    /// If the node has fewer cores than `ranks`, the budget has no spins: they would delay the rank that is waited for.
    pub fn of(ranks: usize) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let spins = if ranks <= cores { SPINS } else { 0 };
        SpinBudget { spins, yields: YIELDS }
    }

    /// Polls without giving up the core. Returns whether the condition holds.
    pub fn spin(self, mut has_come: impl FnMut() -> bool) -> bool {
        for _ in 0..self.spins {
            if has_come() {
                return true;
            }
            hint::spin_loop();
        }
        has_come()
    }

    /// Polls, in the end giving up the core each time. Returns whether the condition holds.
    pub fn spin_then_yield(self, mut has_come: impl FnMut() -> bool) -> bool {
        self.spin(&mut has_come)
            || (0..self.yields).any(|_| {
                thread::yield_now();
                has_come()
            })
    }
}
