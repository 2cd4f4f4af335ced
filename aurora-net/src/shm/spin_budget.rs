//! The time for which a waiting rank polls before it sleeps.

use rustix::thread::{CpuSet, sched_getaffinity};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hint;
use std::thread;
use std::time::{Duration, Instant};

/// The time of polls without giving up the core.
const SPIN: Duration = Duration::from_micros(20);

/// The time of polls that each give up the core first: about twice a slow wake-up. Waking a rank takes 15 to 85 us in a
/// virtual machine whose host has halted the core.
const PATIENCE: Duration = Duration::from_micros(200);

/// The minimum number of polls that each give up the core first.
const YIELDS: u32 = 20;

/// The number of polls between two looks at the clock.
const POLLS: u32 = 16;

/// The cores on which a rank may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Cores {
    /// The lowest number of these cores.
    first: u16,
    count: u16,
}

impl Cores {
    /// The cores of the calling thread, limited by the quota of its control group.
    pub fn own() -> Self {
        let set = sched_getaffinity(None).unwrap_or_default();
        let first = (0..CpuSet::MAX_CPU).find(|core| set.is_set(*core)).unwrap_or(0);
        let count = thread::available_parallelism().map_or(1, usize::from);
        let [first, count] = [first, count].map(|number| u16::try_from(number).unwrap_or(u16::MAX));
        Cores { first, count }
    }

    /// The number of cores of several ranks together. Ranks that a launcher has bound have different cores. Others
    /// have the same.
    pub fn together(of_ranks: impl IntoIterator<Item = Cores>) -> usize {
        let mut sets = BTreeMap::<u16, u16>::new();
        for Cores { first, count } in of_ranks {
            let known = sets.entry(first).or_default();
            *known = count.max(*known);
        }
        sets.into_values().map(usize::from).sum()
    }
}

/// The time of polls without giving up the core, and of polls that each give it up first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SpinBudget {
    spin: Duration,
    patience: Duration,
}

impl SpinBudget {
    /// If the ranks of the node have fewer cores than there are `ranks`, the budget is small: polls would delay the
    /// rank that is waited for.
    pub fn new(ranks: usize, cores: usize) -> Self {
        if ranks <= cores { SpinBudget { spin: SPIN, patience: PATIENCE } } else { SpinBudget::SMALL }
    }

    /// The budget of a thread whose core other threads need.
    pub const SMALL: SpinBudget = SpinBudget { spin: Duration::ZERO, patience: Duration::ZERO };

    /// The budget of a thread that also waits for a network, which it does not see while it polls.
    pub fn beside_a_network(self) -> Self {
        SpinBudget { patience: Duration::ZERO, ..self }
    }

    /// True if each rank of the node has a core.
    pub fn has_core(self) -> bool {
        self.spin > Duration::ZERO
    }

    /// Polls without giving up the core. Returns whether the condition holds.
    pub fn spin(self, mut has_come: impl FnMut() -> bool) -> bool {
        if has_come() {
            return true;
        }
        let begin = Instant::now();
        while begin.elapsed() < self.spin {
            for _ in 0..POLLS {
                if has_come() {
                    return true;
                }
                hint::spin_loop();
            }
        }
        false
    }

    /// Polls, in the end giving up the core each time. Returns whether the condition holds.
    pub fn spin_then_yield(self, mut has_come: impl FnMut() -> bool) -> bool {
        if self.spin(&mut has_come) {
            return true;
        }
        let (begin, mut yields) = (Instant::now(), 0);
        while yields < YIELDS || begin.elapsed() < self.patience {
            thread::yield_now();
            if has_come() {
                return true;
            }
            yields += 1;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn together(sets: &[(u16, u16)]) -> usize {
        Cores::together(sets.iter().map(|&(first, count)| Cores { first, count }))
    }

    #[test]
    fn bound_ranks_have_different_cores_and_others_have_the_same() {
        assert_eq!(together(&[(0, 4), (0, 4), (0, 4)]), 4);
        assert_eq!(together(&[(0, 1), (1, 1), (2, 1)]), 3);
        // Two sockets, two ranks on each.
        assert_eq!(together(&[(0, 8), (8, 8), (0, 8), (8, 8)]), 16);
        // One of them may use only a part of the cores.
        assert_eq!(together(&[(0, 8), (0, 2)]), 8);
    }

    #[test]
    fn a_thread_sees_only_its_cores() {
        let all = Cores::own();
        let mut one = CpuSet::new();
        one.set(usize::from(all.first));
        let bound = thread::spawn(move || {
            rustix::thread::sched_setaffinity(None, &one).unwrap();
            Cores::own()
        });
        assert_eq!(bound.join().unwrap(), Cores { first: all.first, count: 1 });
        assert_eq!(usize::from(all.count), thread::available_parallelism().unwrap().get());
    }

    #[test]
    fn a_rank_polls_for_longer_where_each_rank_has_a_core() {
        let polls = |budget: SpinBudget| {
            let mut polls = 0_u32;
            assert!(!budget.spin_then_yield(|| {
                polls += 1;
                false
            }));
            polls
        };
        assert!(polls(SpinBudget::new(3, 2)) <= YIELDS + 2);
        let begin = Instant::now();
        let many = polls(SpinBudget::new(2, 2));
        assert!(begin.elapsed() >= SPIN + PATIENCE && many > YIELDS + POLLS, "{many} polls");
    }

    #[test]
    fn the_last_poll_counts() {
        for budget in [SpinBudget::new(3, 2), SpinBudget::new(2, 2), SpinBudget::new(2, 2).beside_a_network()] {
            let mut left = 10;
            assert!(budget.spin_then_yield(|| {
                left -= 1;
                left <= 0
            }));
        }
    }
}
