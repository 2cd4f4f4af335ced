//! Single elements that several threads read and write. Elements that are *words* (of 1, 2, 4 or 8 bytes, at a
//! multiple of that) are accessed by relaxed atomics, which are as fast as plain accesses. Others are plain.
//!
//! Why the unsafe code is sound:
//!
//! 1. [`Cells`] are made from a mutable borrow of the memory behind them and live no longer; nobody else has them.
//! 2. Other code touches that memory only by [`read`], [`write`] and `words.rs`, and writes only words (`direct/`).
//! 3. Every access is inside: its index is compared with the length.
//! 4. A word lies at a multiple of its size, which is checked when cells are made. Others are accessed unaligned.
//! 5. Any bytes are a value of an [`Element`].
#![allow(unsafe_code)]

use super::Prefetch;
use crate::Element;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

pub(super) const fn is_word<T>() -> bool {
    matches!(size_of::<T>(), 1 | 2 | 4 | 8)
}

/// True if all elements from here on are words.
pub(super) fn are_words<T>(start: NonNull<T>) -> bool {
    is_word::<T>() && start.addr().get().is_multiple_of(size_of::<T>())
}

/// Uses the word at `$at`, which the caller promises to be one, as the atomic of its size.
macro_rules! as_atomic {
    ($at:ident, |$word:ident| $use:expr) => {
        match size_of::<T>() {
            1 => as_atomic!(AtomicU8, $at, $word, $use),
            2 => as_atomic!(AtomicU16, $at, $word, $use),
            4 => as_atomic!(AtomicU32, $at, $word, $use),
            8 => as_atomic!(AtomicU64, $at, $word, $use),
            _ => unreachable!("no word"),
        }
    };
    ($atomic:ty, $at:ident, $word:ident, $use:expr) => {{
        // SAFETY: the caller promises it.
        let $word = unsafe { <$atomic>::from_ptr($at.as_ptr().cast()) };
        $use
    }};
}

/// Reads a word.
///
/// # Safety
/// `at` is a word, inside memory that only [`read`], [`write`] and `words.rs` touch meanwhile.
#[inline(always)]
pub(super) unsafe fn read<T: Element>(at: NonNull<T>) -> T {
    as_atomic!(at, |word| value(word.load(Ordering::Relaxed)))
}

/// Writes a word.
///
/// # Safety
/// As for [`read`].
#[inline(always)]
pub(super) unsafe fn write<T: Element>(at: NonNull<T>, new: T) {
    as_atomic!(at, |word| word.store(value(new), Ordering::Relaxed))
}

#[inline(always)]
fn value<A: bytemuck::Pod, B: bytemuck::Pod>(of: A) -> B {
    bytemuck::pod_read_unaligned(bytemuck::bytes_of(&of))
}

/// A block that is written while its own rank may read words of it.
#[derive(Debug)]
pub(crate) struct Cells<'b> {
    start: NonNull<u8>,
    len: usize,
    block: PhantomData<&'b mut [u8]>,
}

impl<'b> Cells<'b> {
    /// Makes cells over bytes that the caller has borrowed for writing.
    ///
    /// # Safety
    /// `start` points at `len` initialised bytes that are borrowed mutably for `'b`.
    pub(super) unsafe fn new(start: NonNull<u8>, len: usize) -> Self {
        Cells { start, len, block: PhantomData }
    }

    pub(crate) fn elements<T: Element>(self) -> Elements<'b, T> {
        let start = self.start.cast::<T>();
        Elements { start, len: self.len / size_of::<T>(), words: are_words(start), block: PhantomData }
    }
}

impl<'b, T: Element> From<&'b mut [T]> for Elements<'b, T> {
    fn from(slice: &'b mut [T]) -> Self {
        let len = slice.len();
        let start = NonNull::from(slice).cast::<T>();
        Elements { start, len, words: are_words(start), block: PhantomData }
    }
}

