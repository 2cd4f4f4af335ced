//! Ranges of elements, copied in pieces, each under the latch of its owner.
//!
//! The unsafe code is sound by the numbered invariants of [`direct`](super).
#![allow(unsafe_code)]

use super::super::words;
use super::{Direct, READ, WRITE};
use crate::Element;
use crate::memory::cells;
use crate::memory::latch::Intent;
use std::ptr::NonNull;

/// Bytes copied under one latch, before a waiting owner gets its turn: tens of microseconds.
const COPIED_AT_ONCE: usize = 256 << 10;

/// Elements copied under one latch.
const fn copied_at_once<T>() -> usize {
    let elements = COPIED_AT_ONCE / size_of::<T>();
    if elements == 0 { 1 } else { elements }
}

impl<T: Element> Direct<T> {
    /// True if this rank may read elements of its node peers in place, or write them if `mutable`, where their latches
    /// admit it.
    pub(crate) fn is_permitted(&self, mutable: bool) -> bool {
        let (may, _) = self.permit.allowed();
        self.shared.is_some() && may & if mutable { WRITE } else { READ } != 0
    }

    /// Copies elements out, from element `start` on, all of which rank `owner` owns. False: ask the kernel for all of
    /// them, because the latch does not admit it, or the owner has changed its block between two pieces. So the result
    /// has all or none of the elements that the owner writes in a guard.
    pub(crate) fn copy_out(&self, owner: usize, start: usize, into: &mut [T]) -> bool {
        let whole = size_of_val(into);
        self.copy_out_by(owner, start, into, |from, into| {
            // SAFETY: invariants 1 and 4; invariant 3, because the caller holds the latch for reading.
            unsafe { words::copy_out(from, into, whole) };
        })
    }

    /// As `copy_out`. `copy` copies a piece while this rank holds the latch.
    pub(crate) fn copy_out_by(
        &self,
        owner: usize,
        start: usize,
        into: &mut [T],
        copy: impl Fn(NonNull<T>, &mut [T]),
    ) -> bool {
        let Some((shared, position)) = self.node_peer(owner) else {
            return false;
        };
        shared.check(start, into.len());
        let (sharing, mut first) = (&*shared.sharing, None);
        let (len, at_once) = (into.len(), copied_at_once::<T>());
        let done = self.in_pieces((sharing, Some(position)), Intent::Read, (len, at_once), |piece| {
            let openings = sharing.openings(position);
            let is_unchanged = *first.get_or_insert(openings) == openings;
            if is_unchanged {
                // SAFETY: invariant 1: `check` has compared it.
                let from = unsafe { shared.whole.add(start + piece.start) };
                copy(from, &mut into[piece]);
            }
            is_unchanged
        });
        done == len
    }

    /// Copies words in, to element `start` and after it, all of which rank `owner` owns, while its latch admits it and
    /// no rank shows the memory. Returns their number; ask the kernel for the rest, and for elements that are no words.
    pub(crate) fn copy_in(&self, owner: usize, start: usize, from: &[T]) -> usize {
        let Some((shared, position)) = self.node_peer(owner).filter(|_| cells::is_word::<T>()) else {
            return 0;
        };
        shared.check(start, from.len());
        let at_once = copied_at_once::<T>();
        self.in_pieces((&shared.sharing, Some(position)), Intent::Write, (from.len(), at_once), |piece| {
            // SAFETY: invariant 1: `check` has compared it.
            let into = unsafe { shared.whole.add(start + piece.start) };
            // SAFETY: invariants 1, 3 and 4; this rank holds the latch for writing, and elements are words.
            unsafe { words::copy_in(&from[piece], into) };
            shared.sharing.note_write(position);
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Route;
    use crate::memory::latch::{self, LatchMode};
    use crate::memory::shared::Sharing;
    use crate::prelude::*;
    use std::cell::{Cell, RefCell};

    /// Rank 0 copies rank 1's block of `each` elements.
    fn from_rank_1<T: Element>(each: usize, test: impl Fn(&Direct<T>, &Sharing, &mut [T]) + Sync) {
        let run = Config::threads(2).route(Route::Shm).run(|world| {
            let v = GVector::<T>::new(world, 2 * each)?;
            world.barrier()?;
            if world.is_root() {
                let sharing = v.direct.shared.as_ref().expect("shared memory").sharing.clone();
                test(&v.direct, &sharing, &mut vec![T::zeroed(); each]);
            }
            world.barrier()
        });
        run.expect("nothing fails");
    }

    fn holder(sharing: &Sharing) -> Option<usize> {
        latch::holder(sharing, 1, LatchMode::Shut, 0)
    }

    fn is_copied_in_pieces<T: Element>(each: usize, lens: &[usize]) {
        from_rank_1::<T>(each, |direct, sharing, into| {
            let copied = RefCell::new(Vec::new());
            let done = direct.copy_out_by(1, each, into, |_, piece| {
                assert_eq!(holder(sharing), Some(0), "not held while a piece is copied");
                copied.borrow_mut().push(piece.len());
            });
            assert_eq!((done, &copied.into_inner()[..], holder(sharing)), (true, lens, None));
            // An owner that sets its latch meanwhile waits for the piece under way, and no longer.
            for mode in [LatchMode::ReadOnly, LatchMode::Busy, LatchMode::Shut] {
                let copied = Cell::new(0);
                let done = direct.copy_out_by(1, each, into, |_, _| {
                    copied.set(copied.get() + 1);
                    latch::set(sharing, 1, mode, 0);
                });
                let is_read = mode == LatchMode::ReadOnly || lens.len() == 1;
                assert_eq!((done, copied.get()), (is_read, if is_read { lens.len() } else { 1 }), "{mode:?}");
                assert_eq!((direct.copy_out(1, each, into), holder(sharing)), (mode == LatchMode::ReadOnly, None));
                assert_eq!(direct.copy_in(1, each, into), 0, "{mode:?}");
                latch::set(sharing, 1, LatchMode::Open, 0);
            }
            // The owner may have changed its block in between.
            let done = direct.copy_out_by(1, each, into, |_, _| {
                latch::set(sharing, 1, LatchMode::Busy, 0);
                latch::set(sharing, 1, LatchMode::Open, 0);
            });
            assert_eq!(done, lens.len() == 1);
        });
    }

    #[test]
    fn a_latch_is_held_for_one_piece_at_a_time() {
        let words = (256 << 10) / 8;
        is_copied_in_pieces::<u64>(2 * words + 3, &[words, words, 3]);
        is_copied_in_pieces::<u64>(1, &[1]);
        let wide = (256 << 10) / 12;
        is_copied_in_pieces::<[u32; 3]>(wide + 1, &[wide, 1]);
        is_copied_in_pieces::<[u64; 40_000]>(2, &[1, 1]);
    }

    #[test]
    fn only_words_are_copied_in() {
        from_rank_1::<u16>(1000, |direct, _, from| assert_eq!(direct.copy_in(1, 1000, from), 1000));
        from_rank_1::<[u16; 3]>(1000, |direct, _, from| assert_eq!(direct.copy_in(1, 1000, from), 0));
    }

    #[test]
    #[should_panic = "3 elements from 1998 on, of 2000"]
    fn nothing_behind_the_last_element_is_copied() {
        from_rank_1::<u64>(1000, |direct, _, into| {
            direct.copy_out(1, 1998, &mut into[..3]);
        });
    }
}
