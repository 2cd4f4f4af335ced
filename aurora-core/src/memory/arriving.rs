//! Arrays shown in parts while the rest is written: a vector's copy during a load, and shared memory.
//!
//! Why the unsafe code is sound:
//!
//! 1. An arriving array belongs to nobody else when it comes here, and leaves only as [`Part`]s. Every write goes
//!    through the one [`Arriving`], which is borrowed mutably for it. Ranks write to shared memory by the rules of
//!    `shared.rs`: not where a guard shows it. An array's memory is valid as long as any `Arc` of it.
//! 2. Before bytes of an arriving array are shown, they are noted. Writes to noted bytes are refused until nobody
//!    else holds the array: then nobody shows any of it, and the notes are cleared. Each shown part holds the `Arc`.
//! 3. A part borrows its own elements, never the array, so a write to other elements does not meet it: neither a
//!    write of data that arrives, nor one through a guard of this rank to which another part of shared memory is
//!    lent. An array is borrowed as a whole only by its sole holder, or by the kernel between the writes to an
//!    arriving array, under its lock.
//! 4. Any bytes are a value of an [`Element`], and a part lies inside its array.
#![allow(unsafe_code)]

use super::array::Array;
use super::ranges::Ranges;
use super::{Storage, typed};
use crate::Element;
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

/// The one handle by which such an array is written.
pub(crate) struct Arriving {
    array: Arc<dyn Storage>,
    shown: Ranges,
}

/// Some bytes of an array that do not change while this lives.
#[derive(Clone)]
pub(crate) struct Part {
    array: Arc<dyn Storage>,
    bytes: Range<usize>,
}

/// A part as the elements that a guard shows.
pub(crate) struct Kept<T> {
    array: Arc<Array<T>>,
    places: Range<usize>,
}

/// The parts that a guard shows: of the copy, and of memory that its node shares.
pub(crate) struct Shown<T> {
    arrays: [OnceCell<Arc<Array<T>>>; 2],
}

impl Arriving {
    /// Takes an array that nobody else holds.
    ///
    /// # Panics
    /// If another holder exists: a bug of ours.
    pub(crate) fn new(mut array: Arc<dyn Storage>) -> Self {
        assert!(Arc::get_mut(&mut array).is_some(), "a copy is new when it begins to be loaded");
        Arriving { array, shown: Ranges::default() }
    }

    /// All bytes, for a caller that writes none meanwhile.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.array.bytes()
    }

    pub(crate) fn free(&mut self) -> Option<&mut dyn Storage> {
        let free = Arc::get_mut(&mut self.array)?;
        self.shown.clear();
        Some(free)
    }

    /// Writes bytes from `at` on.
    ///
    /// # Panics
    /// If some of these bytes are shown, or lie outside: a bug of ours.
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        if let Some(free) = self.free() {
            free.bytes_mut()[at..at + bytes.len()].copy_from_slice(bytes);
            return;
        }
        let place = at..at + bytes.len();
        assert!(
            place.end <= self.array.byte_len() && !self.shown.meets(&place),
            "a write to elements that a guard shows"
        );
        // SAFETY: invariants 1 and 4, and inside, as was compared to make `Kept`.
        let to = unsafe { self.array.start().add(at) };
        // SAFETY: as above; by invariants 2 and 3 nobody reads there, and `bytes` is borrowed from elsewhere.
        unsafe { to.copy_from_nonoverlapping(std::ptr::NonNull::from(bytes).cast(), bytes.len()) };
    }

    /// Shows a part, which is not written any more.
    pub(crate) fn show(&mut self, bytes: Range<usize>) -> Part {
        if self.shown.reach(bytes.start) < bytes.end {
            self.shown.insert(bytes.clone());
        }
        Part { array: self.array.clone(), bytes }
    }

    pub(crate) fn show_all(&mut self) -> Part {
        self.show(0..self.array.byte_len())
    }
}

impl Part {
    /// A part of shared memory. No rank writes there while the registry of readers shows it: `shared.rs`.
    pub(crate) fn of_shared(array: &Arc<dyn Storage>, bytes: Range<usize>) -> Self {
        Part { array: array.clone(), bytes }
    }

    /// A smaller part, by bytes of the array.
    ///
    /// # Panics
    /// If these bytes are not inside this part: a bug of ours.
    pub(crate) fn cut(self, bytes: Range<usize>) -> Self {
        assert!(self.bytes.start <= bytes.start && bytes.end <= self.bytes.end);
        Part { bytes, ..self }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        assert!(self.bytes.start <= self.bytes.end && self.bytes.end <= self.array.byte_len());
        // SAFETY: inside, as was just compared.
        let start = unsafe { self.array.start().add(self.bytes.start) };
        // SAFETY: as above; by invariants 2 and 3 nobody writes there as long as we hold the array.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), self.bytes.len()) }
    }
}