#[derive(Debug)]
pub(crate) struct Elements<'b, T> {
    start: NonNull<T>,
    len: usize,
    words: bool,
    block: PhantomData<&'b mut [T]>,
}

impl<T: Element> Elements<'_, T> {
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> T {
        let at = self.at(index);
        if self.words {
            // SAFETY: invariants 1 to 4.
            unsafe { read(at) }
        } else {
            // SAFETY: invariants 1, 2, 3 and 5.
            unsafe { at.read_unaligned() }
        }
    }

    /// Panics if there is no such element, as the other methods do.
    #[inline(always)]
    pub(crate) fn set(&mut self, index: usize, new: T) {
        let at = self.at(index);
        if self.words {
            // SAFETY: invariants 1 to 4.
            unsafe { write(at, new) }
        } else {
            // SAFETY: invariants 1 to 3.
            unsafe { at.write_unaligned(new) }
        }
    }

    #[inline(always)]
    pub(crate) fn update(&mut self, index: usize, change: impl FnOnce(T) -> T) {
        self.set(index, change(self.get(index)));
    }

    /// Changes consecutive elements, each with an operand.
    #[inline(always)]
    pub(crate) fn update_run(&mut self, start: usize, operands: &[T], change: impl Fn(T, T) -> T) {
        let Some(last) = operands.len().checked_sub(1) else {
            return;
        };
        // The bounds are checked once.
        let _ = self.at(start.saturating_add(last));
        let (first, words) = (self.at(start), self.words);
        for (offset, operand) in operands.iter().enumerate() {
            // SAFETY: invariant 3: not after the last.
            let at = unsafe { first.add(offset) };
            if words {
                // SAFETY: invariants 1 to 4.
                let old = unsafe { read(at) };
                // SAFETY: as above.
                unsafe { write(at, change(old, *operand)) }
            } else {
                // SAFETY: invariants 1, 2, 3 and 5.
                let old = unsafe { at.read_unaligned() };
                // SAFETY: invariants 1 to 3.
                unsafe { at.write_unaligned(change(old, *operand)) }
            }
        }
    }

    pub(crate) fn prefetch(&self) -> Prefetch<T> {
        Prefetch::from(self.start.as_ptr())
    }

    #[inline(always)]
    fn at(&self, index: usize) -> NonNull<T> {
        assert!(index < self.len, "element {index} of {}", self.len);
        // SAFETY: invariant 3.
        unsafe { self.start.add(index) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Element + PartialEq + std::fmt::Debug>(values: [T; 3]) {
        let mut block = vec![T::zeroed(); 3];
        let mut elements = Elements::from(&mut block[..]);
        for (index, value) in values.iter().enumerate() {
            elements.set(index, *value);
            assert_eq!(elements.get(index), *value);
        }
        elements.update_run(1, &values[..2], |_, new| new);
        assert_eq!([1, 2].map(|index| elements.get(index)), values[..2]);
        elements.update_run(1, &values[1..], |_, new| new);
        elements.update_run(3, &[], |_, new| new);
        assert_eq!(block, values);
    }

    #[test]
    fn elements_of_every_size() {
        check([1_u8, 2, 255]);
        check([1_i16, -2, 3]);
        check([1.5_f32, -0.0, 3.0]);
        check([u64::MAX, 2, 3]);
        check([[1_u8, 2, 3, 4]; 3]);
        check([[1_u16, 2, 3]; 3]);
        check([[1.0_f64, 2.0]; 3]);
    }

    #[test]
    #[should_panic = "element 3 of 3"]
    fn none_behind_the_last() {
        Elements::from(&mut [1_u8, 2, 3][..]).get(3);
    }

    #[test]
    #[should_panic = "element 3 of 3"]
    fn no_run_behind_the_last() {
        Elements::from(&mut [1_u8, 2, 3][..]).update_run(2, &[1, 1], |_, new| new);
    }
}
