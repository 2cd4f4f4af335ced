//! The barrier of a node's ranks, and what each brings to it for the others to read.
//!
//! Each barrier is a [meeting](super::meeting). Before a rank comes to one, it may write a *contribution* into the
//! control segment; once all have come, each reads those of all others where they lie. There are two contributions of
//! each rank, used in turns: a rank writes for barrier n + 2 only after barrier n + 1, to which the others come only
//! after they have read what was brought to barrier n. So nothing is written while it is read, and no second barrier is
//! needed to end the reading.
//!
//! A *note* of 16 bytes, used in the same way, lies on the cache line of the rank's number and word, which the others
//! fetch in any case.
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. A contribution lies inside the control segment, which stays mapped as long as a handle to it exists, and overlaps
//!    nothing else (invariants 1 and 2 of `control.rs`).
//! 2. A rank has one [`NodeBarrier`] ([`Control::take_barrier`]), and it alone writes that rank's contributions: those
//!    for the next barrier, while it is at none ([`LastBarrier::next`]). They are written before it comes (release),
//!    and `come` takes `&mut self`, so no reference is left then.
//! 3. It reads those of the last barrier, and only when all have come to it ([`LastBarrier::last`], acquire). No
//!    reference is left when it comes to the next one; by 2, applied to the others, nobody writes them before that.
//! 4. The node's other ranks keep to 2 and 3: they run the same program.
#![allow(unsafe_code)]

use super::barrier::{self, BarrierState, Table};
use super::control::{Control, INLINE};
use super::spin_budget::SpinBudget;
use std::fmt;
use std::sync::Arc;

/// Which barrier a rank has come to last, and whether all have.
#[derive(Clone, Copy, Debug)]
struct LastBarrier {
    number: u64,
    state: BarrierState,
}

impl LastBarrier {
    /// None has been come to: barrier 0 is over.
    const NONE: LastBarrier = LastBarrier { number: 0, state: BarrierState::Agreed };

    /// Comes to the next one.
    fn arrive<T: Table>(&mut self, table: &T, me: usize, word: u64, wake: impl FnMut(usize)) -> BarrierState {
        self.next();
        self.number += 1;
        self.state = barrier::arrive(table, me, self.number, word, wake);
        self.state
    }

    /// Which contribution is for the next barrier: 0 or 1.
    fn next(&self) -> usize {
        assert_ne!(self.state, BarrierState::Waiting, "a barrier begins when the one before it is over");
        (self.number + 1) as usize % 2
    }

    /// Which contribution was for the last barrier.
    fn last(&self) -> usize {
        assert_ne!(self.state, BarrierState::Waiting, "contributions are read when all have come");
        self.number as usize % 2
    }
}

/// A rank's end of the barrier of all ranks of its node.
pub struct NodeBarrier {
    control: Arc<Control>,
    budget: SpinBudget,
    last: LastBarrier,
}

impl NodeBarrier {
    /// Bytes of a note.
    pub const INLINE: usize = INLINE;

    pub(super) fn new(control: Arc<Control>, budget: SpinBudget) -> Self {
        NodeBarrier { control, budget, last: LastBarrier::NONE }
    }

    /// The longest contribution, in bytes: 256 KiB, less where very many ranks share a machine. The same on all ranks
    /// of the node.
    pub fn longest(&self) -> usize {
        self.control.longest_contribution()
    }

    /// Memory for what this rank brings to the next barrier: [`NodeBarrier::longest`] bytes of any content, from a new
    /// page on.
    ///
    /// # Panics
    /// If the last barrier is not over.
    pub fn contribution_mut(&mut self) -> &mut [u8] {
        let start = self.control.contribution(self.control.me(), self.last.next());
        // SAFETY: invariants 1 and 2.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), self.longest()) }
    }

