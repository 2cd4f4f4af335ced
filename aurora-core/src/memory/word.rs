//! The value of a scalar of up to 8 bytes: a word that the ranks of its home's node read and change in place.
//!
//! Next to the value lies its *opening*, which only the home's kernel writes. It is 0 if the value may not be used in
//! place, else the number of collective scopes of the scalar that its home has completed, plus 1. A rank that has
//! completed more scopes than the home would miss values that the home is about to merge: it asks the home by a
//! message, which waits there. After a fault, and at the end of the job, the opening is 0 for good.
//!
//! No rank waits for users of the value, as owners of blocks do: every use, also the home's own, is one atomic
//! operation, before or after any other. In a collective scope no rank uses the value in place: each keeps its own
//! [`Permit`] closed from entering a scope until it learns that the scope is complete.
//!
//! Why the unsafe code is sound:
//!
//! 1. The memory is a segment, which never changes its length and stays mapped as long as a handle to it exists. The
//!    word holds one.
//! 2. It is page-aligned and no shorter than [`Word::LEN`], which is checked when the word is made.
//! 3. It holds only atomics, which are valid with all bits zero, and is used only as atomics.
#![allow(unsafe_code)]

use super::gate;
use super::permit::{Permit, READ, SCOPES, WRITE};
use super::shared::Line;
use crate::ids::Epoch;
use crate::polls::Level;
use aurora_net::Segment;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
#[repr(C)]
struct Lines<A> {
    /// 0: shut. Else the number of scopes that the home has completed, plus 1.
    opening: Line<A>,
    value: Line<A>,
}

impl<A: gate::Word> Lines<A> {
    /// Called by the home alone: admits ranks that have completed at most this number of scopes.
    fn open(&self, settled: Epoch) {
        self.opening.0.store(settled + 1, Ordering::Release);
    }

    #[inline]
    fn admits(&self, settled: Epoch) -> bool {
        self.opening.0.load(Ordering::Acquire) > settled
    }

    #[inline]
    fn get(&self) -> u64 {
        self.value.0.load(Ordering::Acquire)
    }

    /// Replaces the value by `new` of it, atomically. Returns the old value; `None` if `new` returns `None`.
    #[inline]
    fn change(&self, mut new: impl FnMut(u64) -> Option<u64>) -> Option<u64> {
        let mut current = self.get();
        loop {
            match self.value.0.exchange(current, new(current)?) {
                Ok(old) => return Some(old),
                Err(other) => current = other,
            }
        }
    }
}

#[derive(Debug)]
enum Memory {
    Own(Box<Lines<AtomicU64>>),
    Shared(Segment),
}

/// The value of a scalar, as one rank of its home's node sees it.
#[derive(Debug)]
pub(crate) struct Word {
    memory: Memory,
}

impl Word {
    /// The length of a word in the segment, in bytes.
    pub(crate) const LEN: usize = size_of::<Lines<AtomicU64>>();

    /// A word in memory of this rank.
    pub(crate) fn own() -> Self {
        Word { memory: Memory::Own(Box::default()) }
    }

    /// A word at the start of a segment. Panics if the segment is too short: a bug of ours.
    pub(crate) fn shared(segment: Segment) -> Self {
        assert!(segment.len() >= Self::LEN, "a segment that a word does not fit");
        Word { memory: Memory::Shared(segment) }
    }

