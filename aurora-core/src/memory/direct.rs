//! Elements of a vector without its kernel: single elements of the rank's own block, single elements and ranges of the
//! blocks of ranks that share memory.
//!
//! The [`Permit`], which the kernel sets, says what the rank's own thread may do without asking: nothing while a
//! scope is unsettled, while a guard of the wrong kind is open, or after a fault. The [latch](super::latch) of
//! another rank's block, which its owner sets, says what others may do there. Every other access goes to the kernel.
//!
//! Why the unsafe code is sound:
//!
//! 1. `own` and `whole` point at the elements of this rank's block and of the whole vector. They are all initialised,
//!    and stay mapped and in their place as long as the vector's handle lives: a block's memory is freed only when
//!    every handle has been dropped, this one included, and `sharing` holds its segment.
//! 2. While the permit says [`OWN`], nobody else writes to this rank's block except as words (`cells.rs`), or as here
//!    while holding its latch. This thread is here and not in a guard. Before a guard can write, the kernel withdraws
//!    `OWN` under its lock, on this thread.
//! 3. While a latch is held for reading, only other holders write. While it is held for writing, only holders use the
//!    block. All of them write words only, and as words (`cells.rs`, `words.rs`). That holds however long they hold
//!    it: an owner that waits no longer gives the place up (`latch.rs`).
//! 4. Every index is compared with the length of the memory that it points into.
//! 5. In a job of one rank nobody sends a request. So while the permit says [`WRITE`], which requires that no guard
//!    is open, nobody else uses the block.
#![allow(unsafe_code)]

use super::cells;
use super::latch::Intent;
use super::latched::{Latched, acquire};
use super::permit::{OWN, Permit, READ, SCOPES, WRITE};
use super::shared::Sharing;
use super::{Prefetch, Storage, typed, words};
use crate::element::Element;
use crate::ids::Epoch;
use crate::polls::Level;
use std::cell::Cell;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

pub(crate) struct Direct<T> {
    permit: Arc<Permit>,
    own: NonNull<T>,
    range: Range<usize>,
    /// Whether the elements of this rank's block are words.
    words: bool,
    shared: Option<Shared<T>>,
    alone: bool,
    /// The last load which is known to be shown by nobody any more, plus 1.
    clear: Cell<Epoch>,
}

struct Shared<T> {
    whole: NonNull<T>,
    len: usize,
    sharing: Arc<Sharing>,
    /// Each rank's position on this node; any other number for a rank of another node.
    positions: Box<[u32]>,
}

impl<T> Shared<T> {
    #[inline]
    fn position(&self, owner: usize) -> Option<usize> {
        let position = self.positions[owner] as usize;
        (position < self.sharing.ranks()).then_some(position)
    }

    fn is_all_here(&self) -> bool {
        self.positions.len() == self.sharing.ranks()
    }

    /// Panics unless there are `len` elements from `start` on.
    fn check(&self, start: usize, len: usize) {
        let is_inside = start.checked_add(len).is_some_and(|end| end <= self.len);
        assert!(is_inside, "{len} elements from {start} on, of {}", self.len);
    }
}

impl<T: Element> Shared<T> {
    /// # Safety
    /// The element exists, and this rank holds the latch of its owner.
    #[inline]
    unsafe fn read(&self, index: usize) -> T {
        // SAFETY: invariant 1, and the caller promises that the element exists.
        let at = unsafe { self.whole.add(index) };
        if cells::is_word::<T>() {
            // SAFETY: invariant 3.
            unsafe { cells::read(at) }
        } else {
            // SAFETY: invariant 3: holders write words only.
            unsafe { at.read() }
        }
    }

    /// # Safety
    /// As for [`Shared::read`]. The element is a word, and the latch is held for writing.
    #[inline]
    unsafe fn write(&self, index: usize, value: T) {
        // SAFETY: invariant 1, and the caller promises that the element exists.
        let at = unsafe { self.whole.add(index) };
        // SAFETY: invariant 3: the caller holds the latch.
        unsafe { cells::write(at, value) };
    }
}

