//! A packet while it is filled.

use super::sent::Content;

/// What a packet carried of a transfer. `slot` is the transfer's place at its sender.
#[derive(Clone, Debug)]
pub(super) enum SentFrame {
    /// The header and `len` bytes of payload.
    Open { slot: u32, transfer: u64, len: u32 },
    /// `len` bytes of payload from `offset` on.
    Data {
        slot: u32,
        transfer: u64,
        offset: u64,
        len: u32,
    },
    /// That the transfer has been abandoned.
    Reset { transfer: u64 },
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
        Space {
            buf,
            end,
            content: Content::None,
            resent: false,
        }
    }

    pub(super) fn room(&self) -> usize {
        self.end.saturating_sub(self.buf.len())
    }
}

/// What became of an attempt to put a frame into a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Put {
    /// In, with so many bytes of payload.
    Done(u64),
    /// Not enough room.
    Full,
    /// Its payload has been withdrawn, or its transfer is over.
    Gone,
}
