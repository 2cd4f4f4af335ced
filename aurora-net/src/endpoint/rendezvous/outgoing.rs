//! A transfer that has been offered, at its sender.

use super::carrier::Tag;
use super::checksum::append;
use crate::{Handler, Payload, Rank, Token};
use bytes::Bytes;

/// It is held here until its receiver has declined it or has the whole of it.
#[derive(Debug)]
pub(super) struct OutgoingTransfer {
    pub to: Rank,
    pub header: Bytes,
    pub payload: Payload,
    /// None until it is accepted.
    pub tag: Option<Tag>,
    /// Pieces that the carrier has and is not done with.
    pub in_flight: usize,
    /// Bytes before this are the carrier's.
    next: usize,
    /// Its memory has been taken away: what is left of it goes out empty.
    withdrawn: bool,
}

impl OutgoingTransfer {
    pub fn new(to: Rank, header: Bytes, payload: Payload) -> Self {
        OutgoingTransfer { to, header, payload, tag: None, in_flight: 0, next: 0, withdrawn: false }
    }

    /// Whether the carrier is still to be given a piece.
    pub fn has_more(&self) -> bool {
        self.next < self.payload.len()
    }

    /// The lent memory that its handler is to have back.
    pub fn token(&self) -> Option<Token> {
        match self.payload {
            Payload::Lent { token, .. } => Some(token),
            Payload::Empty | Payload::Bytes(_) | Payload::Shared(_) => None,
        }
    }

    /// Puts the next piece, of at most `longest` bytes, into an empty buffer; returns where in the payload it lies.
    pub fn load(&mut self, id: u64, longest: usize, handler: &mut impl Handler, buffer: &mut Vec<u8>) -> usize {
        let offset = self.next;
        let len = longest.min(self.payload.len() - offset);
        self.next += len;
        self.in_flight += 1;
        match &self.payload {
            _ if self.withdrawn => {}
            Payload::Bytes(bytes) => buffer.extend_from_slice(&bytes[offset..offset + len]),
            Payload::Shared(bytes) => buffer.extend_from_slice(&bytes[offset..offset + len]),
            Payload::Lent { token, .. } => {
                buffer.resize(len, 0);
                self.withdrawn = !handler.read(*token, offset, buffer);
            }
            Payload::Empty => unreachable!("nothing is not offered"),
        }
        match self.withdrawn {
            true => buffer.clear(),
            false => append(buffer, id, offset),
        }
        offset
    }
}
