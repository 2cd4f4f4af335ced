//! Meetings of all ranks of a node, without a message.
//!
//! Meetings are numbered. A rank that comes to one writes down the meeting's number and, beside it, a word that says
//! what it came for; once everyone's number is there, all look at all words and so come to the same end. Nobody can be
//! more than one meeting ahead of anybody, so two words for each rank, used in turns, are enough.
//!
//! A rank that does not want to watch any longer says so and looks once more; one that comes writes its number first
//! and looks second. With a fence between the two on both sides, either the first sees that all are here, or the second
//! sees that it sleeps. Of those who come, the last one sees that all are here, and wakes who sleeps.

use super::ring::Position;
use super::spin_budget::SpinBudget;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a rank that comes to meetings writes down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierEntry {
    /// The last meeting that it came to.
    Number,
    /// What it came for, by the meeting's number modulo 2.
    Word(u64),
    /// The last meeting for which it went to sleep.
    Asleep,
}

/// Where they write it down; all begins as 0.
pub(crate) trait Table {
    type Position: Position;

    /// How many ranks there are.
    fn ranks(&self) -> usize;
    /// What a rank, by its number on the node, has written down.
    fn entry(&self, rank: usize, entry: BarrierEntry) -> &Self::Position;
}

/// Memory shared by all ranks of a node in which they have meetings of their own:
/// [`Node::arrive_at`](super::Node::arrive_at).
pub trait BarrierMemory {
    /// What a rank, by its number among the [node's](super::Node::ranks), has written down: nobody else writes there.
    /// All begins as 0. Words of different ranks are best apart from each other, and [`BarrierEntry::Asleep`] apart
    /// from the others.
    fn entry(&self, rank: usize, entry: BarrierEntry) -> &AtomicU64;
}

/// The table of a node of so many ranks in such a place.
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

/// How a meeting stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierState {
    /// Someone has not come.
    Waiting,
    /// All have come for the same.
    Agreed,
    /// All have come, not all for the same.
    Disagreed,
}

/// Rank `me` comes to a meeting. The numbers of its meetings go up by 1 from 1. Calls `wake` for each rank that sleeps
/// and whom nobody else may wake.
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

/// How the meeting stands to which rank `me` has come last.
pub(crate) fn state_of<T: Table>(table: &T, me: usize, number: u64) -> BarrierState {
    let word = |rank| table.entry(rank, BarrierEntry::Word(number % 2)).load(Ordering::Relaxed);
    if absent(table, number).next().is_some() {
        return BarrierState::Waiting;
    }
    let own = word(me);
    if (0..table.ranks()).all(|rank| word(rank) == own) { BarrierState::Agreed } else { BarrierState::Disagreed }
}

/// The same; if someone has not come yet, rank `me` will be woken when all have.
pub(crate) fn prepare_sleep<T: Table>(table: &T, me: usize, number: u64) -> BarrierState {
    table.entry(me, BarrierEntry::Asleep).store(number, Ordering::Relaxed);
    T::Position::fence();
    state_of(table, me, number)
}

/// Waits for those who have not come as long as `budget` says.
pub(crate) fn spin<T: Table>(table: &T, me: usize, number: u64, budget: SpinBudget) -> BarrierState {
    let mut state = BarrierState::Waiting;
    budget.spin_then_yield(|| {
        state = state_of(table, me, number);
        state != BarrierState::Waiting
    });
    state
}

/// Who has not come.
pub(crate) fn absent<T: Table>(table: &T, number: u64) -> impl Iterator<Item = usize> {
    // Acquire: who has come has written down its word before.
    (0..table.ranks()).filter(move |rank| table.entry(*rank, BarrierEntry::Number).load(Ordering::Acquire) < number)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use loom::sync::atomic::AtomicU64;
    use loom::sync::{Arc, Notify};
    use loom::thread;

    pub(in crate::shm) const RANKS: usize = 2;

    /// Two ranks, what they have written down, and what wakes them.
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

    /// What each rank comes for, meeting by meeting.
    fn check(words: &'static [[u64; RANKS]]) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let table = Small::new();
            let run = move |me: usize, table: Arc<Small>| {
                for (number, words) in (1..).zip(words) {
                    let wanted = if words[0] == words[1] { BarrierState::Agreed } else { BarrierState::Disagreed };
                    assert_eq!(wait(&table, me, number, words[me]), wanted);
                    // Whoever is through knows that the other has come.
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
    fn all_come_to_the_same_end_and_nobody_sleeps_on() {
        check(&[[7, 7], [8, 9]]);
    }

    #[test]
    fn an_old_word_is_never_taken_for_a_new_one() {
        check(&[[1, 1], [2, 2], [1, 3]]);
    }
}
