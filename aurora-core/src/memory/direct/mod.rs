//! Elements of a vector without its kernel: single elements of the rank's own block, single elements and ranges of the
//! blocks of ranks that share memory.
//!
//! The [`Permit`], which the kernel sets, has the accesses that the rank's own thread may make without asking: none
//! while a scope is not complete, while a guard of the wrong kind is open, or after a fault. The [latch](super::latch)
//! of another rank's block, which its owner sets, has the accesses of other ranks. Every other access goes to the
//! kernel.
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

mod ranges;

use super::cells;
use super::latch::Intent;
use super::latched::{Latched, acquire};
use super::permit::{OWN, Permit, READ, SCOPES, WRITE};
use super::shared::Sharing;
use super::{Prefetch, Storage, typed};
use crate::Element;
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
    /// True if the elements of this rank's block are words.
    words: bool,
    shared: Option<Shared<T>>,
    alone: bool,
    /// The last load that is known to be shown by no rank any more, plus 1.
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

    /// As `at`, while reads are watched.
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

    /// As `put`, in a job of one rank.
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

    /// True if no rank shows the memory any more. That stays so until the next load, which needs this rank.
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

    /// Reads the elements at `indices` while all latches admit it. Returns their number; ask the kernel for the rest.
    pub(crate) fn at_many(&self, indices: &[usize], values: &mut [T]) -> usize {
        let Some(shared) = self.shared.as_ref().filter(|shared| shared.is_all_here()) else {
            return 0;
        };
        self.read(shared, (None, 0..shared.len), indices, values)
    }

    /// As `at_many`, for elements of `block`, which rank `owner` owns, while its latch admits it.
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

    /// Sets elements, in the order given, while all latches admit it. Returns their number; ask the kernel for the
    /// rest.
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

impl<T: Element> Direct<T> {
    /// The shared memory, and the position of `owner` there.
    fn node_peer(&self, owner: usize) -> Option<(&Shared<T>, usize)> {
        let shared = self.shared.as_ref()?;
        Some((shared, shared.position(owner)?))
    }
}

#[cfg(test)]
impl<T: Element> Direct<T> {
    /// Acquires the latch of the rank at this position and holds it, as if stopped before it sets an element. The
    /// result continues, and returns true if the write counts.
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

    /// As `stop_holding`, before it reads an element: the result returns the element too.
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
