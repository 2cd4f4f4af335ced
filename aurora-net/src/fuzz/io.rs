//! Memory that detects forbidden accesses.

use crate::proto::Payloads;
use crate::{Payload, Placement, Rank, Token};
use std::collections::BTreeMap;

/// The first byte of headers whose payloads are placed.
pub(super) const PLACE: u8 = b'p';

/// Lent and placed payloads, without their bytes.
#[derive(Debug, Default)]
pub(super) struct Io {
    next: u64,
    /// Lent payloads; false: withdrawn.
    lent: BTreeMap<u64, bool>,
    /// Placed payloads: the length, and the number of bytes written.
    placed: BTreeMap<u64, (usize, usize)>,
}

impl Io {
    pub(super) fn lend(&mut self, len: usize) -> Payload {
        self.next += 1;
        self.lent.insert(self.next, true);
        Payload::Lent { token: Token(self.next), len }
    }

    pub(super) fn withdraw(&mut self, which: usize) {
        if let Some(there) = self.lent.values_mut().nth(which) {
            *there = false;
        }
    }

    pub(super) fn release(&mut self, token: Token) {
        assert!(self.lent.remove(&token.0).is_some(), "{token:?} comes back that is not lent");
    }

    pub(super) fn finish(&mut self, token: Token) {
        let (len, written) = self.placed.remove(&token.0).expect("delivered once");
        assert_eq!(len, written, "each byte once");
    }
}

impl Payloads for Io {
    fn place(&mut self, _: Rank, header: &[u8], len: usize) -> Placement {
        if header.first() != Some(&PLACE) {
            return Placement::Buffer;
        }
        self.next += 1;
        self.placed.insert(self.next, (len, 0));
        Placement::At(Token(self.next))
    }

    fn write(&mut self, token: Token, offset: usize, bytes: &[u8]) {
        let (len, written) = self.placed.get_mut(&token.0).expect("written before it is delivered");
        assert!(offset + bytes.len() <= *len, "{} bytes at {offset} of {len}", bytes.len());
        *written += bytes.len();
    }

    fn read(&mut self, token: Token, _: usize, into: &mut [u8]) -> bool {
        into.fill(token.0 as u8);
        self.lent[&token.0]
    }
}