impl<T: Element> Direct<T> {
    /// For a vector whose block, the elements `range`, no other rank shares; `alone`: the job has one rank.
    pub(crate) fn to(permit: Arc<Permit>, block: Arc<dyn Storage>, range: Range<usize>, alone: bool) -> Self {
        // SAFETY: the vector's handle, which is about to be made, keeps the block; the kernel keeps the permit.
        let direct = unsafe { Direct::new(permit, typed::<T>(block).start(), range) };
        Direct { alone, ..direct }
    }

    /// For a vector whose block, the elements `range`, begins at `own`.
    ///
    /// # Safety
    /// `own` is as invariant 1 says, and `permit` is kept as invariant 2 says.
    pub(super) unsafe fn new(permit: Arc<Permit>, own: NonNull<T>, range: Range<usize>) -> Self {
        Direct { permit, own, range, words: cells::are_words(own), shared: None, alone: false, clear: Cell::new(0) }
    }

    /// Adds the memory that several ranks share: `len` elements from `whole` on.
    ///
    /// # Safety
    /// `whole` is as invariant 1 says.
    pub(super) unsafe fn share(&mut self, whole: NonNull<T>, len: usize, sharing: Arc<Sharing>, positions: Box<[u32]>) {
        self.shared = Some(Shared { whole, len, sharing, positions });
    }

    #[inline]
    pub(crate) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Element `index`, which rank `owner` owns. `None`: ask the kernel.
    #[inline]
    pub(crate) fn at(&self, index: usize, owner: impl FnOnce() -> usize) -> Option<T> {
        self.at_by(self.permit.word(), index, owner)
    }

    /// The same while reads are watched.
    pub(crate) fn at_watched(&self, index: usize, owner: impl FnOnce() -> usize) -> Option<T> {
        let (may, epoch) = self.permit.allowed();
        self.at_by(epoch << SCOPES | may, index, owner)
    }

    pub(crate) fn wake(&self, level: Level) -> bool {
        self.permit.wake(level)
    }

    #[inline(always)]
    fn at_by(&self, ready: u64, index: usize, owner: impl FnOnce() -> usize) -> Option<T> {
        let local = index.wrapping_sub(self.range.start);
        if ready & OWN != 0 && self.words && local < self.range.len() {
            // SAFETY: invariants 1 and 4.
            let at = unsafe { self.own.add(local) };
            // SAFETY: invariant 2.
            return Some(unsafe { cells::read(at) });
        }
        self.at_node_peer(ready, index, owner)
    }

    #[inline]
    fn at_node_peer(&self, ready: u64, index: usize, owner: impl FnOnce() -> usize) -> Option<T> {
        let shared = self.shared.as_ref().filter(|shared| ready & READ != 0 && index < shared.len)?;
        let (sharing, owner) = (&*shared.sharing, shared.position(owner())?);
        if !acquire(sharing, Some(owner), Intent::Read, ready >> SCOPES) {
            return None;
        }
        // SAFETY: invariant 4, and this rank holds the latch.
        let value = unsafe { shared.read(index) };
        sharing.release_latch(Some(owner)).then_some(value)
    }

    /// Sets element `index`, which rank `owner` owns. False: not done, or it does not count; ask the kernel.
    #[inline]
    pub(crate) fn put(&self, index: usize, value: T, owner: impl FnOnce() -> usize) -> bool {
        let ready = self.permit.word();
        let Some(shared) = self.shared.as_ref().filter(|shared| ready & WRITE != 0 && index < shared.len) else {
            return self.put_alone(ready, index, value);
        };
        let sharing = &*shared.sharing;
        let Some(owner) = shared.position(owner()).filter(|_| cells::is_word::<T>() && self.is_clear(sharing)) else {
            return false;
        };
        if !acquire(sharing, Some(owner), Intent::Write, ready >> SCOPES) {
            return false;
        }
        // SAFETY: invariant 4; this rank holds the latch for writing, and elements are words.
        unsafe { shared.write(index, value) };
        sharing.note_write(owner);
        sharing.release_latch(Some(owner))
    }

