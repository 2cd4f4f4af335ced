//! Mailboxes: letters of one length from a rank to a node peer, through memory that both see and without a record in
//! their ring.
//!
//! For ranks that send each other the same again and again, the edges of their blocks: a letter costs a copy into the
//! mailbox, a count and a hint, and one look at the count where it is waited for. No header, no queue, no lock of the
//! endpoint.
//!
//! A mailbox holds two letters. Its sender counts the letters that it has put, its receiver those that it has taken;
//! each stores its count when it is done with the bytes (release), and reads the other's before it touches any
//! (acquire). Letter `n` lies in half `n` modulo 2. The sender has that half until it has put letter `n`, and again
//! once the receiver has taken it; so a sender that is two letters ahead finds no room, and never waits for it.
//!
//! The sender puts first and hints second, as with anything that it puts into a ring (`doorbell.rs`): a thread that
//! waits, or begins to, sees the letter or is woken.
//!
//! A mailbox is the rest of a buffer of the pool, behind a first letter that travels as its payload: with that it is
//! handed over, and it comes home when both sides have let go of it. It is generic over where it lies, for the model
//! checker ([`Halves`], `mailbox/model.rs`).
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. A mailbox has one [`Sender`] and one [`Receiver`], ever: who makes them promises it.
//! 2. `with` and `with_mut` are called by whoever has that half, as said above. A node peer that counts wrong breaks
//!    the protocol, which node peers are trusted not to; it leads to wrong bytes, never out of the buffer.
//! 3. Counts and halves lie inside the buffer, behind the first letter, and overlap nothing
//!    ([`MailboxMemory::behind`]). The buffer is neither used for anything else nor unmapped while one of its ends is
//!    there: the sender's reservation and the receiver's view see to that (`buffer_pool.rs`).
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

/// Letters that it holds.
const ROOM: u64 = 2;

/// Where a mailbox lies.
pub(crate) trait Halves {
    type Count: Position;

    /// How many letters have been put.
    fn put(&self) -> &Self::Count;
    /// How many letters have been taken.
    fn taken(&self) -> &Self::Count;

    /// Shows the letter in a half.
    ///
    /// # Safety
    /// Nobody writes there meanwhile.
    unsafe fn with<R>(&self, half: usize, show: impl FnOnce(&[u8]) -> R) -> R;

    /// Lets the letter in a half be written.
    ///
    /// # Safety
    /// Nobody else uses it meanwhile.
    unsafe fn with_mut(&self, half: usize, fill: impl FnOnce(&mut [u8]));
}

/// The end that puts letters in.
#[derive(Debug)]
pub(crate) struct Sender<H> {
    halves: H,
    put: u64,
}

impl<H: Halves> Sender<H> {
    /// # Safety
    /// It is the only one that this mailbox ever has, and the mailbox is empty.
    pub unsafe fn new(halves: H) -> Self {
        Sender { halves, put: 0 }
    }

    /// Puts the next letter in. False: two are there that have not been taken, and it is not put.
    pub fn put(&mut self, fill: impl FnOnce(&mut [u8])) -> bool {
        if self.put.wrapping_sub(self.halves.taken().load(Ordering::Acquire)) >= ROOM {
            return false;
        }
        // SAFETY: invariant 2: what was in this half has been taken.
        unsafe { self.halves.with_mut((self.put % ROOM) as usize, fill) };
        self.put += 1;
        self.halves.put().store(self.put, Ordering::Release);
        true
    }
}

/// The end that takes letters out.
#[derive(Debug)]
pub(crate) struct Receiver<H> {
    halves: H,
    taken: u64,
}

impl<H: Halves> Receiver<H> {
    /// # Safety
    /// It is the only one that this mailbox ever has, and no letter has been taken.
    pub unsafe fn new(halves: H) -> Self {
        Receiver { halves, taken: 0 }
    }

    /// Whether there is a letter.
    pub fn has_come(&self) -> bool {
        self.halves.put().load(Ordering::Acquire) > self.taken
    }

    /// Takes the next letter, if it is there.
    pub fn take<R>(&mut self, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        if !self.has_come() {
            return None;
        }
        // SAFETY: invariant 2: it has been put, and nobody has said that it is taken.
        let read = unsafe { self.halves.with((self.taken % ROOM) as usize, read) };
        self.taken += 1;
        self.halves.taken().store(self.taken, Ordering::Release);
        Some(read)
    }
}

