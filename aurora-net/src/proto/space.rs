//! A packet that is being filled.

use super::sent::Content;

/// A frame of a sent packet that must arrive.
#[derive(Clone, Debug)]
pub(super) enum SentFrame {
    Part(Part),
    Reset { transfer: u64 },
}

/// `len` payload bytes of a transfer from `offset` on.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The transfer's slot at its sender.
    pub(super) slot: u32,
    pub(super) transfer: u64,
    pub(super) offset: u64,
    pub(super) len: u32,
    /// True: in the OPEN frame, behind the header.
    pub(super) opens: bool,
}

/// The room for frames in a packet, and a record of those that must arrive.
#[derive(Debug)]
pub(super) struct Space<'a> {
    pub(super) buf: &'a mut Vec<u8>,
    /// `buf` must not grow beyond this.
    pub(super) end: usize,
    pub(super) content: Content,
    /// True if the packet carries data that an earlier packet carried.
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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Put {
    /// Written, with this many bytes of payload.
    Done(u32),
    Full,
    /// The payload has been withdrawn, or the transfer is complete.
    Gone,
}
