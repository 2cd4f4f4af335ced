//! Consecutive elements of one type: the memory of blocks and caches.
//!
//! Small arrays come from the heap. Large ones are mappings of their own. Linux is advised to back a mapping with
//! huge pages, whose first touch is several times faster. A mapping is unmapped at once when it is dropped; a heap
//! may keep freed memory.
//! Why the unsafe code is sound:
//!
//! 1. `start` points at `len` initialised elements. `owner` decides how their memory is freed. They do not move with
//!    the array, and nothing else uses them; if they are shared, nothing else uses them meanwhile (`shared.rs`); if
//!    they arrive, their parts are shown and written by the rules of `arriving.rs`. An empty array's `start` dangles,
//!    aligned.
//! 2. Only `Drop` frees the memory. Every borrow of the elements borrows the array.
//! 3. All bytes of a new mapping are zero, which is a value of every [`Element`]. The mapping begins at a page, which
//!    is aligned for every type that [`is_large`] accepts.
//! 4. Huge pages and populating change no byte.
//! 5. Each element of a cut array is in one piece only. All pieces keep the array that was cut. Nobody else has it,
//!    so it is not used again before it is dropped.
//! 6. A view shares the array of its elements, so the array is neither freed nor borrowed mutably meanwhile.

#![allow(unsafe_code)]

use super::cells::Cells;
use super::demand::Shortage;
use super::meter::{LOOKED_AT, Meter, refused};
use super::{Fresh, Storage};
use crate::Element;
use aurora_net::Segment;
use memmap2::{Advice, MmapMut};
use std::any::Any;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::sync::Arc;

/// Linux aligns a mapping whose length is a multiple of this, so that it can consist of huge pages.
const HUGE_PAGE: usize = 2 << 20;

pub(crate) struct Array<T> {
    start: NonNull<T>,
    len: usize,
    owner: Owner<T>,
}

/// The owner of the memory, which frees it.
enum Owner<T> {
    /// The capacity of the `Vec`.
    Heap(usize),
    Mapping(MmapMut),
    /// Memory of several ranks, by the rules of `shared.rs`.
    Shared {
        segment: Segment,
        at: usize,
    },
    Piece(Arc<Array<T>>),
}

// SAFETY: invariant 1: it owns its elements as a `Vec` does.
unsafe impl<T: Send> Send for Array<T> {}
// SAFETY: as above; shared, it only shows them.
unsafe impl<T: Sync> Sync for Array<T> {}

impl<T> Default for Array<T> {
    fn default() -> Self {
        Array::from(Vec::new())
    }
}

impl<T> From<Vec<T>> for Array<T> {
    fn from(elements: Vec<T>) -> Self {
        let mut elements = ManuallyDrop::new(elements);
        let start = NonNull::new(elements.as_mut_ptr()).expect("no vector is at null");
        Array { start, len: elements.len(), owner: Owner::Heap(elements.capacity()) }
    }
}

impl<T: Element> Array<T> {
    /// Makes an array over `len` elements of a segment, from byte `at` on.
    ///
    /// # Safety
    /// The elements lie inside the segment, aligned and initialised. No other access writes to them while the array is
    /// read, or uses them while the array is written.
    pub(super) unsafe fn over(segment: Segment, at: usize, len: usize) -> Self {
        // SAFETY: the caller promises that it lies inside.
        let start = NonNull::new(unsafe { segment.as_ptr().add(at) }.cast()).expect("nothing is mapped at null");
        Array { start, len, owner: Owner::Shared { segment, at } }
    }

    /// `len` zeros. The system only promises the memory of a large array; touching it takes it.
    pub(crate) fn promised(len: usize) -> Result<Self, Shortage> {
        let bytes = len.saturating_mul(size_of::<T>());
        if !is_large::<T>(bytes) {
            return bytemuck::try_zeroed_vec(len).map(Array::from).map_err(|()| refused(bytes));
        }
        let mapped = if bytes < HUGE_PAGE { Some(bytes) } else { bytes.checked_next_multiple_of(HUGE_PAGE) };
        let mapping = mapped.and_then(|mapped| MmapMut::map_anon(mapped).ok());
        let mut mapping = mapping.ok_or_else(|| refused(bytes))?;
        if bytes >= HUGE_PAGE {
            // The advice may fail: small pages are only slower.
            let _ = mapping.advise(Advice::HugePage);
        }
        // Invariant 3.
        let start = NonNull::new(mapping.as_mut_ptr().cast()).expect("nothing is mapped at null");
        Ok(Array { start, len, owner: Owner::Mapping(mapping) })
    }

    /// `len` zeros, in memory that is taken.
    pub(crate) fn zeroed(len: usize) -> Result<Self, Shortage> {
        let mut array = Self::promised(len)?;
        array.take_all()?;
        Ok(array)
    }