    /// The same in a job of one rank.
    #[inline]
    fn put_alone(&self, ready: u64, index: usize, value: T) -> bool {
        let local = index.wrapping_sub(self.range.start);
        let may = self.alone && ready & WRITE != 0 && self.words && local < self.range.len();
        if may {
            // SAFETY: invariants 1 and 4.
            let at = unsafe { self.own.add(local) };
            // SAFETY: invariant 5.
            unsafe { cells::write(at, value) };
            self.permit.note_write();
        }
        may
    }

    /// Whether nobody shows the memory any more. That stays so until the next load, which needs this rank.
    #[inline]
    fn is_clear(&self, sharing: &Sharing) -> bool {
        let load = self.permit.load();
        if self.clear.get() == load + 1 {
            return true;
        }
        let clear = sharing.is_clear(load, &(0..usize::MAX));
        if clear {
            self.clear.set(load + 1);
        }
        clear
    }
}

/// Elements accessed under one latch, before a waiting owner gets its turn: some microseconds.
const AT_ONCE: usize = 256;

impl<T: Element> Direct<T> {
    pub(crate) fn is_all_here(&self) -> bool {
        self.shared.as_ref().is_some_and(Shared::is_all_here)
    }

    pub(crate) fn is_here(&self, owner: usize) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.position(owner).is_some())
    }

    /// Reads the elements at `indices` while all latches admit it. Returns how many; ask the kernel for the rest.
    pub(crate) fn at_many(&self, indices: &[usize], values: &mut [T]) -> usize {
        let Some(shared) = self.shared.as_ref().filter(|shared| shared.is_all_here()) else {
            return 0;
        };
        self.read(shared, (None, 0..shared.len), indices, values)
    }

    /// The same for elements of `block`, which rank `owner` owns, while its latch admits it.
    pub(crate) fn at_many_of(&self, owner: usize, block: Range<usize>, indices: &[usize], values: &mut [T]) -> usize {
        let Some((shared, position)) = self.node_peer(owner) else {
            return 0;
        };
        self.read(shared, (Some(position), block), indices, values)
    }

    fn read(
        &self,
        shared: &Shared<T>,
        (owner, block): (Option<usize>, Range<usize>),
        indices: &[usize],
        values: &mut [T],
    ) -> usize {
        let Shared { whole, len, sharing, .. } = shared;
        assert!(block.end <= *len, "elements {block:?} of {len}");
        let memory = Prefetch::from(whole.as_ptr());
        self.in_pieces((sharing, owner), Intent::Read, (indices.len(), AT_ONCE), |piece| {
            let (indices, values) = (&indices[piece.clone()], &mut values[piece]);
            // No element depends on the one before, so many cache misses are in flight; prefetches start them early.
            indices.iter().for_each(|index| memory.fetch(*index));
            for (value, index) in values.iter_mut().zip(indices) {
                assert!(block.contains(index), "element {index} of {block:?}");
                // SAFETY: invariant 4, and this rank holds the latch of the owner, or all.
                *value = unsafe { shared.read(*index) };
            }
            true
        })
    }

    /// Sets elements, in the order given, while all latches admit it. Returns how many; ask the kernel for the rest.
    pub(crate) fn put_many(&self, writes: &[(usize, T)]) -> usize {
        let all_here = self.shared.as_ref().filter(|shared| cells::is_word::<T>() && shared.is_all_here());
        let Some(shared) = all_here else {
            return 0;
        };
        let Shared { len, sharing, .. } = shared;
        self.in_pieces((sharing, None), Intent::Write, (writes.len(), AT_ONCE), |piece| {
            for (index, value) in &writes[piece] {
                assert!(index < len, "element {index} of {len}");
                // SAFETY: invariant 4; this rank holds all latches for writing, and elements are words.
                unsafe { shared.write(*index, *value) };
            }
            (0..sharing.ranks()).for_each(|owner| sharing.note_write(owner));
            true
        })
    }

    /// Acts on one piece after another of `len` elements, each of `at_once` at most, while the latch of an owner, or of
    /// all, admits it, and until `act` returns false. Releases the latch between two pieces. Returns the number of
    /// elements that are done.
    fn in_pieces(
        &self,
        (sharing, owner): (&Sharing, Option<usize>),
        intent: Intent,
        (len, at_once): (usize, usize),
        mut act: impl FnMut(Range<usize>) -> bool,
    ) -> usize {
        let mut done = 0;
        while done < len {
            let (may, epoch) = self.permit.allowed();
            let may = match intent {
                Intent::Read => may & READ != 0,
                Intent::Write => may & WRITE != 0 && self.is_clear(sharing),
            };
            if !may {
                break;
            }
            let Some(latched) = Latched::acquire(sharing, owner, intent, epoch) else {
                break;
            };
            let end = len.min(done + at_once);
            let goes_on = act(done..end);
            if !latched.release() || !goes_on {
                break;
            }
            done = end;
        }
        done
    }
}

