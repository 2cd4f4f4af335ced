//! Single elements of a vector without its kernel: one's own, and those of the ranks that share memory.
//!
//! The [`Permit`], which the kernel sets, says what the rank's own thread may do without asking: nothing while a scope
//! is under way, a guard of the wrong kind is open, or something is at fault. The [latch](super::latch) of another
//! rank's block, which its owner sets, says what others may do there. Everything else goes by the kernel and, if need
//! be, by a message.
//!
//! Why the unsafe code is sound:
//!
//! 1. `own` and `whole` point at the elements of this rank's block and of the whole vector, all initialised, which stay
//!    mapped and in their place as long as the vector's handle lives: a block's memory is given back when every handle
//!    has been dropped, this one included, and a segment while `sharing` holds it.
//! 2. While the permit says [`OWN`], nobody else writes to our own block but as words (`cells.rs`) or, holding its
//!    latch, as here; our thread itself is here and not in a guard. The kernel takes that back under its lock, on our
//!    own thread, before a guard can write.
//! 3. While a latch is held for reading nobody writes but other holders; while it is held for writing nobody but
//!    holders uses the block. All of them touch words only. That holds however long they hold it: an owner that waits
//!    no longer gives the place up (`latch.rs`).
//! 4. Every index is compared with the length of what it points into.
//! 5. In a world of one rank nobody sends a request, so while the permit says [`WRITE`], which is when no guard is
//!    open, nobody else uses the block.
#![allow(unsafe_code)]

use super::cells;
use super::latch::Intent;
use super::latched::{Latched, acquire};
use super::permit::{OWN, Permit, READ, SCOPES, WRITE};
use super::shared::Sharing;
use super::{Prefetch, Storage, typed};
use crate::element::Element;
use crate::ids::Epoch;
use crate::polls::Level;
use std::cell::Cell;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// The elements of one vector that can be reached without a message.
pub(crate) struct Direct<T> {
    permit: Arc<Permit>,
    own: NonNull<T>,
    range: Range<usize>,
    /// Whether the elements of our own block are words.
    words: bool,
    shared: Option<Shared<T>>,
    /// There is no other rank.
    alone: bool,
    /// The last load of which it is known that nobody shows it any more, plus 1.
    clear: Cell<Epoch>,
}

struct Shared<T> {
    whole: NonNull<T>,
    len: usize,
    sharing: Arc<Sharing>,
    /// The position on this node of each rank of the job; any other number if it is on another one.
    positions: Box<[u32]>,
}

impl<T> Shared<T> {
    #[inline]
    fn position(&self, owner: usize) -> Option<usize> {
        let position = self.positions[owner] as usize;
        (position < self.sharing.ranks()).then_some(position)
    }

    /// Whether all ranks of the job share it, so that every element is here.
    fn is_all_here(&self) -> bool {
        self.positions.len() == self.sharing.ranks()
    }
}

impl<T: Element> Direct<T> {
    /// Of a vector whose block, the elements `range`, lies in memory that no other rank shares; `alone` if there is
    /// none.
    pub(crate) fn to(permit: Arc<Permit>, block: Arc<dyn Storage>, range: Range<usize>, alone: bool) -> Self {
        // SAFETY: the vector's handle, which is about to be made, keeps the block; the kernel keeps the permit.
        let direct = unsafe { typed::<T>(block).direct(permit, range) };
        Direct { alone, ..direct }
    }

    /// Of a vector whose block, the elements `range`, begins at `own`.
    ///
    /// # Safety
    /// `own` is as invariant 1 says, and `permit` is kept as invariant 2 says.
    pub(super) unsafe fn new(permit: Arc<Permit>, own: NonNull<T>, range: Range<usize>) -> Self {
        Direct { permit, own, range, words: cells::are_words(own), shared: None, alone: false, clear: Cell::new(0) }
    }

    /// The same, of one whose memory several ranks share: `len` elements from `whole` on.
    ///
    /// # Safety
    /// `whole` is as invariant 1 says.
    pub(super) unsafe fn share(&mut self, whole: NonNull<T>, len: usize, sharing: Arc<Sharing>, positions: Box<[u32]>) {
        self.shared = Some(Shared { whole, len, sharing, positions });
    }

