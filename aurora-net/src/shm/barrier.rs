//! A barrier for all ranks of a node, in shared memory, without messages.
//!
//! Barriers are numbered. A rank that arrives stores a word and then the barrier's number in its own entry. When all
//! entries have that number, every rank compares all words and gets the same result. No rank can be more than one
//! barrier ahead of another, so each rank needs only two words, used alternately.
//!
//! A rank that stops spinning stores the number in [`BarrierEntry::Asleep`] and checks once more. An arriving rank
//! stores its number first and then looks for sleepers. Both ranks execute a fence in between, so either the former
//! sees that all have arrived, or the latter sees the sleeper. The last rank to arrive wakes all sleepers.

use super::ring::Position;
use super::spin_budget::SpinBudget;
use std::sync::atomic::{AtomicU64, Ordering};

/// A word that each rank stores for the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierEntry {
    /// The last barrier at which the rank has arrived.
    Number,
    /// The rank's word for the barrier with this number, modulo 2.
    Word(u64),
    /// The last barrier for which the rank went to sleep.
    Asleep,
}

/// The entries of all ranks. All words start as 0.
pub(crate) trait Table {
    type Position: Position;

    fn ranks(&self) -> usize;
    fn entry(&self, rank: usize, entry: BarrierEntry) -> &Self::Position;
}

/// Shared memory for the barriers of [`Node::arrive_at`](super::Node::arrive_at).
pub trait BarrierMemory {
    /// Returns a word of the rank with this index in [`Node::ranks`](super::Node::ranks). Only that rank writes it. All
    /// words start as 0. Words of different ranks, and [`BarrierEntry::Asleep`], should lie on different cache lines.
    fn entry(&self, rank: usize, entry: BarrierEntry) -> &AtomicU64;
}

pub(super) struct TableIn<'p, P>(pub &'p P, pub usize);

impl<P: BarrierMemory> Table for TableIn<'_, P> {
    type Position = AtomicU64;

    fn ranks(&self) -> usize {
        self.1
    }

    fn entry(&self, rank: usize, entry: BarrierEntry) -> &AtomicU64 {
        self.0.entry(rank, entry)
    }
}

/// The state of a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierState {
    /// At least one rank has not arrived.
    Waiting,
    /// All ranks have arrived with equal words.
    Agreed,
    /// All ranks have arrived, with different words.
    Disagreed,
}

/// Rank `me` arrives at barrier `number`, counted from 1. Calls `wake` for each rank that may have to be woken.
pub(crate) fn arrive<T: Table>(
    table: &T,
    me: usize,
    number: u64,
    word: u64,
    mut wake: impl FnMut(usize),
) -> BarrierState {
    table.entry(me, BarrierEntry::Word(number % 2)).store(word, Ordering::Relaxed);
    table.entry(me, BarrierEntry::Number).store(number, Ordering::Release);
    T::Position::fence();
    let state = state_of(table, me, number);
    if state != BarrierState::Waiting {
        let others = (0..table.ranks()).filter(|rank| *rank != me);
        let asleep = others.filter(|rank| table.entry(*rank, BarrierEntry::Asleep).load(Ordering::Relaxed) == number);
        asleep.for_each(&mut wake);
    }
    state
}

pub(crate) fn state_of<T: Table>(table: &T, me: usize, number: u64) -> BarrierState {
    let word = |rank| table.entry(rank, BarrierEntry::Word(number % 2)).load(Ordering::Relaxed);
    if absent(table, number).next().is_some() {
        return BarrierState::Waiting;
    }
    let own = word(me);
    if (0..table.ranks()).all(|rank| word(rank) == own) { BarrierState::Agreed } else { BarrierState::Disagreed }
}

/// Returns [`state_of`]. If the state is `Waiting`, rank `me` will be woken when all have arrived.
pub(crate) fn prepare_sleep<T: Table>(table: &T, me: usize, number: u64) -> BarrierState {
    table.entry(me, BarrierEntry::Asleep).store(number, Ordering::Relaxed);
    T::Position::fence();
    state_of(table, me, number)
}

pub(crate) fn spin<T: Table>(table: &T, me: usize, number: u64, budget: SpinBudget) -> BarrierState {
    let mut state = BarrierState::Waiting;
    budget.spin_then_yield(|| {
        state = state_of(table, me, number);
        state != BarrierState::Waiting
    });
    state
}

pub(crate) fn absent<T: Table>(table: &T, number: u64) -> impl Iterator<Item = usize> {
    // Acquire: a rank stores its word before its number.
    (0..table.ranks()).filter(move |rank| table.entry(*rank, BarrierEntry::Number).load(Ordering::Acquire) < number)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use loom::sync::atomic::AtomicU64;
    use loom::sync::{Arc, Notify};
    use loom::thread;

    pub(in crate::shm) const RANKS: usize = 2;

    pub(in crate::shm) struct Small {
        entries: [[AtomicU64; 4]; RANKS],
        pub(in crate::shm) kicks: [Notify; RANKS],
    }

    impl Small {
        pub(in crate::shm) fn new() -> Arc<Self> {
            let entries = std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(0)));
            Arc::new(Small { entries, kicks: std::array::from_fn(|_| Notify::new()) })
        }
    }

    impl Table for Small {
        type Position = AtomicU64;

        fn ranks(&self) -> usize {
            RANKS
        }

        fn entry(&self, rank: usize, entry: BarrierEntry) -> &AtomicU64 {
            &self.entries[rank][match entry {
                BarrierEntry::Number => 0,
                BarrierEntry::Asleep => 1,
                BarrierEntry::Word(parity) => 2 + parity as usize,
            }]
        }
    }

    fn wait(table: &Small, me: usize, number: u64, word: u64) -> BarrierState {
        let mut state = arrive(table, me, number, word, |rank| table.kicks[rank].notify());
        while state == BarrierState::Waiting {
            state = prepare_sleep(table, me, number);
            if state == BarrierState::Waiting {
                table.kicks[me].wait();
            }
        }
        state
    }

    /// Both ranks pass barriers with these words.
    fn check(words: &'static [[u64; RANKS]]) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let table = Small::new();
            let run = move |me: usize, table: Arc<Small>| {
                for (number, words) in (1..).zip(words) {
                    let wanted = if words[0] == words[1] { BarrierState::Agreed } else { BarrierState::Disagreed };
                    assert_eq!(wait(&table, me, number, words[me]), wanted);
                    // A rank that has passed knows that the other has arrived.
                    assert_eq!(absent(&*table, number).count(), 0);
                }
            };
            let other = thread::spawn({
                let table = table.clone();
                move || run(1, table)
            });
            run(0, table);
            other.join().unwrap();
        });
    }

    #[test]
    fn all_ranks_get_the_same_result_and_none_sleeps_on() {
        check(&[[7, 7], [8, 9]]);
    }

    #[test]
    fn an_old_word_is_never_taken_for_a_new_one() {
        check(&[[1, 1], [2, 2], [1, 3]]);
    }
}
