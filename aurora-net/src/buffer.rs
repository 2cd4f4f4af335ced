//! Memory for a payload that is being built.
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. `start` and `len` describe `memory`, which stays at its address until the buffer is dropped or becomes a payload.
//!    Nothing else accesses it meanwhile.
#![allow(unsafe_code)]

use crate::Payload;
use crate::shm::SharedBuffer;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Memory for the payload of one transfer, from [`Outbox::buffer`](crate::Outbox::buffer). If the receiver shares
/// memory with this rank, it reads the payload in place, without a copy.
pub struct Buffer {
    memory: Memory,
    /// The first byte, whichever kind of memory it is: writes need no case distinction.
    start: NonNull<u8>,
    len: usize,
}

enum Memory {
    Own(Vec<u8>),
    Shared(SharedBuffer),
}

impl Buffer {
    /// A buffer in private memory.
    pub fn own(mut bytes: Vec<u8>) -> Self {
        let start = NonNull::from(bytes.as_mut_slice()).cast();
        Buffer { start, len: bytes.len(), memory: Memory::Own(bytes) }
    }

    pub(crate) fn shared(buffer: SharedBuffer) -> Self {
        Buffer { start: buffer.as_ptr(), len: buffer.len(), memory: Memory::Shared(buffer) }
    }

    /// Shortens the content to `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

// SAFETY: invariant 1: the buffer owns its memory, and both kinds may be sent.
unsafe impl Send for Buffer {}

// SAFETY: as above; a shared reference only reads.
unsafe impl Sync for Buffer {}

impl Deref for Buffer {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: invariant 1.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Buffer {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: invariant 1.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl From<Buffer> for Vec<u8> {
    fn from(buffer: Buffer) -> Vec<u8> {
        let len = buffer.len;
        match buffer.memory {
            Memory::Own(mut bytes) => {
                bytes.truncate(len);
                bytes
            }
            Memory::Shared(shared) => shared[..len].to_vec(),
        }
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Payload {
        if bytes.is_empty() { Payload::Empty } else { Payload::Bytes(bytes.into()) }
    }
}

impl From<Buffer> for Payload {
    fn from(buffer: Buffer) -> Payload {
        let len = buffer.len;
        match buffer.memory {
            _ if len == 0 => Payload::Empty,
            Memory::Own(_) => Vec::from(buffer).into(),
            Memory::Shared(mut shared) => {
                shared.truncate(len);
                Payload::Shared(shared)
            }
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared = matches!(self.memory, Memory::Shared(_));
        f.debug_struct("Buffer").field("len", &self.len).field("shared", &shared).finish_non_exhaustive()
    }
}
