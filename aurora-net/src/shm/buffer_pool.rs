//! Buffers in shared memory, which a rank fills and hands to a node peer without a copy.
//!
//! A rank takes a free buffer of its own pool, fills it, and hands it to a node peer by a record in their ring. The
//! node peer reads the bytes in place and releases the buffer. One word per buffer holds its owner ([`Ownership`]).
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. The bytes of a buffer lie inside the control segment, which stays mapped as long as a handle to it exists, and
//!    overlap nothing else (invariants 1 and 2 of `control.rs`). [`Memory`] is made from checked indices.
//! 2. A [`SharedBuffer`] is made only for a free buffer of this rank's own pool, one at a time ([`Reservation`]). While
//!    it exists nothing else accesses its bytes. It ends before the buffer is handed over.
//! 3. A [`SharedView`] is made only by changing the ownership word from "handed to this rank" to "read by this rank",
//!    which one call can do. While it exists no rank writes the bytes. It ends before the buffer is released.
//! 4. Node peers keep to 2 and 3: they run the same program. Indices received from them are checked, so no access
//!    leaves the segment.
#![allow(unsafe_code)]

use super::control::{Control, NodeRank};
use super::mailbox::{MailboxMemory, MailboxReceiver, MailboxSender};
use super::ring::{Corrupt, Flag};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) const BUFFER: usize = 64 << 10;

/// The initial value of all shared memory.
const FREE: u32 = 0;

/// The ownership word of a buffer, in shared memory. Each change is one atomic exchange, which publishes all earlier
/// accesses to the bytes (release) and sees those of the previous owner (acquire).
#[derive(Debug)]
pub(super) struct Ownership<'a, F>(pub &'a F);

impl<F: Flag> Ownership<'_, F> {
    fn handed_to(peer: NodeRank) -> u32 {
        2 * peer as u32 + 1
    }

    fn read_by(peer: NodeRank) -> u32 {
        2 * peer as u32 + 2
    }

    pub fn is_free(&self) -> bool {
        self.0.load(Ordering::Acquire) == FREE
    }

    pub fn hand_to(&self, peer: NodeRank) {
        self.0.swap(Self::handed_to(peer), Ordering::AcqRel);
    }

    /// This rank starts to read. False: the buffer was not handed to it.
    pub fn acquire(&self, me: NodeRank) -> bool {
        self.0.compare_exchange(Self::handed_to(me), Self::read_by(me), Ordering::AcqRel)
    }

    pub fn release(&self) {
        self.0.swap(FREE, Ordering::AcqRel);
    }

    pub fn reclaim(&self, dead: NodeRank) {
        for state in [Self::handed_to(dead), Self::read_by(dead)] {
            self.0.compare_exchange(state, FREE, Ordering::AcqRel);
        }
    }
}

#[derive(Debug)]
pub(crate) struct BufferPool {
    control: Arc<Control>,
    reservations: Mutex<Vec<u8>>,
}

impl BufferPool {
    /// Creates the pool. Call this once per rank, like [`Control::take_rings`].
    pub fn new(control: Arc<Control>) -> Arc<Self> {
        let reservations = Mutex::new(vec![0; control.buffers()]);
        Arc::new(BufferPool { control, reservations })
    }

    /// Takes the free buffer with the lowest index, which is most likely to be in the processor's cache.
    pub fn take(self: &Arc<Self>) -> Option<SharedBuffer> {
        let me = self.control.me();
        let mut reservations = self.reservations();
        let index =
            (0..reservations.len()).find(|index| reservations[*index] == 0 && self.ownership(me, *index).is_free())?;
        reservations[index] = 1;
        let memory = Memory::of(&self.control, me, index);
        Some(SharedBuffer { reservation: Reservation { pool: self.clone(), index }, memory, len: BUFFER })
    }

    /// Opens a node peer's buffer with `len` bytes in it. [`Corrupt`]: it was not handed to this rank.
    pub fn open(&self, owner: NodeRank, index: usize, len: usize) -> Result<SharedView, Corrupt> {
        if index >= self.control.buffers() || len > BUFFER || !self.ownership(owner, index).acquire(self.control.me()) {
            return Err(Corrupt);
        }
        let control = self.control.clone();
        Ok(SharedView { memory: Memory::of(&control, owner, index), control, owner, index, len })
    }