impl<T: Element> From<Part> for Kept<T> {
    /// # Panics
    /// If the elements have another type, or are cut: a bug of ours.
    fn from(Part { array, bytes }: Part) -> Self {
        let (array, size) = (typed::<T>(array), size_of::<T>());
        assert!(bytes.start <= bytes.end && bytes.end <= array.byte_len());
        assert!(bytes.start.is_multiple_of(size) && bytes.end.is_multiple_of(size));
        Kept { array, places: bytes.start / size..bytes.end / size }
    }
}

impl<T: Element> Kept<T> {
    #[inline]
    pub(crate) fn elements(&self) -> &[T] {
        // SAFETY: invariants 1 and 4, and inside, as was compared when this was made.
        let start = unsafe { Array::start(&self.array).add(self.places.start) };
        // SAFETY: as above; by invariants 2 and 3 nobody writes there as long as we hold the array.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), self.places.len()) }
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Kept { array: Arc::default(), places: 0..0 }
    }
}

impl<T> Default for Shown<T> {
    fn default() -> Self {
        Shown { arrays: [const { OnceCell::new() }; 2] }
    }
}

impl<T: Element> Shown<T> {
    /// The elements of a part, borrowed from `self`.
    ///
    /// # Panics
    /// If the part is of a third array, of another type, or cuts an element: a bug of ours.
    pub(crate) fn show(&self, part: Part) -> &[T] {
        let Kept { array, places } = part.into();
        let place = self.arrays.iter().find(|place| place.get().is_none_or(|held| Arc::ptr_eq(held, &array)));
        let array = place.expect("a copy, and shared memory").get_or_init(|| array);
        // SAFETY: invariants 1 and 4, and inside, as was compared to make `Kept`.
        let start = unsafe { Array::start(array).add(places.start) };
        // SAFETY: as above; by invariants 2 and 3 nobody writes there as long as we hold the array.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), places.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arriving(len: usize) -> Arriving {
        Arriving::new(Arc::new(Array::<u32>::from(vec![0; len])))
    }

    #[test]
    fn what_is_shown_stays_while_the_rest_is_written() {
        let (mut copy, parts) = (arriving(6), Shown::<u32>::default());
        copy.write(4, bytemuck::cast_slice(&[1u32, 2]));
        let first = parts.show(copy.show(4..12));
        copy.write(12, bytemuck::cast_slice(&[3u32, 4, 5]));
        copy.write(0, bytemuck::cast_slice(&[9u32]));
        let second = parts.show(copy.show(12..24));
        assert_eq!((first, second), (&[1, 2][..], &[3, 4, 5][..]));
        let whole = Kept::<u32>::from(copy.show_all());
        assert_eq!(whole.elements(), [9, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_guard_keeps_its_part_and_no_more() {
        let array: Arc<dyn Storage> = Arc::new(Array::<u32>::from((0..6).collect::<Vec<_>>()));
        let part = Part::of_shared(&array, 4..12);
        assert_eq!(bytemuck::cast_slice::<u8, u32>(part.bytes()), [1, 2]);
        let kept = Kept::<u32>::from(part);
        drop(array);
        assert_eq!(kept.elements(), [1, 2]);
        assert!(Kept::<u32>::default().elements().is_empty());
    }

    #[test]
    #[should_panic(expected = "bytes.end <= array.byte_len()")]
    fn a_part_outside_of_its_array_is_shown_to_nobody() {
        let array: Arc<dyn Storage> = Arc::new(Array::<u32>::from(vec![0; 6]));
        let _kept = Kept::<u32>::from(Part::of_shared(&array, 4..28));
    }

    #[test]
    #[should_panic(expected = "a write to elements that a guard shows")]
    fn what_is_shown_is_not_written() {
        let (mut copy, parts) = (arriving(6), Shown::<u32>::default());
        let _first = parts.show(copy.show(4..12));
        copy.write(8, &[1; 4]);
    }

    #[test]
    fn once_nobody_shows_it_all_of_it_can_be_written() {
        let mut copy = arriving(6);
        {
            let parts = Shown::<u32>::default();
            parts.show(copy.show(0..24));
            assert!(copy.free().is_none());
        }
        copy.write(0, &[1; 24]);
        assert_eq!(copy.bytes(), [1; 24]);
    }
}
