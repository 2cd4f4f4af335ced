//! Mailboxes: letters of a fixed length from a rank to a node peer, through shared memory, without a record in a ring.
//!
//! They serve ranks that exchange the same amount of data repeatedly, such as the edges of their blocks. A letter
//! costs a copy, a counter and a lazy ring, without header, queue or endpoint lock; the receiver polls the counter.
//!
//! A mailbox holds two letters. The sender counts letters put, the receiver letters taken. Each stores its counter
//! after it has finished with the bytes (release), and loads the other counter before it touches any (acquire). Letter
//! `n` lies in half `n` modulo 2. The sender owns that half until it has put letter `n`, and again after the receiver
//! has taken it. A sender that is two letters ahead finds no room; it never waits.
//!
//! The sender puts a letter first and rings second (`doorbell.rs`), so a waiting thread sees the letter or is woken.
//!
//! A mailbox lies in a pool buffer, behind the first letter, which is handed over as a payload. The buffer becomes free
//! when both ends are dropped. The memory is generic for the model checker ([`Halves`], `mailbox/model.rs`).
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. A mailbox has one [`Sender`] and one [`Receiver`], ever: their creator guarantees it.
//! 2. Only the owner of a half, as defined above, calls `with` and `with_mut` on it. A node peer that counts wrong
//!    breaks the protocol, which node peers are trusted not to do; the result is wrong bytes, never an access outside
//!    the buffer.
//! 3. Counters and halves lie inside the buffer, behind the first letter, and do not overlap
//!    ([`MailboxMemory::behind`]). The sender's reservation and the receiver's view keep the buffer mapped and
//!    otherwise unused while an end exists (`buffer_pool.rs`).
#![allow(unsafe_code)]

#[cfg(test)]
mod model;

use super::buffer_pool::{BUFFER, Reservation, SharedView};
use super::control::{APART, NodeRank};
use super::ring::Position;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const ROOM: u64 = 2;

/// The memory of a mailbox.
pub(crate) trait Halves {
    type Count: Position;

    fn put(&self) -> &Self::Count;
    fn taken(&self) -> &Self::Count;

    /// # Safety
    /// No thread writes this half meanwhile.
    unsafe fn with<R>(&self, half: usize, show: impl FnOnce(&[u8]) -> R) -> R;

    /// # Safety
    /// No other thread accesses this half meanwhile.
    unsafe fn with_mut(&self, half: usize, fill: impl FnOnce(&mut [u8]));
}

#[derive(Debug)]
pub(crate) struct Sender<H> {
    halves: H,
    put: u64,
}

impl<H: Halves> Sender<H> {
    /// # Safety
    /// This is the mailbox's only sender, ever, and the mailbox is empty.
    pub unsafe fn new(halves: H) -> Self {
        Sender { halves, put: 0 }
    }

    pub fn put(&mut self, fill: impl FnOnce(&mut [u8])) -> bool {
        if self.put.wrapping_sub(self.halves.taken().load(Ordering::Acquire)) >= ROOM {
            return false;
        }
        // SAFETY: invariant 2: the letter in this half has been taken.
        unsafe { self.halves.with_mut((self.put % ROOM) as usize, fill) };
        self.put += 1;
        self.halves.put().store(self.put, Ordering::Release);
        true
    }
}

#[derive(Debug)]
pub(crate) struct Receiver<H> {
    halves: H,
    taken: u64,
}

impl<H: Halves> Receiver<H> {
    /// # Safety
    /// This is the mailbox's only receiver, ever, and no letter has been taken.
    pub unsafe fn new(halves: H) -> Self {
        Receiver { halves, taken: 0 }
    }

    pub fn has_come(&self) -> bool {
        self.halves.put().load(Ordering::Acquire) > self.taken
    }

    pub fn take<R>(&mut self, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        if !self.has_come() {
            return None;
        }
        // SAFETY: invariant 2: the letter has been put and not yet taken.
        let read = unsafe { self.halves.with((self.taken % ROOM) as usize, read) };
        self.taken += 1;
        self.halves.taken().store(self.taken, Ordering::Release);
        Some(read)
    }
}

/// A mailbox in a buffer: two counters on cache lines of their own, and two halves.
#[derive(Debug)]
pub(super) struct MailboxMemory {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: only an address; invariants 1 and 2 restrict the ends, on any thread.
unsafe impl Send for MailboxMemory {}
// SAFETY: as above; a shared reference gives access to atomics, and to halves by the rules of `with` and `with_mut`.
unsafe impl Sync for MailboxMemory {}

impl MailboxMemory {
    const HALVES: usize = 2 * APART;