    /// The elements of this rank's block.
    #[inline]
    pub(crate) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Element `index`, of rank `owner`. None: ask the kernel.
    #[inline]
    pub(crate) fn at(&self, index: usize, owner: impl FnOnce() -> usize) -> Option<T> {
        self.at_by(self.permit.word(), index, owner)
    }

    /// The same while looks are watched.
    pub(crate) fn at_watched(&self, index: usize, owner: impl FnOnce() -> usize) -> Option<T> {
        let (may, epoch) = self.permit.allowed();
        self.at_by(epoch << SCOPES | may, index, owner)
    }

    /// See [`Permit::wake`].
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
        let Shared { whole, sharing, .. } = shared;
        let owner = shared.position(owner())?;
        if !acquire(sharing, owner, Intent::Read, ready >> SCOPES) {
            return None;
        }
        // SAFETY: invariants 1 and 4.
        let at = unsafe { whole.add(index) };
        let value = if cells::is_word::<T>() {
            // SAFETY: invariant 3.
            unsafe { cells::read(at) }
        } else {
            // SAFETY: invariant 3: holders write words only.
            unsafe { at.read() }
        };
        sharing.release_latch(owner).then_some(value)
    }

    /// Sets element `index`, of rank `owner`. False: it is not done, or does not count; ask the kernel.
    #[inline]
    pub(crate) fn put(&self, index: usize, value: T, owner: impl FnOnce() -> usize) -> bool {
        let ready = self.permit.word();
        let Some(shared) = self.shared.as_ref().filter(|shared| ready & WRITE != 0 && index < shared.len) else {
            return self.put_alone(ready, index, value);
        };
        let Shared { whole, sharing, .. } = shared;
        let Some(owner) = shared.position(owner()).filter(|_| cells::is_word::<T>() && self.is_clear(sharing)) else {
            return false;
        };
        if !acquire(sharing, owner, Intent::Write, ready >> SCOPES) {
            return false;
        }
        // SAFETY: invariants 1 and 4.
        let at = unsafe { whole.add(index) };
        // SAFETY: invariant 3.
        unsafe { cells::write(at, value) };
        sharing.note_write(owner);
        sharing.release_latch(owner)
    }

    /// The same where there is no other rank.
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

    /// Whether nobody shows the memory any more. It stays so until the next load, for which this rank has to come.
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

/// Elements touched before whoever waits for us gets its turn: some microseconds.
const AT_ONCE: usize = 256;

impl<T: Element> Direct<T> {
    /// Whether every element lies in memory that is shared.
    pub(crate) fn is_all_here(&self) -> bool {
        self.shared.as_ref().is_some_and(Shared::is_all_here)
    }

