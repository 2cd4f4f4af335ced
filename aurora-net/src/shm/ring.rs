//! A ring of bytes in shared memory: one rank writes, another reads, neither waits.
//!
//! Bytes are numbered from 0 as they are written. `head` says how many have been written, `tail` how many have been
//! read; byte `n` lies at `n` modulo the capacity. The writer owns the bytes from `head` to `tail + capacity`, the
//! reader those from `tail` to `head`; each gives bytes away by moving its own position (release) and takes them by
//! reading the other's (acquire). Both keep their own position to themselves, so that all that they believe of the
//! other side is one number, which is checked.
//!
//! A writer that finds no room says so in `wanting`; the reader takes that back when it has made room, and is told to
//! call the writer. Both do it by exchanging the word, and exchanges of one word are ordered: either the writer comes
//! second and sees the room that was made, or the reader does and sees that it is wanted.
//!
//! The ring is generic over where it lies, so that a model checker can run it ([`Cells`], `ring/model.rs`).
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. A ring has one [`Writer`] and one [`Reader`], ever: who makes them promises it.
//! 2. Positions only grow, each is stored by one side alone, and `head - capacity <= tail <= head`. What the other side
//!    says is checked before it is believed; a node peer that says something possible but untrue breaks the protocol,
//!    which node peers are trusted not to.
//! 3. `with` and `with_mut` are called only for bytes that the caller owns, and inside the capacity.
#![allow(unsafe_code)]

#[cfg(test)]
pub(super) mod model;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// A position in shared memory.
pub(crate) trait Position {
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
    /// What was stored before it is seen by whoever loads after one of its own.
    fn fence();
}

/// A word in shared memory that both sides write.
pub(crate) trait Flag {
    fn load(&self, order: Ordering) -> u32;
    fn swap(&self, value: u32, order: Ordering) -> u32;
    /// True: it was `from` and is `to` now.
    fn compare_exchange(&self, from: u32, to: u32, order: Ordering) -> bool;
}

impl Position for AtomicU64 {
    fn load(&self, order: Ordering) -> u64 {
        AtomicU64::load(self, order)
    }

    fn store(&self, value: u64, order: Ordering) {
        AtomicU64::store(self, value, order);
    }

    fn fence() {
        fence(Ordering::SeqCst);
    }
}

impl Flag for AtomicU32 {
    fn load(&self, order: Ordering) -> u32 {
        AtomicU32::load(self, order)
    }

    fn compare_exchange(&self, from: u32, to: u32, order: Ordering) -> bool {
        AtomicU32::compare_exchange(self, from, to, order, Ordering::Relaxed).is_ok()
    }

    fn swap(&self, value: u32, order: Ordering) -> u32 {
        AtomicU32::swap(self, value, order)
    }
}

/// Where a ring lies.
pub(crate) trait Cells {
    type Position: Position;
    type Flag: Flag;

    /// How many bytes have been written.
    fn head(&self) -> &Self::Position;
    /// How many bytes have been read.
    fn tail(&self) -> &Self::Position;
    /// Not 0: the writer waits for room.
    fn wanting(&self) -> &Self::Flag;
    /// How many bytes fit: the same for both sides, a power of two.
    fn capacity(&self) -> usize;

    /// Shows bytes `at..at + len`.
    ///
    /// # Safety
    /// They lie inside the capacity, and nobody writes them meanwhile.
    unsafe fn with<R>(&self, at: usize, len: usize, show: impl FnOnce(&[u8]) -> R) -> R;

    /// Lets bytes `at..at + len` be written.
    ///
    /// # Safety
    /// They lie inside the capacity, and nobody else uses them meanwhile.
    unsafe fn with_mut<R>(&self, at: usize, len: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R;
}

/// The other side's position cannot be: its memory has been overwritten.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the positions of a ring in shared memory make no sense")]
pub(crate) struct Corrupt;

/// Where the parts of `len` bytes from position `from` on lie: two of them where they go around the end.
fn parts(from: u64, len: usize, capacity: usize) -> [(usize, usize); 2] {
    let at = (from & (capacity as u64 - 1)) as usize;
    let first = len.min(capacity - at);
    [(at, first), (0, len - first)]
}

/// The writing side.
#[derive(Debug)]
pub(crate) struct Writer<C> {
    cells: C,
    /// What the reader has been shown, and what has been written in all.
    shown: u64,
    written: u64,
    /// The reader's position, as last seen.
    tail: u64,
}

impl<C: Cells> Writer<C> {
    /// # Safety
    /// It is the only one that this ring ever has, and the ring is empty.
    pub unsafe fn new(cells: C) -> Self {
        Writer { cells, shown: 0, written: 0, tail: 0 }
    }

    pub fn capacity(&self) -> usize {
        self.cells.capacity()
    }

    /// How many bytes can be written now; looks at the reader's position only if fewer than `wanted` are known of.
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
        // Invariant 2: it only grows, and does not pass what has been shown.
        if !(self.tail..=self.shown).contains(&tail) {
            return Err(Corrupt);
        }
        self.tail = tail;
        Ok(())
    }