    /// Takes back all buffers of a dead node peer. A node peer that merely does not respond may still be reading.
    pub fn reclaim(&self, dead: NodeRank) {
        for index in 0..self.control.buffers() {
            self.ownership(self.control.me(), index).reclaim(dead);
        }
    }

    fn ownership(&self, owner: NodeRank, index: usize) -> Ownership<'_, AtomicU32> {
        Ownership(self.control.ownership(owner, index))
    }

    fn reservations(&self) -> MutexGuard<'_, Vec<u8>> {
        self.reservations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a buffer of this rank out of its pool, even while a node peer owns the buffer.
#[derive(Debug)]
pub(super) struct Reservation {
    pool: Arc<BufferPool>,
    index: usize,
}

impl Reservation {
    pub fn control(&self) -> &Control {
        &self.pool.control
    }

    fn share(&self) -> Self {
        self.pool.reservations()[self.index] += 1;
        Reservation { pool: self.pool.clone(), index: self.index }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.pool.reservations()[self.index] -= 1;
    }
}

struct Memory(NonNull<u8>);

impl Memory {
    fn of(control: &Control, owner: NodeRank, index: usize) -> Self {
        Memory(control.buffer(owner, index))
    }
}

// SAFETY: only an address; invariants 2 and 3 restrict its holders, on any thread.
unsafe impl Send for Memory {}
// SAFETY: as above; a shared reference only reads.
unsafe impl Sync for Memory {}

/// A buffer of this rank that is being filled for one node peer. Dropping it makes the buffer free again.
pub struct SharedBuffer {
    reservation: Reservation,
    memory: Memory,
    /// At most [`BUFFER`].
    len: usize,
}

impl SharedBuffer {
    /// Shortens the content to `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Hands the buffer to a node peer and returns its index.
    pub(super) fn hand_to(self, peer: NodeRank) -> usize {
        let Reservation { pool, index } = &self.reservation;
        pool.ownership(pool.control.me(), *index).hand_to(peer);
        // Dropping `self` only drops the reservation.
        *index
    }

    /// Creates a mailbox to a node peer behind the content, for letters of the content's length, if there is room. Call
    /// this at most once per buffer, and hand the buffer to that node peer.
    pub(crate) fn mailbox(&self, to: NodeRank) -> Option<MailboxSender> {
        let memory = MailboxMemory::behind(self.memory.0, self.len)?;
        Some(MailboxSender::new(memory, self.reservation.share(), to))
    }

    pub(crate) fn as_ptr(&self) -> NonNull<u8> {
        self.memory.0
    }
}

impl Deref for SharedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: invariants 1 and 2.
        unsafe { std::slice::from_raw_parts(self.memory.0.as_ptr(), self.len) }
    }
}

impl DerefMut for SharedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: invariants 1 and 2.
        unsafe { std::slice::from_raw_parts_mut(self.memory.0.as_ptr(), self.len) }
    }
}

impl AsRef<[u8]> for SharedBuffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for SharedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedBuffer")
            .field("index", &self.reservation.index)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

/// The content, in place, of a buffer that a node peer has handed to this rank. Dropping this releases the buffer.
pub struct SharedView {
    control: Arc<Control>,
    owner: NodeRank,
    index: usize,
    memory: Memory,
    len: usize,
}

impl SharedView {
    /// Returns the mailbox behind the content; `None` if the buffer has no room for one. Call this only if the node
    /// peer has created a mailbox there. Its letters have the content's length.
    pub fn into_mailbox(self) -> Option<MailboxReceiver> {
        MailboxReceiver::behind(self)
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.memory.0
    }
}

impl Deref for SharedView {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: invariants 1 and 3.
        unsafe { std::slice::from_raw_parts(self.memory.0.as_ptr(), self.len) }
    }
}

impl Drop for SharedView {
    fn drop(&mut self) {
        Ownership(self.control.ownership(self.owner, self.index)).release();
    }
}

impl fmt::Debug for SharedView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedView").field("owner", &self.owner).field("len", &self.len).finish_non_exhaustive()
    }
}