    /// Returns the elements from `at` on and keeps the others. [`join`](Storage::join) undoes it.
    ///
    /// # Panics
    /// If the array is shorter.
    pub(crate) fn split_off(&mut self, at: usize) -> Self {
        assert!(at <= self.len, "an array of {} is cut at {at}", self.len);
        let len = self.len - at;
        // SAFETY: inside.
        let start = unsafe { self.start.add(at) };
        let owner = match &self.owner {
            Owner::Shared { segment, at: from } => {
                Owner::Shared { segment: segment.clone(), at: from + at * size_of::<T>() }
            }
            Owner::Piece(whole) => Owner::Piece(whole.clone()),
            Owner::Heap(_) | Owner::Mapping(_) => {
                let whole = Arc::new(std::mem::take(self));
                // Invariant 5.
                *self = Array { start: whole.start, len: whole.len, owner: Owner::Piece(whole.clone()) };
                Owner::Piece(whole)
            }
        };
        self.len = at;
        Array { start, len, owner }
    }

    /// The address of its first element, for callers that borrow some elements or more: `arriving.rs`, `direct/`,
    /// [`across`].
    pub(super) fn start(&self) -> NonNull<T> {
        self.start
    }

    /// Takes all of its memory, in steps with a check before each (`meter.rs`).
    pub(crate) fn take_all(&mut self) -> Result<(), Shortage> {
        let mut meter = Meter::new(self.len * size_of::<T>());
        while let Some(bytes) = meter.next(usize::MAX)? {
            self.take(bytes)?;
        }
        Ok(())
    }
}

