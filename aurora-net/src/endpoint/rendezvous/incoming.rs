//! An accepted transfer, at its receiver.

use super::carrier::Tag;
use super::checksum::{self, verified};
use crate::handler::Destination;
use crate::{Handler, Placement, Received};
use bytes::Bytes;

/// An incoming transfer. It exists until all its pieces have arrived.
#[derive(Debug)]
pub(super) struct IncomingTransfer {
    pub header: Bytes,
    pub tag: Tag,
    pub len: usize,
    /// Pieces with a posted receive.
    pub posted: usize,
    destination: Destination,
    /// Receives have been posted up to this offset.
    next: usize,
    left: usize,
    /// An empty piece has arrived: the sender has withdrawn the payload.
    withdrawn: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a piece of a transfer has arrived damaged")]
pub(super) struct Damaged;

impl IncomingTransfer {
    pub fn new(header: Bytes, tag: Tag, len: usize, placement: Placement) -> Self {
        let destination = match placement {
            Placement::Buffer => Destination::Buffer(Vec::new()),
            Placement::At(token) => Destination::At(token),
        };
        IncomingTransfer { header, tag, len, posted: 0, destination, next: 0, left: len, withdrawn: false }
    }

    /// The offset of the next piece to post a receive for, and the room that it needs.
    pub fn expect(&mut self, longest: usize) -> Option<(usize, usize)> {
        let (offset, len) = (self.next, longest.min(self.len - self.next));
        self.next += len;
        self.posted += usize::from(len > 0);
        (len > 0).then_some((offset, len + checksum::LEN))
    }

    /// Stores a received piece. True: it was the last.
    pub fn take(
        &mut self,
        (id, offset): (u64, usize),
        longest: usize,
        sealed: &[u8],
        handler: &mut impl Handler,
    ) -> Result<bool, Damaged> {
        let len = longest.min(self.len - offset);
        self.posted -= 1;
        self.left -= len;
        if sealed.is_empty() {
            self.withdrawn = true;
        } else {
            let bytes = verified(sealed, id, offset).filter(|bytes| bytes.len() == len).ok_or(Damaged)?;
            match &mut self.destination {
                Destination::At(token) => handler.write(*token, offset, bytes),
                Destination::Buffer(buffer) => {
                    if buffer.len() < offset + len {
                        buffer.resize(offset + len, 0);
                    }
                    buffer[offset..offset + len].copy_from_slice(bytes);
                }
            }
        }
        Ok(self.left == 0)
    }

    /// The payload to deliver; `None` if it was withdrawn.
    pub fn received(self) -> Option<Received> {
        (!self.withdrawn).then(|| self.destination.into_received())
    }
}