    /// Whether the block of rank `owner` lies in memory that is shared.
    pub(crate) fn is_here(&self, owner: usize) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.position(owner).is_some())
    }

    /// Reads the elements at `indices`, as long as all latches admit it. Returns how many it has read; for the rest ask
    /// the kernel.
    ///
    /// # Panics
    /// If there is no such element.
    pub(crate) fn at_many(&self, indices: &[usize], values: &mut [T]) -> usize {
        let Some(shared) = self.shared.as_ref().filter(|shared| shared.is_all_here()) else {
            return 0;
        };
        self.read(shared, (None, 0..shared.len), indices, values)
    }

    /// The same of elements of `block`, which is that of rank `owner`, as long as its latch admits it.
    ///
    /// # Panics
    /// If an element lies outside of it.
    pub(crate) fn at_many_of(&self, owner: usize, block: Range<usize>, indices: &[usize], values: &mut [T]) -> usize {
        let Some((shared, position)) = self.shared.as_ref().and_then(|shared| Some((shared, shared.position(owner)?)))
        else {
            return 0;
        };
        self.read(shared, (Some(position), block), indices, values)
    }

    /// Reads elements of the `block` of one owner, or of all.
    fn read(
        &self,
        Shared { whole, len, sharing, .. }: &Shared<T>,
        (owner, block): (Option<usize>, Range<usize>),
        indices: &[usize],
        values: &mut [T],
    ) -> usize {
        assert!(block.end <= *len, "elements {block:?} of {len}");
        let memory = Prefetch::from(whole.as_ptr());
        let mut done = 0;
        for (indices, values) in indices.chunks(AT_ONCE).zip(values.chunks_mut(AT_ONCE)) {
            let (may, epoch) = self.permit.allowed();
            if may & READ == 0 {
                break;
            }
            let Some(latched) = Latched::acquire(sharing, owner, Intent::Read, epoch) else {
                break;
            };
            // No element waits for the one before, so the processor has as many cache misses under way as it can; it is
            // told where to look before it comes there.
            indices.iter().for_each(|index| memory.fetch(*index));
            for (value, index) in values.iter_mut().zip(indices) {
                assert!(block.contains(index), "element {index} of {block:?}");
                // SAFETY: invariants 1 and 4.
                let at = unsafe { whole.add(*index) };
                *value = if cells::is_word::<T>() {
                    // SAFETY: invariant 3.
                    unsafe { cells::read(at) }
                } else {
                    // SAFETY: invariant 3: holders write words only.
                    unsafe { at.read() }
                };
            }
            if !latched.release() {
                break;
            }
            done += indices.len();
        }
        done
    }

    /// Sets elements, in the order given, as long as all latches admit it. Returns how many it has set; for the rest
    /// ask the kernel.
    ///
    /// # Panics
    /// As [`Direct::at_many`].
    pub(crate) fn put_many(&self, writes: &[(usize, T)]) -> usize {
        let Some(Shared { whole, len, sharing, .. }) = self.shared.as_ref().filter(|shared| shared.is_all_here())
        else {
            return 0;
        };
        let mut done = 0;
        for writes in writes.chunks(AT_ONCE).take_while(|_| cells::is_word::<T>()) {
            let (may, epoch) = self.permit.allowed();
            let may = may & WRITE != 0 && self.is_clear(sharing);
            if !may {
                break;
            }
            let Some(latched) = Latched::acquire(sharing, None, Intent::Write, epoch) else {
                break;
            };
            for (index, value) in writes {
                assert!(index < len, "element {index} of {len}");
                // SAFETY: invariants 1 and 4.
                let at = unsafe { whole.add(*index) };
                // SAFETY: invariant 3.
                unsafe { cells::write(at, *value) };
            }
            (0..sharing.ranks()).for_each(|owner| sharing.note_write(owner));
            if !latched.release() {
                break;
            }
            done += writes.len();
        }
        done
    }
}

#[cfg(test)]
impl<T: Element> Direct<T> {
    /// Acquires the latch of the rank at this position and holds it, as if it was stopped before it sets an element.
    /// Returns what it does when it goes on, which returns whether that counts.
    pub(crate) fn stop_holding(&self, owner: usize, index: usize, value: T) -> impl FnOnce() -> bool + '_ {
        let Shared { whole, len, sharing, .. } = self.shared.as_ref().expect("shared memory");
        let ready = self.permit.word();
        assert!(ready & WRITE != 0 && self.is_clear(sharing) && index < *len && cells::is_word::<T>());
        assert!(acquire(sharing, owner, Intent::Write, ready >> SCOPES), "the latch is open");
        move || {
            // SAFETY: invariants 1 and 4.
            let at = unsafe { whole.add(index) };
            // SAFETY: invariant 3.
            unsafe { cells::write(at, value) };
            sharing.release_latch(owner)
        }
    }

    /// The same before it reads an element, which comes back with whether that counts.
    pub(crate) fn stop_reading(&self, owner: usize, index: usize) -> impl FnOnce() -> (T, bool) + '_ {
        let Shared { whole, len, sharing, .. } = self.shared.as_ref().expect("shared memory");
        let ready = self.permit.word();
        assert!(ready & READ != 0 && index < *len && !cells::is_word::<T>());
        assert!(acquire(sharing, owner, Intent::Read, ready >> SCOPES), "the latch is open");
        move || {
            // SAFETY: invariants 1 and 4.
            let at = unsafe { whole.add(index) };
            // SAFETY: invariant 3: holders write words only.
            let value = unsafe { at.read() };
            (value, sharing.release_latch(owner))
        }
    }
}
