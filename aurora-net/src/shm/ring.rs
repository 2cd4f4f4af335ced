//! A ring buffer in shared memory with one writer and one reader. Neither waits for the other.
//!
//! Bytes are numbered from 0 in the order of writing. `head` is the number of bytes written, `tail` the number read;
//! byte `n` lies at `n` modulo the capacity. The writer owns the bytes from `head` to `tail + capacity`, the reader
//! those from `tail` to `head`. Each side gives bytes away by storing its own position (release) and gets them by
//! loading the other side's position (acquire). Each side keeps a private copy of its own position. So it takes only
//! one value from the other side, its position, and checks this value.
//!
//! A writer without room sets `wanting`. The reader clears it after making room, and then has to wake the writer. Both
//! use atomic exchanges of that word: if the writer's exchange is second, the writer sees the room; if the reader's is
//! second, the reader sees the request.
//!
//! The memory is generic, for the model checker ([`Cells`], `ring/model.rs`).
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. A ring has one [`Writer`] and one [`Reader`], ever: their creator guarantees it.
//! 2. Positions only grow, only one side stores each, and `head - capacity <= tail <= head`. The other side's position
//!    is checked. A node peer that stores a possible but wrong position breaks the protocol, which node peers are
//!    trusted not to do.
//! 3. `with` and `with_mut` are called only for bytes that the caller owns, inside the capacity.
#![allow(unsafe_code)]

#[cfg(test)]
pub(super) mod model;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

pub(crate) trait Position {
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
    /// Orders earlier stores before later loads, with respect to other fences.
    fn fence();
}

/// A word in shared memory that both sides write.
pub(crate) trait Flag {
    fn load(&self, order: Ordering) -> u32;
    fn swap(&self, value: u32, order: Ordering) -> u32;
    /// Stores `to` and returns true if the value was `from`.
    fn compare_exchange(&self, from: u32, to: u32, order: Ordering) -> bool;
}

/// The words of real shared memory, and those that the model checker watches.
macro_rules! words {
    ($position:ty, $flag:ty, $fence:path) => {
        impl Position for $position {
            #[inline]
            fn load(&self, order: Ordering) -> u64 {
                <$position>::load(self, order)
            }

            #[inline]
            fn store(&self, value: u64, order: Ordering) {
                <$position>::store(self, value, order);
            }

            #[inline]
            fn fence() {
                $fence(Ordering::SeqCst);
            }
        }

        impl Flag for $flag {
            #[inline]
            fn load(&self, order: Ordering) -> u32 {
                <$flag>::load(self, order)
            }

            #[inline]
            fn compare_exchange(&self, from: u32, to: u32, order: Ordering) -> bool {
                <$flag>::compare_exchange(self, from, to, order, Ordering::Relaxed).is_ok()
            }

            #[inline]
            fn swap(&self, value: u32, order: Ordering) -> u32 {
                <$flag>::swap(self, value, order)
            }
        }
    };
}

words!(AtomicU64, AtomicU32, fence);
#[cfg(test)]
words!(loom::sync::atomic::AtomicU64, loom::sync::atomic::AtomicU32, loom::sync::atomic::fence);

pub(crate) trait Cells {
    type Position: Position;
    type Flag: Flag;

    fn head(&self) -> &Self::Position;
    fn tail(&self) -> &Self::Position;
    /// The writer's request; not 0: the writer waits for room.
    fn wanting(&self) -> &Self::Flag;
    /// The capacity in bytes, equal on both sides: a power of two.
    fn capacity(&self) -> usize;

    /// # Safety
    /// Bytes `at..at + len` lie inside the capacity, and no side writes them meanwhile.
    unsafe fn with<R>(&self, at: usize, len: usize, show: impl FnOnce(&[u8]) -> R) -> R;

    /// # Safety
    /// Bytes `at..at + len` lie inside the capacity, and only the caller accesses them meanwhile.
    unsafe fn with_mut<R>(&self, at: usize, len: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R;
}

/// The other side's position is impossible: its memory has been overwritten.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the positions of a ring in shared memory make no sense")]
pub(crate) struct Corrupt;

/// The offsets and lengths of `len` bytes from position `from` on: two parts if they wrap around.
fn parts(from: u64, len: usize, capacity: usize) -> [(usize, usize); 2] {
    let at = (from & (capacity as u64 - 1)) as usize;
    let first = len.min(capacity - at);
    [(at, first), (0, len - first)]
}

#[derive(Debug)]
pub(crate) struct Writer<C> {
    cells: C,
    /// Bytes published to the reader, and bytes written.
    shown: u64,
    written: u64,
    /// The reader's position when last loaded.
    tail: u64,
}

impl<C: Cells> Writer<C> {
    /// # Safety
    /// This is the ring's only writer, ever, and the ring is empty.
    pub unsafe fn new(cells: C) -> Self {
        Writer { cells, shown: 0, written: 0, tail: 0 }
    }

    pub fn capacity(&self) -> usize {
        self.cells.capacity()
    }

    /// The bytes that can be written. Loads the reader's position only if fewer than `wanted` are known to be free.
    pub fn room(&mut self, wanted: usize) -> Result<usize, Corrupt> {
        if self.known_room() < wanted {
            self.look()?;
        }
        Ok(self.known_room())
    }

    fn known_room(&self) -> usize {
        self.capacity() - (self.written - self.tail) as usize
    }

