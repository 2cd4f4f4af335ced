//! Single elements of a vector without its service: one's own, and those of the ranks that share memory.
//!
//! The service says by the [`Front`] what its rank's own thread may do without asking: nothing while a scope is under way, a
//! guard of the wrong kind is open, or something is at fault. What may be done to the block of a *mate* its owner says by its
//! [door](super::door). Everything else goes by the service and, if need be, by a message.
//!
//! Why the unsafe code is sound:
//!
//! 1. `own` and `whole` point at the elements of this rank's block and of the whole vector, all initialised, which stay mapped
//!    and in their place as long as the vector's handle lives: a block's memory is given back when every handle has been
//!    dropped, this one included, and a segment while `sharing` holds it.
//! 2. While the front says [`OWN`], nobody else writes to our own block but as words (`cells.rs`) or, inside its door, as here;
//!    our thread itself is here and not in a guard. The service takes that back under its lock, on our own thread, before
//!    a guard can write.
//! 3. Inside a door for reading nobody writes but others who are inside it; inside it for writing, nobody uses the block but
//!    they do. All of those touch words only. That holds however long they stay: an owner that waits no longer gives the
//!    place up (`door.rs`).
//! 4. Every index is compared with the length of what it points into.
//! 5. In a world of one rank nobody sends a request, so while the front says [`WRITE`], which is when no guard is open, nobody else
//!    uses the block.
#![allow(unsafe_code)]

use super::cells;
use super::door::Intent;
use super::front::{Front, OWN, READ, SCOPES, WRITE};
use super::inside::{Inside, enter};
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
    front: Arc<Front>,
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
    /// Where on this node each rank of the job sits; any other number if it is on another one.
    seats: Box<[u32]>,
}

impl<T> Shared<T> {
    #[inline]
    fn seat(&self, owner: usize) -> Option<usize> {
        let seat = self.seats[owner] as usize;
        (seat < self.sharing.mates()).then_some(seat)
    }

    /// Whether all ranks of the job share it, so that every element is here.
    fn is_all_here(&self) -> bool {
        self.seats.len() == self.sharing.mates()
    }
}

impl<T: Element> Direct<T> {
    /// Of a vector whose block, the elements `range`, lies in memory that no other rank shares; `alone` if there is none.
    pub(crate) fn to(front: Arc<Front>, block: Arc<dyn Storage>, range: Range<usize>, alone: bool) -> Self {
        // SAFETY: the vector's handle, which is about to be made, keeps the block; the service keeps the front.
        let direct = unsafe { typed::<T>(block).direct(front, range) };
        Direct { alone, ..direct }
    }

    /// Of a vector whose block, the elements `range`, begins at `own`.
    ///
    /// # Safety
    /// `own` is as invariant 1 says, and `front` is kept as invariant 2 says.
    pub(super) unsafe fn new(front: Arc<Front>, own: NonNull<T>, range: Range<usize>) -> Self {
        Direct { front, own, range, words: cells::are_words(own), shared: None, alone: false, clear: Cell::new(0) }
    }

    /// The same, of one whose memory several ranks share: `len` elements from `whole` on.
    ///
    /// # Safety
    /// `whole` is as invariant 1 says.
    pub(super) unsafe fn share(&mut self, whole: NonNull<T>, len: usize, sharing: Arc<Sharing>, seats: Box<[u32]>) {
        self.shared = Some(Shared { whole, len, sharing, seats });
    }

    /// The elements of this rank's block.
    #[inline]
    pub(crate) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Element `index`, of rank `owner`. None: ask the service.
    #[inline]
    pub(crate) fn at(&self, index: usize, owner: impl FnOnce() -> usize) -> Option<T> {
        self.at_by(self.front.word(), index, owner)
    }

    /// The same while looks are watched.
    pub(crate) fn at_watched(&self, index: usize, owner: impl FnOnce() -> usize) -> Option<T> {
        let (may, epoch) = self.front.allowed();
        self.at_by(epoch << SCOPES | may, index, owner)
    }

    /// See [`Front::wake`].
    pub(crate) fn wake(&self, level: Level) -> bool {
        self.front.wake(level)
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
        self.at_mate(ready, index, owner)
    }

    #[inline]
    fn at_mate(&self, ready: u64, index: usize, owner: impl FnOnce() -> usize) -> Option<T> {
        let shared = self.shared.as_ref().filter(|shared| ready & READ != 0 && index < shared.len)?;
        let Shared { whole, sharing, .. } = shared;
        let owner = shared.seat(owner())?;
        if !enter(sharing, owner, Intent::Read, ready >> SCOPES) {
            return None;
        }
        // SAFETY: invariants 1 and 4.
        let at = unsafe { whole.add(index) };
        let value = if cells::is_word::<T>() {
            // SAFETY: invariant 3.
            unsafe { cells::read(at) }
        } else {
            // SAFETY: invariant 3: who is inside writes words only.
            unsafe { at.read() }
        };
        sharing.leave_door(owner).then_some(value)
    }

