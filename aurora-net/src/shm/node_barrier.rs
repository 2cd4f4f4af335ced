//! The node barrier: a barrier of all ranks of a node at which each contributes data for the others to read.
//!
//! The node barrier uses the algorithm of `barrier.rs`. Before a rank arrives, it may write a *contribution* into the
//! control segment. Once all have arrived, each rank reads the others' contributions in place. Each rank has two
//! contributions, used alternately: it writes for barrier n + 2 only after barrier n + 1, where the others arrive only
//! after they have read the contributions to barrier n. So no contribution is written while it is read. An inline
//! contribution of 16 bytes works in the same way. It shares a cache line with the rank's barrier entries, which the
//! others load in any case.
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. A contribution lies inside the control segment, which stays mapped as long as a handle to it exists, and overlaps
//!    nothing else (invariants 1 and 2 of `control.rs`).
//! 2. A rank has one [`NodeBarrier`] ([`Control::take_barrier`]), which alone writes that rank's contributions, and
//!    only between barriers ([`LastBarrier::next`]). They are written before the rank arrives (release). `arrive` takes
//!    `&mut self`, so no reference to them is left then.
//! 3. Contributions to the last barrier are read only after all have arrived ([`LastBarrier::last`], acquire). No
//!    reference is left when this rank arrives at the next barrier; by 2, the others do not write them before that.
//! 4. The node's other ranks keep to 2 and 3: they run the same program.
#![allow(unsafe_code)]

use super::barrier::{self, BarrierState, Table};
use super::control::{Control, INLINE};
use super::spin_budget::SpinBudget;
use std::fmt;
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
struct LastBarrier {
    number: u64,
    state: BarrierState,
}

impl LastBarrier {
    /// The initial state: barrier 0 is complete.
    const NONE: LastBarrier = LastBarrier { number: 0, state: BarrierState::Agreed };

    fn arrive<T: Table>(&mut self, table: &T, me: usize, word: u64, wake: impl FnMut(usize)) -> BarrierState {
        self.next();
        self.number += 1;
        self.state = barrier::arrive(table, me, self.number, word, wake);
        self.state
    }

    /// The parity of the next barrier: which contribution to write.
    fn next(&self) -> usize {
        assert_ne!(self.state, BarrierState::Waiting, "a barrier begins when the one before it is over");
        (self.number + 1) as usize % 2
    }

    /// The parity of the last barrier: which contributions to read.
    fn last(&self) -> usize {
        assert_ne!(self.state, BarrierState::Waiting, "contributions are read when all have arrived");
        self.number as usize % 2
    }
}

/// A rank's end of the node barrier.
pub struct NodeBarrier {
    control: Arc<Control>,
    budget: SpinBudget,
    last: LastBarrier,
}

impl NodeBarrier {
    /// The length of an inline contribution.
    pub const INLINE: usize = INLINE;

    pub(super) fn new(control: Arc<Control>, budget: SpinBudget) -> Self {
        NodeBarrier { control, budget, last: LastBarrier::NONE }
    }

    /// The maximum length of a contribution in bytes, equal on all ranks: 256 KiB, less with very many ranks.
    pub fn longest(&self) -> usize {
        self.control.longest_contribution()
    }

    /// This rank's contribution to the next barrier: [`NodeBarrier::longest`] bytes, page-aligned, content arbitrary.
    ///
    /// # Panics
    /// If the last barrier is not complete.
    pub fn contribution_mut(&mut self) -> &mut [u8] {
        let start = self.control.contribution(self.control.me(), self.last.next());
        // SAFETY: invariants 1 and 2.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), self.longest()) }
    }

    /// This rank's inline contribution to the next barrier, with arbitrary content.
    ///
    /// # Panics
    /// If the last barrier is not complete.
    pub fn inline_mut(&mut self) -> &mut [u8; INLINE] {
        let mut inline = self.control.inline(self.control.me(), self.last.next());
        // SAFETY: invariants 1 and 2.
        unsafe { inline.as_mut() }
    }

