//! One transfer on its way out.

use super::Payloads;
use super::space::{Put, Space};
use crate::wire::{self, DATA_LEN, OPEN_LEN};
use crate::{Payload, Token};
use bytes::Bytes;

/// Bulk data is not cut into smaller pieces than this to fill up a packet.
pub(super) const MIN_PIECE: usize = 128;

/// Where a transfer stands at its sender. Each byte is at any time in exactly one place: not yet sent, in flight, lost and
/// waiting to be sent again, or acknowledged; so counting what is left is enough.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// Its number on the wire; `None` until its OPEN frame is built.
    pub(super) number: Option<u64>,
    /// Fits into one packet, and is never cut.
    pub(super) small: bool,
    /// Payload bytes before this have been sent at least once.
    pub(super) next: u64,
    header: Bytes,
    payload: Payload,
    /// Payload bytes not yet acknowledged, and one for the OPEN frame.
    left: u64,
}

impl Outgoing {
    /// Small if its OPEN frame with everything in it is not longer than `longest`.
    pub(super) fn new(header: Bytes, payload: Payload, longest: usize) -> Self {
        Outgoing {
            number: None,
            small: OPEN_LEN + header.len() + payload.len() <= longest,
            next: 0,
            left: payload.len() as u64 + 1,
            header,
            payload,
        }
    }

    /// Length of the payload.
    pub(super) fn len(&self) -> u64 {
        self.payload.len() as u64
    }

    /// Header and payload bytes.
    pub(super) fn size(&self) -> u64 {
        self.len() + self.header.len() as u64
    }

    /// The memory to be given back at the end.
    pub(super) fn token(&self) -> Option<Token> {
        match self.payload {
            Payload::Lent { token, .. } => Some(token),
            Payload::Empty | Payload::Bytes(_) => None,
        }
    }

    /// So much of it (one for OPEN included) has been acknowledged. True: that was the last.
    pub(super) fn settle(&mut self, amount: u64) -> bool {
        self.left -= amount;
        self.left == 0
    }

    /// Opens the transfer as `number` with at most `want` bytes of payload.
    pub(super) fn put_open(
        &self,
        number: u64,
        want: u64,
        space: &mut Space<'_>,
        io: &mut impl Payloads,
    ) -> Put {
        let Some(room) = space.room().checked_sub(OPEN_LEN + self.header.len()) else {
            return Put::Full;
        };
        let len = want.min(room as u64);
        if self.small && len < want {
            return Put::Full;
        }
        let start = space.buf.len();
        wire::put_open(space.buf, number, &self.header, self.len(), len as usize);
        self.put_payload(0, len, start, space, io)
    }

    /// Puts at most `want` bytes from `offset` on.
    pub(super) fn put_data(
        &self,
        number: u64,
        offset: u64,
        want: u64,
        space: &mut Space<'_>,
        io: &mut impl Payloads,
    ) -> Put {
        let room = space.room().saturating_sub(DATA_LEN) as u64;
        if room < want.min(MIN_PIECE as u64) {
            return Put::Full;
        }
        let len = want.min(room);
        let start = space.buf.len();
        wire::put_data(space.buf, number, offset, len as usize);
        self.put_payload(offset, len, start, space, io)
    }

    /// Ends the frame that begins at `start` with its payload, or takes it back.
    fn put_payload(
        &self,
        offset: u64,
        len: u64,
        start: usize,
        space: &mut Space<'_>,
        io: &mut impl Payloads,
    ) -> Put {
        let from = offset as usize;
        let to = from + len as usize;
        let is_there = match &self.payload {
            Payload::Bytes(bytes) => {
                space.buf.extend_from_slice(&bytes[from..to]);
                true
            }
            Payload::Lent { token, .. } if len > 0 => {
                let at = space.buf.len();
                space.buf.resize(at + len as usize, 0);
                io.read(*token, from, &mut space.buf[at..])
            }
            Payload::Empty | Payload::Lent { .. } => true,
        };
        if !is_there {
            space.buf.truncate(start);
            return Put::Gone;
        }
        Put::Done(len)
    }
}