    /// Memory for a note to the next barrier, of any content.
    ///
    /// # Panics
    /// If the last barrier is not over.
    pub fn inline_mut(&mut self) -> &mut [u8; INLINE] {
        let mut inline = self.control.inline(self.control.me(), self.last.next());
        // SAFETY: invariants 1 and 2.
        unsafe { inline.as_mut() }
    }

    /// Collective over the node's ranks. Comes to the next barrier; `word` says what this rank came for. Does not wait.
    ///
    /// # Panics
    /// If the last one is not over.
    pub fn arrive(&mut self, word: u64) -> BarrierState {
        let control = &self.control;
        self.last.arrive(&**control, control.me(), word, |peer| control.ring(peer))
    }

    /// Waits a very short time for those who have not come, and handles nothing that arrives.
    pub fn spin(&mut self) -> BarrierState {
        self.last.state = barrier::spin(&*self.control, self.control.me(), self.last.number, self.budget);
        self.last.state
    }

    /// How the last barrier stands: for the condition of [`Endpoint::wait`](crate::Endpoint::wait), which is asked
    /// again when all have come.
    pub fn poll(&mut self) -> BarrierState {
        self.last.state = barrier::prepare_sleep(&*self.control, self.control.me(), self.last.number);
        self.last.state
    }

    /// Number of the last barrier to which this rank has come, from 1: for [`Node::absent`](super::Node::absent).
    pub fn number(&self) -> u64 {
        self.last.number
    }

    /// The memory in which a rank, by its number among the [node's](super::Node::ranks), has brought something to the
    /// last barrier.
    ///
    /// # Panics
    /// If not all have come to it.
    pub fn contribution(&self, peer: usize) -> &[u8] {
        let start = self.control.contribution(peer, self.last.last());
        // SAFETY: invariants 1 and 3.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), self.longest()) }
    }

    /// A rank's note to the last barrier.
    ///
    /// # Panics
    /// If not all have come to it.
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

    /// Two contributions of each rank: loom finds any that is written while it is read.
    type Brought = [[UnsafeCell<u64>; 2]; RANKS];

    fn run(table: &Small, brought: &Brought, me: usize, barriers: u64, contributions: usize) {
        let mut last = LastBarrier::NONE;
        for number in 1..=barriers {
            let own = &brought[me][last.next() % contributions];
            // SAFETY: what is tested.
            own.with_mut(|place| unsafe { *place = 10 * number + me as u64 });
            last.arrive(table, me, 0, |rank| table.kicks[rank].notify());
            while last.state == BarrierState::Waiting {
                last.state = barrier::prepare_sleep(table, me, number);
                if last.state == BarrierState::Waiting {
                    table.kicks[me].wait();
                }
            }
            for (rank, brought) in brought.iter().enumerate() {
                // SAFETY: what is tested.
                let found = brought[last.last() % contributions].with(|place| unsafe { *place });
                assert_eq!(found, 10 * number + rank as u64);
            }
        }
    }

    fn check(barriers: u64, contributions: usize) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let table = Small::new();
            let brought: Arc<Brought> = Arc::new(std::array::from_fn(|_| std::array::from_fn(|_| UnsafeCell::new(0))));
            let other = thread::spawn({
                let (table, brought) = (table.clone(), brought.clone());
                move || run(&table, &brought, 1, barriers, contributions)
            });
            run(&table, &brought, 0, barriers, contributions);
            other.join().unwrap();
        });
    }

    #[test]
    fn what_is_brought_is_read_by_all_and_never_written_meanwhile() {
        check(3, 2);
    }

    #[test]
    #[should_panic]
    fn with_one_contribution_for_all_barriers_it_is() {
        check(2, 1);
    }

    #[test]
    #[should_panic = "contributions are read when all have come"]
    fn nobody_reads_before_all_have_come() {
        LastBarrier { number: 1, state: BarrierState::Waiting }.last();
    }

    #[test]
    #[should_panic = "a barrier begins when the one before it is over"]
    fn nobody_writes_at_a_barrier() {
        LastBarrier { number: 1, state: BarrierState::Waiting }.next();
    }
}