/// A mailbox in a buffer: two counts, each apart from all else, and two halves.
#[derive(Debug)]
pub(super) struct MailboxMemory {
    start: NonNull<u8>,
    /// Of a letter.
    len: usize,
}

// SAFETY: an address; who may use what is there, invariants 1 and 2 say of the ends, on whichever thread they are.
unsafe impl Send for MailboxMemory {}
// SAFETY: the same; what a shared reference gives access to are atomics, and halves by the rules of `with` and
// `with_mut`.
unsafe impl Sync for MailboxMemory {}

impl MailboxMemory {
    const HALVES: usize = 2 * APART;

    /// Behind the first `len` bytes of a buffer, for letters of as many; none where they do not fit.
    pub fn behind(buffer: NonNull<u8>, len: usize) -> Option<Self> {
        let letter = len.next_multiple_of(APART);
        if len == 0 || len > BUFFER || letter + Self::HALVES + ROOM as usize * letter > BUFFER {
            return None;
        }
        // SAFETY: invariant 3: just compared with the length of a buffer.
        Some(MailboxMemory { start: unsafe { buffer.add(letter) }, len })
    }

    /// Makes it empty, before it is known to anybody else.
    pub fn clear(&self) {
        self.put().store(0, Ordering::Relaxed);
        self.taken().store(0, Ordering::Relaxed);
    }

    fn count(&self, at: usize) -> &AtomicU64 {
        // SAFETY: invariant 3: inside the buffer.
        let count = unsafe { self.start.add(at) };
        // SAFETY: aligned, as buffers are to pages; used by both sides as an atomic only.
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
        // SAFETY: invariant 3; that nobody writes there the caller promises.
        show(unsafe { std::slice::from_raw_parts(self.half(half), self.len) })
    }

    unsafe fn with_mut(&self, half: usize, fill: impl FnOnce(&mut [u8])) {
        // SAFETY: invariant 3; that nobody else uses it the caller promises.
        fill(unsafe { std::slice::from_raw_parts_mut(self.half(half), self.len) });
    }
}

/// A mailbox to a node peer, from [`Outbox::mailbox`](crate::Outbox::mailbox).
pub struct MailboxSender {
    end: Sender<MailboxMemory>,
    reservation: Reservation,
    to: NodeRank,
}

impl MailboxSender {
    /// In the buffer that is claimed, in which nobody has been given one before; it has not been handed to `to` yet.
    pub(super) fn new(memory: MailboxMemory, reservation: Reservation, to: NodeRank) -> Self {
        memory.clear();
        // SAFETY: invariants 1 and 3.
        MailboxSender { end: unsafe { Sender::new(memory) }, reservation, to }
    }

    /// Has the next letter written, and wakes the receiver if it waits. False: two are there that have not been taken,
    /// and it is not put.
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

/// A mailbox from a node peer, from [`SharedView::into_mailbox`].
#[derive(Debug)]
pub struct MailboxReceiver {
    end: Receiver<MailboxMemory>,
    view: Arc<SharedView>,
}

impl MailboxReceiver {
    /// Behind what a view shows, if there can be one.
    pub(super) fn behind(view: SharedView) -> Option<Self> {
        let memory = MailboxMemory::behind(view.start(), view.len())?;
        // SAFETY: invariants 1 and 3: a buffer that is handed over is opened once.
        Some(MailboxReceiver { end: unsafe { Receiver::new(memory) }, view: Arc::new(view) })
    }

    /// Whether there is a letter.
    pub fn has_come(&self) -> bool {
        self.end.has_come()
    }

    /// Takes the next letter, if it is there.
    pub fn take<R>(&mut self, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.end.take(read)
    }

    /// For those who only want to know how many letters have come.
    pub fn count(&self) -> LetterCount {
        let memory = MailboxMemory::behind(self.view.start(), self.view.len()).expect("it is there");
        LetterCount { memory, _view: self.view.clone() }
    }
}

/// How many letters have come to a mailbox, for any thread to look at.
#[derive(Debug)]
pub struct LetterCount {
    memory: MailboxMemory,
    _view: Arc<SharedView>,
}

impl LetterCount {
    /// So many until now.
    pub fn get(&self) -> u64 {
        self.memory.put().load(Ordering::Acquire)
    }
}