impl<T: Element> Storage for Array<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self)
    }

    fn start(&self) -> NonNull<u8> {
        self.start.cast()
    }

    fn byte_len(&self) -> usize {
        self.len * size_of::<T>()
    }

    fn cells(&mut self) -> Cells<'_> {
        // SAFETY: invariants 1 and 2.
        unsafe { Cells::new(self.start.cast(), self.byte_len()) }
    }

    fn take(&mut self, bytes: Range<usize>) -> Result<(), Shortage> {
        let mapping = match &self.owner {
            // An array is taken before it is cut.
            Owner::Heap(_) | Owner::Piece(_) => return Ok(()),
            Owner::Shared { segment, at } => {
                let taken = segment.populate(at + bytes.start..at + bytes.end);
                return taken.map_err(|_| refused(self.byte_len()));
            }
            Owner::Mapping(mapping) => mapping,
        };
        match mapping.advise_range(Advice::PopulateWrite, bytes.start, bytes.len()) {
            Err(error) if error.raw_os_error() != Some(rustix::io::Errno::INVAL.raw_os_error()) => {
                Err(refused(self.byte_len()))
            }
            // Linux before 5.14 has no `PopulateWrite`: the pages are touched when they are written, which is soon.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn give_back(&mut self) {
        if let Owner::Shared { segment, at } = &self.owner {
            // SAFETY: invariant 1: it is borrowed mutably. By invariant 3 it is zeros afterwards.
            unsafe { segment.discard(*at..at + self.byte_len()) };
        }
    }

    fn promised(&self) -> Fresh {
        Ok(Arc::new(Array::<T>::promised(self.len)?))
    }

    fn duplicate_by_words(&mut self) -> Arc<dyn Storage> {
        let (len, elements) = (self.len, self.cells().elements::<T>());
        Arc::new(Array::from((0..len).map(|at| elements.get(at)).collect::<Vec<T>>()))
    }

    fn gathered(&self, contents: &[&[u8]]) -> Arc<dyn Storage> {
        let mut all = vec![T::zeroed(); contents.iter().map(|part| part.len()).sum::<usize>() / size_of::<T>()];
        let mut rest: &mut [u8] = bytemuck::cast_slice_mut(&mut all);
        for part in contents {
            let (own, behind) = rest.split_at_mut(part.len());
            own.copy_from_slice(part);
            rest = behind;
        }
        Arc::new(Array::from(all))
    }

    fn split_off(&mut self, at: usize) -> Arc<dyn Storage> {
        Arc::new(Array::split_off(self, at / size_of::<T>()))
    }

    fn follows(&self, before: &(dyn Storage + 'static)) -> bool {
        let before: &dyn Any = before;
        let Some(before) = before.downcast_ref::<Self>() else {
            return false;
        };
        let of_one = match (&before.owner, &self.owner) {
            (Owner::Shared { segment: one, .. }, Owner::Shared { segment: other, .. }) => {
                one.as_ptr() == other.as_ptr()
            }
            (Owner::Piece(one), Owner::Piece(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        of_one && before.as_ptr_range().end.addr() == self.as_ptr().addr()
    }

    fn join(&mut self, next: &mut (dyn Storage + 'static)) -> bool {
        let next: &mut dyn Any = next;
        let next = next.downcast_mut::<Self>().filter(|next| next.follows(self));
        // Invariants 1 and 5: all pieces lie in the memory of one array.
        next.map(|next| self.len += std::mem::take(next).len).is_some()
    }
}

/// Consecutive elements of an array that nobody writes to meanwhile.
pub(crate) struct View<T> {
    start: NonNull<T>,
    len: usize,
    /// Invariant 6.
    _array: Arc<Array<T>>,
}

impl<T> View<T> {
    /// # Panics
    /// If the range is outside the array.
    pub(crate) fn of(array: Arc<Array<T>>, range: Range<usize>) -> Self {
        let elements = &array[range];
        View { start: NonNull::from(elements).cast(), len: elements.len(), _array: array }
    }
}

impl<T> Deref for View<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: invariants 1, 2 and 6.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

/// The bytes of consecutive pieces of one array, as one slice; `None` if they are not consecutive.
pub(super) fn across<'a>(pieces: &[&'a dyn Storage]) -> Option<&'a [u8]> {
    let begin = pieces.first()?.start();
    let len = pieces.iter().map(|piece| piece.bytes().len()).sum();
    // SAFETY: invariants 1, 2 and 5: all of it is borrowed by the pieces, for reading.
    let all = || unsafe { std::slice::from_raw_parts(begin.as_ptr(), len) };
    pieces.windows(2).all(|pair| pair[1].follows(pair[0])).then(all)
}

/// Large enough for a mapping of its own, which starts at a page.
fn is_large<T>(bytes: usize) -> bool {
    bytes >= LOOKED_AT && align_of::<T>() <= 4096
}

impl<T> Deref for Array<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: invariants 1 and 2.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Array<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: invariants 1 and 2.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Clone> Clone for Array<T> {
    fn clone(&self) -> Self {
        Array::from(self.to_vec())
    }
}

impl<T> Drop for Array<T> {
    fn drop(&mut self) {
        if let Owner::Heap(capacity) = self.owner {
            // SAFETY: invariants 1 and 2: these are the parts of the vector that it was made of.
            drop(unsafe { Vec::from_raw_parts(self.start.as_ptr(), self.len, capacity) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_every_length() {
        for len in [0, 1, 1000, LOOKED_AT / 8, HUGE_PAGE / 8, (8 << 20) + 3] {
            let mut array = Array::<u64>::zeroed(len).expect("there is memory");
            assert!(array.len() == len && array.iter().all(|element| *element == 0));
            array.iter_mut().enumerate().for_each(|(i, element)| *element = i as u64);
            let copy = array.clone();
            array.take(0..len * 8).expect("it is there");
            assert!(array.iter().enumerate().all(|(i, element)| *element == i as u64));
            assert_eq!(*copy, *array);
        }
    }

    #[test]
    fn elements_that_are_aligned_to_more_than_a_page() {
        #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(C, align(8192))]
        struct Wide([u8; 8192]);
        let array = Array::<Wide>::zeroed(300).expect("there is memory");
        assert!(array.as_ptr().is_aligned() && array.iter().all(|wide| wide.0 == [0; 8192]));
    }

    #[test]
    fn what_is_taken_is_there_and_what_is_dropped_is_not() {
        const LEN: usize = 64 << 20;
        // Only the mapping at this address: other tests change the memory of the process meanwhile.
        let resident = |address: usize| {
            let text = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let mut is_there = false;
            for line in text.lines() {
                let mut words = line.split_whitespace();
                match words.next().unwrap().split_once('-') {
                    Some((start, end)) => {
                        let [start, end] = [start, end].map(|at| usize::from_str_radix(at, 16).unwrap());
                        is_there = (start..end).contains(&address);
                    }
                    None if is_there && line.starts_with("Rss:") => {
                        return words.next().unwrap().parse::<usize>().unwrap() << 10;
                    }
                    None => {}
                }
            }
            0
        };
        let array = Array::<u8>::zeroed(LEN).expect("there is memory");
        let middle = array.as_ptr() as usize + LEN / 2;
        let taken = resident(middle);
        drop(array);
        let after = resident(middle);
        assert!(taken > LEN / 2 && after < LEN / 2, "{taken}, {after}");
    }

    #[test]
    fn pieces_join_to_what_they_were_cut_from() {
        for len in [10, LOOKED_AT / 8 + 5] {
            let mut first = Array::<u64>::zeroed(len).expect("there is memory");
            let begin = first.as_ptr();
            first.iter_mut().enumerate().for_each(|(i, element)| *element = i as u64);
            let mut last = first.split_off(7);
            let mut middle = first.split_off(3);
            assert_eq!((first.len(), middle.len(), last.len()), (3, 4, len - 7));
            middle.fill(1);
            // Another thread may have one of the pieces.
            std::thread::scope(|scope| drop(scope.spawn(|| last.fill(2))));
            assert!(!first.join(&mut last) && !middle.join(&mut first), "they are not neighbours");
            let mut other = Array::from(vec![0_u64; 4]);
            assert!(!other.join(&mut middle) && !first.join(&mut other), "of different arrays");
            assert!(middle.join(&mut last) && first.join(&mut middle) && middle.is_empty());
            assert_eq!((first.as_ptr(), first.len()), (begin, len));
            assert!(
                first.iter().enumerate().all(|(i, x)| *x == [i as u64, 1, 2][(i >= 3) as usize + (i >= 7) as usize])
            );
            let again = first.split_off(5);
            drop(first);
            assert_eq!(again[..2], [1, 1], "a piece keeps the memory");
        }
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        for len in [usize::MAX, 1 << 60, 1 << 46] {
            let shortage = Array::<u8>::zeroed(len).err().expect("too much");
            assert!(shortage.asked == len && shortage.available < len);
        }
    }
}