    fn look(&mut self) -> Result<(), Corrupt> {
        let tail = self.cells.tail().load(Ordering::Acquire);
        // Invariant 2: the position only grows and does not pass the published bytes.
        if !(self.tail..=self.shown).contains(&tail) {
            return Err(Corrupt);
        }
        self.tail = tail;
        Ok(())
    }

    /// Writes `len` bytes by one or two calls of `fill`, until it returns false. Panics if there is no room.
    pub fn write_with(&mut self, len: usize, mut fill: impl FnMut(usize, &mut [u8]) -> bool) -> bool {
        assert!(len <= self.known_room(), "{len} bytes into a ring without room");
        let mut done = 0;
        for (at, part) in parts(self.written, len, self.capacity()) {
            // SAFETY: invariant 3: room was checked, and unpublished bytes belong to the writer.
            let whole = part == 0 || unsafe { self.cells.with_mut(at, part, |bytes| fill(done, bytes)) };
            if !whole {
                return false;
            }
            done += part;
        }
        self.written += len as u64;
        true
    }

    /// Copies bytes in. Panics if there is no room.
    pub fn write(&mut self, bytes: &[u8]) {
        self.write_with(bytes.len(), |from, part| {
            part.copy_from_slice(&bytes[from..from + part.len()]);
            true
        });
    }

    /// Skips to the next multiple of `unit`, a power of two that divides the capacity. Panics if there is no room.
    pub fn pad(&mut self, unit: usize) {
        let written = self.written.next_multiple_of(unit as u64);
        assert!((written - self.written) as usize <= self.known_room(), "padding into a ring without room");
        self.written = written;
    }

    /// Publishes everything written so far.
    pub fn show(&mut self) {
        self.shown = self.written;
        self.cells.head().store(self.shown, Ordering::Release);
    }

    /// Discards everything written since [`Writer::show`].
    pub fn take_back(&mut self) {
        self.written = self.shown;
    }

    /// Asks the reader for a wake-up once half of the ring is free. True: the reader has made room in the meantime.
    pub fn want_room(&mut self) -> Result<bool, Corrupt> {
        let before = self.tail;
        self.cells.wanting().swap(1, Ordering::AcqRel);
        self.look()?;
        Ok(self.tail != before)
    }

    /// The reader's position, if it has not read everything published.
    pub fn unread(&self) -> Option<u64> {
        let tail = self.cells.tail().load(Ordering::Relaxed);
        (tail != self.shown).then_some(tail)
    }
}

#[derive(Debug)]
pub(crate) struct Reader<C> {
    cells: C,
    /// Bytes given back to the writer, and bytes read.
    released: u64,
    read: u64,
    /// The writer's position when last loaded.
    head: u64,
}

impl<C: Cells> Reader<C> {
    /// # Safety
    /// This is the ring's only reader, ever, and nothing has been read.
    pub unsafe fn new(cells: C) -> Self {
        Reader { cells, released: 0, read: 0, head: 0 }
    }

    pub fn capacity(&self) -> usize {
        self.cells.capacity()
    }

    /// The number of bytes that can be read. Loads the writer's position only if none are known.
    pub fn available(&mut self) -> Result<usize, Corrupt> {
        if self.known() == 0 {
            let head = self.cells.head().load(Ordering::Acquire);
            // Invariant 2: the position only grows and does not exceed the room.
            let most = self.released + self.capacity() as u64;
            if !(self.head..=most).contains(&head) {
                return Err(Corrupt);
            }
            self.head = head;
        }
        Ok(self.known())
    }

    /// True if [`Reader::available`] would not return 0. Cheap if many rings are empty.
    pub fn has_more(&self) -> bool {
        self.cells.head().load(Ordering::Acquire) != self.read
    }

    fn known(&self) -> usize {
        (self.head - self.read) as usize
    }

    /// Reads the next `len` bytes by one or two calls of `show`. [`Corrupt`]: there are fewer.
    pub fn read_with(&mut self, len: usize, mut show: impl FnMut(usize, &[u8])) -> Result<(), Corrupt> {
        if len > self.known() {
            return Err(Corrupt);
        }
        let mut done = 0;
        for (at, part) in parts(self.read, len, self.capacity()) {
            if part > 0 {
                // SAFETY: invariant 3: just checked, and bytes that are not released yet belong to the reader.
                unsafe { self.cells.with(at, part, |bytes| show(done, bytes)) };
            }
            done += part;
        }
        self.read += len as u64;
        Ok(())
    }

    /// Copies the next bytes out. [`Corrupt`]: there are fewer.
    pub fn read(&mut self, into: &mut [u8]) -> Result<(), Corrupt> {
        self.read_with(into.len(), |from, part| into[from..from + part.len()].copy_from_slice(part))
    }

    /// Skips bytes up to the next multiple of `unit`. [`Corrupt`]: there are fewer.
    pub fn skip_padding(&mut self, unit: usize) -> Result<(), Corrupt> {
        let read = self.read.next_multiple_of(unit as u64);
        if read > self.head {
            return Err(Corrupt);
        }
        self.read = read;
        Ok(())
    }

    /// Gives the bytes read back to the writer. True: the writer waits for room and has to be woken.
    pub fn release(&mut self) -> bool {
        if self.released == self.read {
            return false;
        }
        self.released = self.read;
        self.cells.tail().store(self.released, Ordering::Release);
        // Only at half of the ring: while more is unread, a later call gets here.
        self.known() <= self.capacity() / 2 && self.cells.wanting().swap(0, Ordering::AcqRel) != 0
    }
}