    /// Sets element `index`, of rank `owner`. False: it is not done, or does not count; ask the service.
    #[inline]
    pub(crate) fn put(&self, index: usize, value: T, owner: impl FnOnce() -> usize) -> bool {
        let ready = self.front.word();
        let Some(shared) = self.shared.as_ref().filter(|shared| ready & WRITE != 0 && index < shared.len) else {
            return self.put_alone(ready, index, value);
        };
        let Shared { whole, sharing, .. } = shared;
        let Some(owner) = shared.seat(owner()).filter(|_| cells::is_word::<T>() && self.is_clear(sharing)) else {
            return false;
        };
        if !enter(sharing, owner, Intent::Write, ready >> SCOPES) {
            return false;
        }
        // SAFETY: invariants 1 and 4.
        let at = unsafe { whole.add(index) };
        // SAFETY: invariant 3.
        unsafe { cells::write(at, value) };
        sharing.note_write(owner);
        sharing.leave_door(owner)
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
            self.front.note_write();
        }
        may
    }

    /// Whether nobody shows the memory any more. It stays so until the next load, for which this rank has to come.
    #[inline]
    fn is_clear(&self, sharing: &Sharing) -> bool {
        let load = self.front.load();
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
        self.shared.as_ref().is_some_and(|shared| shared.seat(owner).is_some())
    }

    /// Reads the elements at `indices`, as long as all doors are open. Returns how many it has read; for the rest ask the service.
    ///
    /// # Panics
    /// If there is no such element.
    pub(crate) fn at_many(&self, indices: &[usize], values: &mut [T]) -> usize {
        let Some(shared) = self.shared.as_ref().filter(|shared| shared.is_all_here()) else {
            return 0;
        };
        self.read(shared, (None, 0..shared.len), indices, values)
    }

    /// The same of elements of `block`, which is that of rank `owner`, as long as its door is open.
    ///
    /// # Panics
    /// If an element lies outside of it.
    pub(crate) fn at_many_of(&self, owner: usize, block: Range<usize>, indices: &[usize], values: &mut [T]) -> usize {
        let Some((shared, seat)) = self.shared.as_ref().and_then(|shared| Some((shared, shared.seat(owner)?))) else {
            return 0;
        };
        self.read(shared, (Some(seat), block), indices, values)
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
            let (may, epoch) = self.front.allowed();
            if may & READ == 0 {
                break;
            }
            let Some(inside) = Inside::enter(sharing, owner, Intent::Read, epoch) else {
                break;
            };
            // No element waits for the one before, so the processor has as many cache misses under way as it can; it is told where
            // to look before it comes there.
            indices.iter().for_each(|index| memory.fetch(*index));
            for (value, index) in values.iter_mut().zip(indices) {
                assert!(block.contains(index), "element {index} of {block:?}");
                // SAFETY: invariants 1 and 4.
                let at = unsafe { whole.add(*index) };
                *value = if cells::is_word::<T>() {
                    // SAFETY: invariant 3.
                    unsafe { cells::read(at) }
                } else {
                    // SAFETY: invariant 3: who is inside writes words only.
                    unsafe { at.read() }
                };
            }
            if !inside.leave() {
                break;
            }
            done += indices.len();
        }
        done
    }

    /// Sets elements, in the order given, as long as all doors are open. Returns how many it has set; for the rest ask the service.
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
            let (may, epoch) = self.front.allowed();
            let may = may & WRITE != 0 && self.is_clear(sharing);
            if !may {
                break;
            }
            let Some(inside) = Inside::enter(sharing, None, Intent::Write, epoch) else {
                break;
            };
            for (index, value) in writes {
                assert!(index < len, "element {index} of {len}");
                // SAFETY: invariants 1 and 4.
                let at = unsafe { whole.add(*index) };
                // SAFETY: invariant 3.
                unsafe { cells::write(at, *value) };
            }
            (0..sharing.mates()).for_each(|owner| sharing.note_write(owner));
            if !inside.leave() {
                break;
            }
            done += writes.len();
        }
        done
    }
}

#[cfg(test)]
impl<T: Element> Direct<T> {
    /// Goes into the block of the rank in this seat and stays there, as if it was stopped before it sets an element.
    /// What comes back is what it does when it goes on; it tells whether that counts.
    pub(crate) fn stop_inside(&self, owner: usize, index: usize, value: T) -> impl FnOnce() -> bool + '_ {
        let Shared { whole, len, sharing, .. } = self.shared.as_ref().expect("shared memory");
        let ready = self.front.word();
        assert!(ready & WRITE != 0 && self.is_clear(sharing) && index < *len && cells::is_word::<T>());
        assert!(enter(sharing, owner, Intent::Write, ready >> SCOPES), "the door is open");
        move || {
            // SAFETY: invariants 1 and 4.
            let at = unsafe { whole.add(index) };
            // SAFETY: invariant 3.
            unsafe { cells::write(at, value) };
            sharing.leave_door(owner)
        }
    }

    /// The same before it reads an element, which comes back with whether that counts.
    pub(crate) fn stop_reading(&self, owner: usize, index: usize) -> impl FnOnce() -> (T, bool) + '_ {
        let Shared { whole, len, sharing, .. } = self.shared.as_ref().expect("shared memory");
        let ready = self.front.word();
        assert!(ready & READ != 0 && index < *len && !cells::is_word::<T>());
        assert!(enter(sharing, owner, Intent::Read, ready >> SCOPES), "the door is open");
        move || {
            // SAFETY: invariants 1 and 4.
            let at = unsafe { whole.add(index) };
            // SAFETY: invariant 3: who is inside writes words only.
            let value = unsafe { at.read() };
            (value, sharing.leave_door(owner))
        }
    }
}
