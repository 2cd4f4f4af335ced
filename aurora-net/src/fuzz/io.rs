//! Memory that notices what must not be done to it.

use crate::proto::Payloads;
use crate::{Payload, Placement, Rank, Token};
use std::collections::BTreeMap;

/// Headers that start so want their payload placed.
pub(super) const PLACE: u8 = b'p';

/// Lent and placed payloads, without any bytes.
#[derive(Debug, Default)]
pub(super) struct Io {
    next: u64,
    /// Lent, and not yet given back; false: withdrawn.
    lent: BTreeMap<u64, bool>,
    /// Placed: its length, and how much of it has been written.
    placed: BTreeMap<u64, (usize, usize)>,
}

impl Io {
    pub(super) fn lend(&mut self, len: usize) -> Payload {
        self.next += 1;
        self.lent.insert(self.next, true);
        Payload::Lent { token: Token(self.next), len }
    }

    /// Takes one of the lent payloads away.
    pub(super) fn withdraw(&mut self, which: usize) {
        if let Some(there) = self.lent.values_mut().nth(which) {
            *there = false;
        }
    }

    /// A lent payload comes back.
    pub(super) fn release(&mut self, token: Token) {
        assert!(self.lent.remove(&token.0).is_some(), "{token:?} comes back that is not lent");
    }

    /// A placed payload is said to be whole.
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
