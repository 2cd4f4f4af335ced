//! One outgoing transfer.

use super::Payloads;
use super::space::{Part, Put, Space};
use crate::wire::{self, DATA_LEN, OPEN_LEN};
use crate::{Payload, Token};
use bytes::Bytes;

/// The smallest part of a bulk transfer that is used to fill up a packet.
pub(super) const MIN_PART: usize = 128;

/// Each byte is unsent, in flight, lost or acknowledged. So a count of the unacknowledged bytes is enough.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// The transfer's number on the wire; `None` until its OPEN frame is built.
    pub(super) number: Option<u64>,
    /// True: the transfer fits into one packet and is never split.
    pub(super) small: bool,
    /// All payload bytes before this have been sent at least once.
    pub(super) next: u64,
    header: Bytes,
    payload: Payload,
    /// Unacknowledged payload bytes, plus one for the OPEN frame.
    left: u64,
}

impl Outgoing {
    /// A transfer is small if its OPEN frame with the whole payload has at most `longest` bytes.
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

    pub(super) fn len(&self) -> u64 {
        self.payload.len() as u64
    }

    pub(super) fn size(&self) -> u64 {
        self.len() + self.header.len() as u64
    }

    pub(super) fn token(&self) -> Option<Token> {
        self.payload.token()
    }

    /// `amount` bytes (plus one for OPEN) have been acknowledged. True: the transfer is complete.
    pub(super) fn settle(&mut self, amount: u64) -> bool {
        self.left -= amount;
        self.left == 0
    }

    /// Writes a part into a packet as far as it fits; a small transfer only as a whole.
    pub(super) fn put(&self, part: &Part, space: &mut Space<'_>, io: &mut impl Payloads) -> Put {
        let (fixed, least) = match (part.opens, self.small) {
            (true, true) => (OPEN_LEN + self.header.len(), part.len as usize),
            (true, false) => (OPEN_LEN + self.header.len(), 0),
            (false, _) => (DATA_LEN, MIN_PART.min(part.len as usize)),
        };
        let Some(room) = space.room().checked_sub(fixed + least) else {
            return Put::Full;
        };
        let len = (part.len as usize).min(room + least);
        let start = space.buf.len();
        if part.opens {
            wire::put_open(space.buf, part.transfer, &self.header, self.len(), len);
        } else {
            wire::put_data(space.buf, part.transfer, part.offset, len);
        }
        if !self.copy(part.offset as usize, len, space.buf, io) {
            space.buf.truncate(start);
            return Put::Gone;
        }
        Put::Done(len as u32)
    }

    /// Appends payload bytes. False: the payload has been withdrawn.
    fn copy(&self, offset: usize, len: usize, buf: &mut Vec<u8>, io: &mut impl Payloads) -> bool {
        match self.payload.contents() {
            Ok(bytes) => buf.extend_from_slice(&bytes[offset..offset + len]),
            Err(_) if len == 0 => {}
            Err(token) => {
                let start = buf.len();
                buf.resize(start + len, 0);
                return io.read(token, offset, &mut buf[start..]);
            }
        }
        true
    }
}