    /// Has `len` bytes filled in, in one part or two, each with its place among them; gives up when `fill` says false.
    ///
    /// # Panics
    /// If there is no room for them.
    pub fn write_with(&mut self, len: usize, mut fill: impl FnMut(usize, &mut [u8]) -> bool) -> bool {
        assert!(len <= self.known_room(), "{len} bytes into a ring without room");
        let mut done = 0;
        for (at, part) in parts(self.written, len, self.capacity()) {
            // SAFETY: invariant 3: room was just checked, and what is not shown yet is the writer's.
            let whole = part == 0 || unsafe { self.cells.with_mut(at, part, |bytes| fill(done, bytes)) };
            if !whole {
                return false;
            }
            done += part;
        }
        self.written += len as u64;
        true
    }

    /// Copies bytes in.
    ///
    /// # Panics
    /// If there is no room for them.
    pub fn write(&mut self, bytes: &[u8]) {
        self.write_with(bytes.len(), |from, part| {
            part.copy_from_slice(&bytes[from..from + part.len()]);
            true
        });
    }

    /// Leaves out bytes up to the next multiple of `unit`, a power of two that divides the capacity.
    ///
    /// # Panics
    /// If there is no room for them.
    pub fn pad(&mut self, unit: usize) {
        let written = self.written.next_multiple_of(unit as u64);
        assert!((written - self.written) as usize <= self.known_room(), "padding into a ring without room");
        self.written = written;
    }

    /// Shows the reader what has been written.
    pub fn show(&mut self) {
        self.shown = self.written;
        self.cells.head().store(self.shown, Ordering::Release);
    }

    /// Takes back what has been written since [`Writer::show`].
    pub fn take_back(&mut self) {
        self.written = self.shown;
    }

    /// Asks the reader to call when it has made room, half of the ring at least. True: it has done so just now.
    pub fn want_room(&mut self) -> Result<bool, Corrupt> {
        let before = self.tail;
        self.cells.wanting().swap(1, Ordering::AcqRel);
        self.look()?;
        Ok(self.tail != before)
    }

    /// The reader's position, if it has not read all that it has been shown.
    pub fn unread(&self) -> Option<u64> {
        let tail = self.cells.tail().load(Ordering::Relaxed);
        (tail != self.shown).then_some(tail)
    }
}

/// The reading side.
#[derive(Debug)]
pub(crate) struct Reader<C> {
    cells: C,
    /// What the writer has back, and what has been read in all.
    released: u64,
    read: u64,
    /// The writer's position, as last seen.
    head: u64,
}

impl<C: Cells> Reader<C> {
    /// # Safety
    /// It is the only one that this ring ever has, and the ring is empty or was not read from.
    pub unsafe fn new(cells: C) -> Self {
        Reader { cells, released: 0, read: 0, head: 0 }
    }

    pub fn capacity(&self) -> usize {
        self.cells.capacity()
    }

    /// How many bytes can be read now; looks at the writer's position only if none are known of.
    pub fn available(&mut self) -> Result<usize, Corrupt> {
        if self.known() == 0 {
            let head = self.cells.head().load(Ordering::Acquire);
            // Invariant 2: it only grows, and no further than there is room.
            let most = self.released + self.capacity() as u64;
            if !(self.head..=most).contains(&head) {
                return Err(Corrupt);
            }
            self.head = head;
        }
        Ok(self.known())
    }

    fn known(&self) -> usize {
        (self.head - self.read) as usize
    }

    /// Shows the next `len` bytes, in one part or two, each with its place among them, and goes past them.
    ///
    /// # Errors
    /// [`Corrupt`]: there are fewer.
    pub fn read_with(&mut self, len: usize, mut show: impl FnMut(usize, &[u8])) -> Result<(), Corrupt> {
        if len > self.known() {
            return Err(Corrupt);
        }
        let mut done = 0;
        for (at, part) in parts(self.read, len, self.capacity()) {
            if part > 0 {
                // SAFETY: invariant 3: just checked, and what is not released yet is the reader's.
                unsafe { self.cells.with(at, part, |bytes| show(done, bytes)) };
            }
            done += part;
        }
        self.read += len as u64;
        Ok(())
    }

    /// Copies the next bytes out.
    ///
    /// # Errors
    /// [`Corrupt`]: there are fewer.
    pub fn read(&mut self, into: &mut [u8]) -> Result<(), Corrupt> {
        self.read_with(into.len(), |from, part| into[from..from + part.len()].copy_from_slice(part))
    }

    /// Goes past the bytes up to the next multiple of `unit`.
    ///
    /// # Errors
    /// [`Corrupt`]: there are fewer.
    pub fn skip_padding(&mut self, unit: usize) -> Result<(), Corrupt> {
        let read = self.read.next_multiple_of(unit as u64);
        if read > self.head {
            return Err(Corrupt);
        }
        self.read = read;
        Ok(())
    }

    /// Gives back what has been read. True: the writer wants to be called, as there is room again.
    pub fn release(&mut self) -> bool {
        if self.released == self.read {
            return false;
        }
        self.released = self.read;
        self.cells.tail().store(self.released, Ordering::Release);
        // Until then there is more to read, after which this comes true.
        self.known() <= self.capacity() / 2 && self.cells.wanting().swap(0, Ordering::AcqRel) != 0
    }
}