    /// Collective over the node's ranks. Arrives at the next barrier without waiting. All ranks' words are compared.
    ///
    /// # Panics
    /// If the last barrier is not complete.
    pub fn arrive(&mut self, word: u64) -> BarrierState {
        let control = &self.control;
        self.last.arrive(&**control, control.me(), word, |peer| control.ring(peer))
    }

    /// Polls the last barrier for a very short time. No arriving transfer is handled meanwhile.
    pub fn spin(&mut self) -> BarrierState {
        self.last.state = barrier::spin(&*self.control, self.control.me(), self.last.number, self.budget);
        self.last.state
    }

    /// The state of the last barrier. Use it as the condition of [`Endpoint::wait`](crate::Endpoint::wait), which is
    /// evaluated again when all ranks have arrived.
    pub fn poll(&mut self) -> BarrierState {
        self.last.state = barrier::prepare_sleep(&*self.control, self.control.me(), self.last.number);
        self.last.state
    }

    /// The number of the last barrier of this rank, from 1: for [`Node::absent`](super::Node::absent).
    pub fn number(&self) -> u64 {
        self.last.number
    }

    /// The contribution of a rank, by its index in [`Node::ranks`](super::Node::ranks), to the last barrier.
    ///
    /// # Panics
    /// If not all ranks have arrived.
    pub fn contribution(&self, peer: usize) -> &[u8] {
        let start = self.control.contribution(peer, self.last.last());
        // SAFETY: invariants 1 and 3.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), self.longest()) }
    }

    /// The inline contribution of a rank to the last barrier.
    ///
    /// # Panics
    /// If not all ranks have arrived.
    pub fn inline(&self, peer: usize) -> &[u8; INLINE] {
        let inline = self.control.inline(peer, self.last.last());
        // SAFETY: invariants 1 and 3.
        unsafe { inline.as_ref() }
    }
}

impl fmt::Debug for NodeBarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeBarrier").field("last", &self.last).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shm::barrier::tests::{RANKS, Small};
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    /// Two contributions per rank: loom detects one that is written while it is read.
    type Contributions = [[UnsafeCell<u64>; 2]; RANKS];

    fn run(table: &Small, contributed: &Contributions, me: usize, barriers: u64, contributions: usize) {
        let mut last = LastBarrier::NONE;
        for number in 1..=barriers {
            let own = &contributed[me][last.next() % contributions];
            // SAFETY: the property under test.
            own.with_mut(|place| unsafe { *place = 10 * number + me as u64 });
            last.arrive(table, me, 0, |rank| table.kicks[rank].notify());
            while last.state == BarrierState::Waiting {
                last.state = barrier::prepare_sleep(table, me, number);
                if last.state == BarrierState::Waiting {
                    table.kicks[me].wait();
                }
            }
            for (rank, contributed) in contributed.iter().enumerate() {
                // SAFETY: the property under test.
                let found = contributed[last.last() % contributions].with(|place| unsafe { *place });
                assert_eq!(found, 10 * number + rank as u64);
            }
        }
    }

    fn check(barriers: u64, contributions: usize) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let table = Small::new();
            let contributed: Arc<Contributions> =
                Arc::new(std::array::from_fn(|_| std::array::from_fn(|_| UnsafeCell::new(0))));
            let other = thread::spawn({
                let (table, contributed) = (table.clone(), contributed.clone());
                move || run(&table, &contributed, 1, barriers, contributions)
            });
            run(&table, &contributed, 0, barriers, contributions);
            other.join().unwrap();
        });
    }

    #[test]
    fn what_is_contributed_is_read_by_all_and_never_written_meanwhile() {
        check(3, 2);
    }

    #[test]
    #[should_panic]
    fn with_one_contribution_for_all_barriers_it_is() {
        check(2, 1);
    }

    #[test]
    #[should_panic = "contributions are read when all have arrived"]
    fn contributions_are_not_read_before_all_have_arrived() {
        LastBarrier { number: 1, state: BarrierState::Waiting }.last();
    }

    #[test]
    #[should_panic = "a barrier begins when the one before it is over"]
    fn contributions_are_not_written_during_a_barrier() {
        LastBarrier { number: 1, state: BarrierState::Waiting }.next();
    }
}
