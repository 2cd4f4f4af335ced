//! A requested transfer, at its sender.

use super::carrier::Tag;
use super::checksum::append;
use crate::{Handler, Payload, Rank};
use bytes::Bytes;

/// An outgoing transfer. It exists until its receiver has declined it or has all of it.
#[derive(Debug)]
pub(super) struct OutgoingTransfer {
    pub to: Rank,
    pub header: Bytes,
    pub payload: Payload,
    /// The tag of an accepted transfer; `None` until the receiver accepts.
    pub tag: Option<Tag>,
    /// Pieces that the carrier is sending.
    pub in_flight: usize,
    /// The carrier has been given all bytes before this.
    next: usize,
    /// The payload has been withdrawn: the remaining pieces are sent empty.
    withdrawn: bool,
}

impl OutgoingTransfer {
    pub fn new(to: Rank, header: Bytes, payload: Payload) -> Self {
        OutgoingTransfer { to, header, payload, tag: None, in_flight: 0, next: 0, withdrawn: false }
    }

    pub fn has_more(&self) -> bool {
        self.next < self.payload.len()
    }

    /// Copies the next piece, of at most `longest` bytes, into an empty buffer. Returns its offset.
    pub fn load(&mut self, id: u64, longest: usize, handler: &mut impl Handler, buffer: &mut Vec<u8>) -> usize {
        let offset = self.next;
        let len = longest.min(self.payload.len() - offset);
        self.next += len;
        self.in_flight += 1;
        match self.payload.contents() {
            _ if self.withdrawn => {}
            Ok(bytes) => buffer.extend_from_slice(&bytes[offset..offset + len]),
            Err(token) => {
                buffer.resize(len, 0);
                self.withdrawn = !handler.read(token, offset, buffer);
            }
        }
        match self.withdrawn {
            true => buffer.clear(),
            false => append(buffer, id, offset),
        }
        offset
    }
}
