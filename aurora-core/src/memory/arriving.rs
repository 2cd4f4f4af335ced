//! An array that is shown in parts while the rest of it is still being written: the copy of a vector on its way in.
//!
//! Why the unsafe code is sound:
//!
//! 1. The array was nobody else's when it came here, and goes out as [`Part`]s and as a whole only: every write goes through the one
//!    [`Arriving`], which is borrowed mutably for it. Its memory is an [`Array`]'s, valid as long as any `Arc` of it.
//! 2. What has been shown is noted before it is, and refused to every write until nobody else holds the array: then nobody shows any
//!    of it any more, and the notes begin anew. As long as a part is shown, so is its `Arc`.
//! 3. A part borrows its own elements, never the array, so a write to others does not meet it. The array is borrowed as a whole
//!    only where it is shown whole, which refuses all writes, and by the service between writes, under its lock.
//! 4. Any bytes are a value of an [`Element`], and a part lies inside of its array.
#![allow(unsafe_code)]

use super::array::Array;
use super::ranges::Ranges;
use super::{Storage, typed};
use crate::element::Element;
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

/// The one handle by which such an array is written to.
pub(crate) struct Arriving {
    array: Arc<dyn Storage>,
    /// Bytes that somebody may be looking at.
    shown: Ranges,
}

/// Some bytes of an array that will not change while this lives.
pub(crate) struct Part {
    array: Arc<dyn Storage>,
    bytes: Range<usize>,
}

/// The parts that a guard shows: of the copy, and of memory that its node shares.
pub(crate) struct Shown<T> {
    arrays: [OnceCell<Arc<Array<T>>>; 2],
}

impl Arriving {
    /// Of an array that nobody else holds.
    ///
    /// # Panics
    /// If somebody does: a bug of ours.
    pub(crate) fn new(mut array: Arc<dyn Storage>) -> Self {
        assert!(Arc::get_mut(&mut array).is_some(), "a copy is new when it begins to be loaded");
        Arriving { array, shown: Ranges::default() }
    }

    /// All bytes as they are, for whoever writes none meanwhile.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.array.bytes()
    }

    /// The array, if nobody else holds it.
    pub(crate) fn free(&mut self) -> Option<&mut dyn Storage> {
        let free = Arc::get_mut(&mut self.array)?;
        self.shown.clear();
        Some(free)
    }

    /// Writes bytes from `at` on.
    ///
    /// # Panics
    /// If some of them are shown, or lie outside: a bug of ours.
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        if let Some(free) = self.free() {
            free.bytes_mut()[at..at + bytes.len()].copy_from_slice(bytes);
            return;
        }
        let place = at..at + bytes.len();
        assert!(place.end <= self.array.byte_len() && !self.shown.meets(&place), "a write to what a guard shows");
        // SAFETY: invariants 1 and 4, and inside, as was just compared.
        let to = unsafe { self.array.start().add(at) };
        // SAFETY: as above; by invariants 2 and 3 nobody looks there, and what comes in is borrowed from elsewhere.
        unsafe { to.copy_from_nonoverlapping(std::ptr::NonNull::from(bytes).cast(), bytes.len()) };
    }

    /// Shows a part, which is not written to any more.
    pub(crate) fn show(&mut self, bytes: Range<usize>) -> Part {
        self.shown.insert(bytes.clone());
        Part { array: self.array.clone(), bytes }
    }

    /// Shows all of it: nothing is written to it any more.
    pub(crate) fn show_all(&mut self) -> Arc<dyn Storage> {
        self.shown.insert(0..self.array.byte_len());
        self.array.clone()
    }
}

impl Part {
    /// Of memory that several ranks share. Nobody writes there as long as the array's holder says that it shows it: `shared.rs`.
    pub(crate) fn of_shared(array: &Arc<dyn Storage>, bytes: Range<usize>) -> Self {
        Part { array: array.clone(), bytes }
    }
}

impl<T> Default for Shown<T> {
    fn default() -> Self {
        Shown { arrays: [const { OnceCell::new() }; 2] }
    }
}

impl<T: Element> Shown<T> {
    /// The elements of a part, for as long as these live.
    ///
    /// # Panics
    /// If it is of a third array, of another type, or no whole elements: a bug of ours.
    pub(crate) fn show(&self, Part { array, bytes }: Part) -> &[T] {
        let array = typed::<T>(array);
        let place = self.arrays.iter().find(|place| place.get().is_none_or(|held| Arc::ptr_eq(held, &array)));
        let array = place.expect("a copy, and what is shared").get_or_init(|| array);
        let size = size_of::<T>();
        let (start, len) = (bytes.start / size, bytes.len() / size);
        assert!(bytes.end <= array.byte_len() && bytes.start % size == 0 && bytes.end % size == 0);
        // SAFETY: invariants 1 and 4, and inside, as was just compared.
        let start = unsafe { array.start().cast::<T>().add(start) };
        // SAFETY: as above; by invariants 2 and 3 nobody writes there as long as we hold the array.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), len) }
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
        let whole = typed::<u32>(copy.show_all());
        assert_eq!(whole[..], [9, 1, 2, 3, 4, 5]);
    }

    #[test]
    #[should_panic(expected = "a write to what a guard shows")]
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