    /// The memory behind the first `len` bytes of a buffer, for letters of that length; `None` if it does not fit.
    pub fn behind(buffer: NonNull<u8>, len: usize) -> Option<Self> {
        let letter = len.next_multiple_of(APART);
        if len == 0 || len > BUFFER || letter + Self::HALVES + ROOM as usize * letter > BUFFER {
            return None;
        }
        // SAFETY: invariant 3: compared with the length of a buffer above.
        Some(MailboxMemory { start: unsafe { buffer.add(letter) }, len })
    }

    /// Empties the mailbox before any other rank knows of it.
    pub fn clear(&self) {
        self.put().store(0, Ordering::Relaxed);
        self.taken().store(0, Ordering::Relaxed);
    }

    fn count(&self, at: usize) -> &AtomicU64 {
        // SAFETY: invariant 3: inside the buffer.
        let count = unsafe { self.start.add(at) };
        // SAFETY: aligned, since buffers are page-aligned; both sides use it only as an atomic.
        unsafe { AtomicU64::from_ptr(count.as_ptr().cast()) }
    }

    fn half(&self, half: usize) -> *mut u8 {
        // SAFETY: invariant 3: inside the buffer.
        unsafe { self.start.add(Self::HALVES + half * self.len.next_multiple_of(APART)) }.as_ptr()
    }
}

impl Halves for MailboxMemory {
    type Count = AtomicU64;

    fn put(&self) -> &AtomicU64 {
        self.count(0)
    }

    fn taken(&self) -> &AtomicU64 {
        self.count(APART)
    }

    unsafe fn with<R>(&self, half: usize, show: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: invariant 3; the caller guarantees that no thread writes this half.
        show(unsafe { std::slice::from_raw_parts(self.half(half), self.len) })
    }

    unsafe fn with_mut(&self, half: usize, fill: impl FnOnce(&mut [u8])) {
        // SAFETY: invariant 3; the caller guarantees exclusive access.
        fill(unsafe { std::slice::from_raw_parts_mut(self.half(half), self.len) });
    }
}

/// The sending end of a mailbox to a node peer, from [`Outbox::mailbox`](crate::Outbox::mailbox).
pub struct MailboxSender {
    end: Sender<MailboxMemory>,
    reservation: Reservation,
    to: NodeRank,
}

impl MailboxSender {
    /// Creates the sender in a reserved buffer that has no other mailbox and has not been handed to `to` yet.
    pub(super) fn new(memory: MailboxMemory, reservation: Reservation, to: NodeRank) -> Self {
        memory.clear();
        // SAFETY: invariants 1 and 3.
        MailboxSender { end: unsafe { Sender::new(memory) }, reservation, to }
    }

    /// Writes the next letter and wakes the receiver if it waits. Returns false if the mailbox is full.
    pub fn put(&mut self, fill: impl FnOnce(&mut [u8])) -> bool {
        let put = self.end.put(fill);
        if put {
            self.reservation.control().ring_lazily(self.to);
        }
        put
    }
}

impl fmt::Debug for MailboxSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MailboxSender").field("to", &self.to).finish_non_exhaustive()
    }
}

/// The receiving end of a mailbox from a node peer, from [`SharedView::into_mailbox`].
#[derive(Debug)]
pub struct MailboxReceiver {
    end: Receiver<MailboxMemory>,
    view: Arc<SharedView>,
}

impl MailboxReceiver {
    pub(super) fn behind(view: SharedView) -> Option<Self> {
        let memory = MailboxMemory::behind(view.start(), view.len())?;
        // SAFETY: invariants 1 and 3: a buffer is opened once each time it is handed over.
        Some(MailboxReceiver { end: unsafe { Receiver::new(memory) }, view: Arc::new(view) })
    }

    /// Returns true if a letter has arrived.
    pub fn has_come(&self) -> bool {
        self.end.has_come()
    }

    /// Takes the next letter; `None` if it has not arrived.
    pub fn take<R>(&mut self, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.end.take(read)
    }

    /// Returns a read-only counter of the letters that have arrived.
    pub fn count(&self) -> LetterCount {
        let memory = MailboxMemory::behind(self.view.start(), self.view.len()).expect("it is there");
        LetterCount { memory, _view: self.view.clone() }
    }
}

/// The number of letters that have arrived in a mailbox, readable by any thread.
#[derive(Debug)]
pub struct LetterCount {
    memory: MailboxMemory,
    _view: Arc<SharedView>,
}

impl LetterCount {
    /// The number of letters so far.
    pub fn get(&self) -> u64 {
        self.memory.put().load(Ordering::Acquire)
    }
}