    #[inline]
    fn lines(&self) -> &Lines<AtomicU64> {
        match &self.memory {
            Memory::Own(lines) => lines,
            Memory::Shared(segment) => {
                let lines = segment.as_ptr().cast::<Lines<AtomicU64>>();
                // SAFETY: invariants 1 to 3.
                unsafe { &*lines }
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.lines().get()
    }

    /// Replaces the value by `new` of it, atomically. Returns the old value; `None` if `new` returns `None`.
    #[inline]
    pub(crate) fn change(&self, new: impl FnMut(u64) -> Option<u64>) -> Option<u64> {
        self.lines().change(new)
    }

    /// Sets the value to `new` if it is `expected`. Returns the old value.
    #[inline]
    pub(crate) fn exchange(&self, expected: u64, new: u64) -> u64 {
        let (Ok(old) | Err(old)) = gate::Word::exchange(&self.lines().value.0, expected, new);
        old
    }

    /// Called by the home alone: admits ranks that have completed at most this number of scopes.
    pub(crate) fn open(&self, settled: Epoch) {
        self.lines().open(settled);
    }

    /// Called by the home alone: admits no rank.
    pub(crate) fn shut(&self) {
        self.lines().opening.0.store(0, Ordering::Release);
    }
}

/// A scalar's value as the calling thread of one rank uses it, without its kernel.
#[derive(Debug)]
pub(crate) struct InPlace {
    permit: Arc<Permit>,
    word: Arc<Word>,
}

impl InPlace {
    pub(crate) fn new(permit: Arc<Permit>, word: Arc<Word>) -> Self {
        InPlace { permit, word }
    }

    /// The value, if it may be read at this moment.
    #[inline]
    pub(crate) fn to_read(&self) -> Option<&Word> {
        let ready = self.permit.word();
        self.admitted(ready & READ != 0, ready >> SCOPES)
    }

    /// The value, if it may be changed.
    #[inline]
    pub(crate) fn to_change(&self) -> Option<&Word> {
        let ready = self.permit.word();
        self.admitted(ready & WRITE != 0, ready >> SCOPES)
    }

    /// The value, if it may be changed, also while changes are watched.
    pub(crate) fn to_change_watched(&self) -> Option<&Word> {
        let (may, epoch) = self.permit.allowed();
        self.admitted(may & WRITE != 0, epoch)
    }

    #[inline]
    fn admitted(&self, may: bool, epoch: Epoch) -> Option<&Word> {
        (may && self.word.lines().admits(epoch)).then_some(&*self.word)
    }

    pub(crate) fn wake(&self, level: Level) -> bool {
        self.permit.wake(level)
    }
}

#[cfg(test)]
mod model {
    use super::super::model::{Modelled, beside};
    use super::*;
    use loom::sync::Arc;

    fn lines(settled: Epoch) -> Arc<Lines<Modelled>> {
        Arc::new(Lines { opening: Line(Modelled::new(settled + 1)), value: Line(Modelled::new(0)) })
    }

    /// Two ranks add in place, while the home's daemon adds for a third.
    fn sums(add: fn(&Lines<Modelled>)) {
        loom::model(move || {
            let lines = lines(0);
            let others = [(); 2].map(|()| beside(&lines, add));
            add(&lines);
            others.into_iter().for_each(|other| other.join().unwrap());
            assert_eq!(lines.get(), 3);
        });
    }

    #[test]
    fn no_sum_is_lost() {
        sums(|lines| {
            lines.change(|value| Some(value + 1)).unwrap();
        });
    }

    #[test]
    #[should_panic]
    fn a_sum_in_two_steps_is_found_out() {
        sums(|lines| {
            let value = lines.get();
            lines.value.0.store(value + 1, Ordering::Release);
        });
    }

    /// A scope ends in which the home merges 7 into the value. A node peer already knows that the scope is complete.
    fn merged(home: fn(&Lines<Modelled>), admits: fn(&Lines<Modelled>) -> bool) {
        loom::model(move || {
            let lines = lines(0);
            let peer = beside(&lines, move |lines| {
                if admits(lines) {
                    assert_eq!(lines.change(|value| Some(value + 1)), Some(7), "the scope is over");
                }
            });
            home(&lines);
            peer.join().unwrap();
        });
    }

    fn merge(lines: &Lines<Modelled>) {
        lines.change(|value| Some(value + 7)).unwrap();
    }

    fn merge_and_open(lines: &Lines<Modelled>) {
        merge(lines);
        lines.open(1);
    }

    #[test]
    fn who_has_settled_a_scope_finds_its_value() {
        merged(merge_and_open, |lines| lines.admits(1));
    }

    #[test]
    #[should_panic(expected = "the scope is over")]
    fn an_opening_without_scopes_is_found_out() {
        merged(merge_and_open, |lines| lines.admits(0));
    }

    #[test]
    #[should_panic(expected = "the scope is over")]
    fn a_home_that_opens_first_is_found_out() {
        let home = |lines: &Lines<Modelled>| {
            lines.open(1);
            merge(lines);
        };
        merged(home, |lines| lines.admits(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_in_place_while_both_sides_say_so() {
        for word in [Word::own(), Word::shared(Segment::create(Word::LEN).unwrap())] {
            let (permit, word) = (Arc::new(Permit::default()), Arc::new(word));
            let mine = InPlace::new(permit.clone(), word.clone());
            let usable = || [mine.to_read(), mine.to_change(), mine.to_change_watched()].map(|word| word.is_some());
            assert_eq!(usable(), [false; 3], "both begin closed");
            permit.set(3, 0, READ | WRITE);
            assert_eq!(usable(), [false; 3], "the home has not opened it");
            word.open(2);
            assert_eq!(usable(), [false; 3], "the home has settled less");
            word.open(3);
            assert_eq!(usable(), [true; 3]);
            assert_eq!(mine.to_change().unwrap().change(|old| Some(old + 5)), Some(0));
            assert_eq!((word.exchange(4, 9), word.exchange(5, 9), word.get()), (5, 5, 9));
            assert_eq!(word.change(|_| None), None);
            permit.watch();
            assert_eq!(usable(), [false, false, true]);
            assert!(mine.wake(Level::Writes));
            assert_eq!(usable(), [true, false, true]);
            word.shut();
            assert_eq!(usable(), [false; 3]);
        }
    }
}