/// Bytes copied under one latch, before a waiting owner gets its turn: tens of microseconds.
const COPIED_AT_ONCE: usize = 256 << 10;

/// Elements copied under one latch.
const fn copied_at_once<T>() -> usize {
    let elements = COPIED_AT_ONCE / size_of::<T>();
    if elements == 0 { 1 } else { elements }
}

impl<T: Element> Direct<T> {
    /// Whether this rank may read elements of its node peers in place, or write them if `mutable`, where their latches
    /// admit it.
    pub(crate) fn is_permitted(&self, mutable: bool) -> bool {
        let (may, _) = self.permit.allowed();
        self.shared.is_some() && may & if mutable { WRITE } else { READ } != 0
    }

    /// Copies elements out, from element `start` on, all of which rank `owner` owns. False: ask the kernel for all of
    /// them, because the latch does not admit it, or the owner has changed its block between two pieces. So the result
    /// has none or all of what the owner writes in a guard.
    pub(crate) fn copy_out(&self, owner: usize, start: usize, into: &mut [T]) -> bool {
        let whole = size_of_val(into);
        self.copy_out_by(owner, start, into, |from, into| {
            // SAFETY: invariants 1 and 4; invariant 3, because the caller holds the latch for reading.
            unsafe { words::copy_out(from, into, whole) };
        })
    }

    /// The same. `copy` copies a piece while this rank holds the latch.
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
    /// no rank shows the memory. Returns how many; ask the kernel for the rest, and for elements that are no words.
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

    /// The shared memory, and the position of `owner` there.
    fn node_peer(&self, owner: usize) -> Option<(&Shared<T>, usize)> {
        let shared = self.shared.as_ref()?;
        Some((shared, shared.position(owner)?))
    }
}

#[cfg(test)]
impl<T: Element> Direct<T> {
    /// Acquires the latch of the rank at this position and holds it, as if stopped before it sets an element. The
    /// result continues, and returns whether the write counts.
    pub(crate) fn stop_holding(&self, owner: usize, index: usize, value: T) -> impl FnOnce() -> bool + '_ {
        let shared = self.shared.as_ref().expect("shared memory");
        let Shared { len, sharing, .. } = shared;
        let ready = self.permit.word();
        assert!(ready & WRITE != 0 && self.is_clear(sharing) && index < *len && cells::is_word::<T>());
        assert!(acquire(sharing, Some(owner), Intent::Write, ready >> SCOPES), "the latch is open");
        move || {
            // SAFETY: as in `put`.
            unsafe { shared.write(index, value) };
            sharing.release_latch(Some(owner))
        }
    }

    /// The same before it reads an element: the result returns the element too.
    pub(crate) fn stop_reading(&self, owner: usize, index: usize) -> impl FnOnce() -> (T, bool) + '_ {
        let shared = self.shared.as_ref().expect("shared memory");
        let Shared { len, sharing, .. } = shared;
        let ready = self.permit.word();
        assert!(ready & READ != 0 && index < *len && !cells::is_word::<T>());
        assert!(acquire(sharing, Some(owner), Intent::Read, ready >> SCOPES), "the latch is open");
        move || {
            // SAFETY: as in `at_node_peer`.
            let value = unsafe { shared.read(index) };
            (value, sharing.release_latch(Some(owner)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::latch::{self, LatchMode};
    use super::*;
    use crate::Route;
    use crate::prelude::*;
    use std::cell::RefCell;

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
            // It may have changed its block in between.
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
