//! Memory of a rank that lives as long as the job. It is in huge pages, like the library's own large blocks, and it is
//! touched before any measurement.
//!
//! A `Vec` of zeros has small pages. Each small page costs a page fault at its first use, and a program with random
//! accesses walks the page tables at nearly every access.
//!
//! Rooms of less than 16 MiB begin at different places of their pages, as the library's vectors do: a loop that reads
//! one and writes another at the same place of a page takes longer.

use aurora_core::prelude::*;
use bytemuck::Pod;
use memmap2::{Advice, MmapMut};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Linux aligns mappings whose length is a multiple of this, so that they can consist of huge pages.
const HUGE_PAGE: usize = 2 << 20;

/// The number of rooms so far.
static ROOMS: AtomicUsize = AtomicUsize::new(0);

/// A slice of elements that are aligned to a cache line at most.
pub struct Room<T> {
    memory: MmapMut,
    bytes: Range<usize>,
    elements: PhantomData<T>,
}

impl<T: Pod> Room<T> {
    /// Allocates `length` zeros.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn new(length: usize) -> Result<Self> {
        /// Bytes of a cache line, and of a page.
        const LINE: usize = 64;
        const PAGE: usize = 4096;
        const LONG: usize = 16 << 20;
        let len = length * size_of::<T>();
        let number = ROOMS.fetch_add(1, Ordering::Relaxed);
        let start = if len < LONG { number * 37 % (PAGE / LINE) * LINE } else { 0 };
        let bytes = start..start + len;
        let memory = MmapMut::map_anon(bytes.end.next_multiple_of(HUGE_PAGE))?;
        // Without huge pages the memory is slower.
        let _ = memory.advise(Advice::HugePage);
        let mut room = Room { memory, bytes, elements: PhantomData };
        room.fill(T::zeroed());
        Ok(room)
    }
}

impl<T: Pod> Deref for Room<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(&self.memory[self.bytes.clone()])
    }
}

impl<T: Pod> DerefMut for Room<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.memory[self.bytes.clone()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_as_long_as_asked_and_keeps_what_is_written() {
        for length in [0, 1, 1000, HUGE_PAGE / 8, HUGE_PAGE / 8 + 1] {
            let mut room = Room::<u64>::new(length).unwrap();
            assert_eq!((room.len(), room.iter().sum::<u64>()), (length, 0));
            room.iter_mut().zip(1..).for_each(|(element, number)| *element = number);
            assert_eq!(room.last().copied().unwrap_or(0), length as u64);
        }
    }
}
