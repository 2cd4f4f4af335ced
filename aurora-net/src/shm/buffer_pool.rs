//! Buffers that the ranks of a node fill and hand to each other, so that what is in them is not copied.
//!
//! Each rank has a buffer pool of them in the control segment. It takes one that is at home, fills it, and hands it to
//! a node peer, by a record in their ring that says which one and how much of it; the node peer reads it where it lies,
//! and gives it back. Whose turn it is, a word says for each buffer ([`Ownership`]). Nobody waits for a buffer: where
//! none is at home, payloads travel as others do.
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. The bytes of a buffer lie inside the control segment, which stays mapped as long as a handle to it exists, and
//!    overlap nothing else (invariants 1 and 2 of `control.rs`). [`Memory`] is made from numbers that were checked.
//! 2. A [`SharedBuffer`] is made only for a buffer of one's own buffer pool whose ownership word says that it is free,
//!    and only one at a time ([`Reservation`]); while it lives nobody else touches its bytes. It ends before the
//!    ownership is given away.
//! 3. A [`SharedView`] is made only by moving the ownership from "handed to me" to "read by me", which one call can do;
//!    while it lives nobody writes the bytes. It ends before the ownership is given back.
//! 4. Mates keep to 2 and 3: they run the same program. What they say by mistake of numbers never leads out of the
//!    segment.
#![allow(unsafe_code)]

use super::control::{Control, NodeRank};
use super::mailbox::{MailboxMemory, MailboxReceiver, MailboxSender};
use super::ring::{Corrupt, Flag};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a buffer.
pub(crate) const BUFFER: usize = 64 << 10;

/// As all shared memory begins.
const FREE: u32 = 0;

/// The ownership word of a buffer, in shared memory.
///
/// Each of its changes is one exchange, which gives away all that was done to the bytes before (release) and takes it
/// over (acquire).
#[derive(Debug)]
pub(super) struct Ownership<'a, F>(pub &'a F);

impl<F: Flag> Ownership<'_, F> {
    fn handed_to(peer: NodeRank) -> u32 {
        2 * peer as u32 + 1
    }

    fn read_by(peer: NodeRank) -> u32 {
        2 * peer as u32 + 2
    }

    /// Whether its owner may fill it.
    pub fn is_free(&self) -> bool {
        self.0.load(Ordering::Acquire) == FREE
    }

    /// Its owner has filled it for a node peer.
    pub fn hand_to(&self, peer: NodeRank) {
        self.0.swap(Self::handed_to(peer), Ordering::AcqRel);
    }

    /// The node peer begins to read. False: it was not handed to it.
    pub fn acquire(&self, me: NodeRank) -> bool {
        self.0.compare_exchange(Self::handed_to(me), Self::read_by(me), Ordering::AcqRel)
    }

    /// The node peer has read it.
    pub fn release(&self) {
        self.0.swap(FREE, Ordering::AcqRel);
    }

    /// Takes it back from a node peer that does not exist any more.
    pub fn reclaim(&self, dead: NodeRank) {
        for state in [Self::handed_to(dead), Self::read_by(dead)] {
            self.0.compare_exchange(state, FREE, Ordering::AcqRel);
        }
    }
}

/// A rank's own buffers.
#[derive(Debug)]
pub(crate) struct BufferPool {
    control: Arc<Control>,
    /// How many reservations there are on each.
    reservations: Mutex<Vec<u8>>,
}

impl BufferPool {
    /// To be made once for a rank, see [`Control::take_rings`].
    pub fn new(control: Arc<Control>) -> Arc<Self> {
        let reservations = Mutex::new(vec![0; control.buffers()]);
        Arc::new(BufferPool { control, reservations })
    }

    /// A buffer that nobody uses, if there is one. The lowest: it is the one that the processor's cache remembers.
    pub fn take(self: &Arc<Self>) -> Option<SharedBuffer> {
        let me = self.control.me();
        let mut reservations = self.reservations();
        let index =
            (0..reservations.len()).find(|index| reservations[*index] == 0 && self.ownership(me, *index).is_free())?;
        reservations[index] = 1;
        let memory = Memory::of(&self.control, me, index);
        Some(SharedBuffer { reservation: Reservation { pool: self.clone(), index }, memory, len: BUFFER })
    }

    /// What a node peer says that it has handed to us: `len` bytes in one of its buffers.
    ///
    /// # Errors
    /// [`Corrupt`]: it has not.
    pub fn open(&self, owner: NodeRank, index: usize, len: usize) -> Result<SharedView, Corrupt> {
        if index >= self.control.buffers() || len > BUFFER || !self.ownership(owner, index).acquire(self.control.me()) {
            return Err(Corrupt);
        }
        let control = self.control.clone();
        Ok(SharedView { memory: Memory::of(&control, owner, index), control, owner, index, len })
    }

    /// Takes back what a node peer has that is dead. (One that merely does not answer may still read.)
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

/// Keeps a buffer of our own out of the pool, wherever it is.
#[derive(Debug)]
pub(super) struct Reservation {
    pool: Arc<BufferPool>,
    index: usize,
}

impl Reservation {
    pub fn control(&self) -> &Control {
        &self.pool.control
    }

    /// Another one on the same buffer.
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

/// Where the bytes of a buffer lie.
struct Memory(NonNull<u8>);

impl Memory {
    fn of(control: &Control, owner: NodeRank, index: usize) -> Self {
        Memory(control.buffer(owner, index))
    }
}

// SAFETY: an address; who may use it, invariants 2 and 3 say of its holders, on whichever thread they are.
unsafe impl Send for Memory {}
// SAFETY: the same; through a shared reference it is only read.
unsafe impl Sync for Memory {}

/// A buffer of our own, being filled for one node peer. Dropped, it is at home again.
pub struct SharedBuffer {
    reservation: Reservation,
    memory: Memory,
    /// At most [`BUFFER`].
    len: usize,
}

impl SharedBuffer {
    /// Leaves the bytes from `len` on out.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Gives it to a node peer, who is to be told its number.
    pub(super) fn hand_to(self, peer: NodeRank) -> usize {
        let Reservation { pool, index } = &self.reservation;
        pool.ownership(pool.control.me(), *index).hand_to(peer);
        // What is left to do is to let go of it.
        *index
    }

    /// Makes a mailbox to a node peer behind its bytes, for letters as long as they are, if there is room. To be asked
    /// for once; the buffer is then handed to that node peer.
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

/// What a node peer has handed to us, where it lies. Dropped, the node peer has its buffer back.
pub struct SharedView {
    control: Arc<Control>,
    owner: NodeRank,
    index: usize,
    memory: Memory,
    /// At most [`BUFFER`].
    len: usize,
}

impl SharedView {
    /// The mailbox behind what it shows, where its owner has made one: then what is shown is its first letter's length.
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
