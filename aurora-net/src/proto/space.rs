//! A packet while it is filled.

use super::sent::Content;

/// What a packet carried that must arrive.
#[derive(Clone, Debug)]
pub(super) enum SentFrame {
    /// Bytes of a transfer.
    Part(Part),
    /// That a transfer has been abandoned.
    Reset { transfer: u64 },
}

/// `len` payload bytes of a transfer from `offset` on.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The transfer's place at its sender.
    pub(super) slot: u32,
    pub(super) transfer: u64,
    pub(super) offset: u64,
    pub(super) len: u32,
    /// In the OPEN frame, behind the header.
    pub(super) opens: bool,
}

/// The room that a packet has for frames, and the record of those that must arrive.
#[derive(Debug)]
pub(super) struct Space<'a> {
    pub(super) buf: &'a mut Vec<u8>,
    /// `buf` must not grow beyond this.
    pub(super) end: usize,
    pub(super) content: Content,
    /// Whether it carries something that an earlier packet carried too.
    pub(super) resent: bool,
}

impl<'a> Space<'a> {
    pub(super) fn new(buf: &'a mut Vec<u8>, end: usize) -> Self {
        Space { buf, end, content: Content::None, resent: false }
    }

    pub(super) fn room(&self) -> usize {
        self.end.saturating_sub(self.buf.len())
    }
}

/// What became of an attempt to put a frame into a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Put {
    /// In, with so many bytes of payload.
    Done(u32),
    /// Not enough room.
    Full,
    /// Its payload has been withdrawn, or its transfer is over.
    Gone,
}
