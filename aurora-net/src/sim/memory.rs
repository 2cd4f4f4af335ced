//! The memory of a simulated rank.

use crate::proto::Payloads;
use crate::{Payload, Placement, Rank, Token};
use bytes::Bytes;
use std::collections::BTreeMap;

/// Lent and placed payloads. A header that starts with `place` has its payload placed; one that starts with
/// [`SINK`](Memory::SINK) has it counted and forgotten; any other is buffered.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    lent: BTreeMap<u64, Bytes>,
    placed: BTreeMap<u64, Vec<u8>>,
    next: u64,
    /// Bytes written into placed payloads, forgotten ones included.
    pub written: u64,
    /// Bytes read from lent payloads.
    pub read: u64,
}

impl Memory {
    /// How headers start whose payload nobody wants: for runs that would not fit the memory of one machine.
    pub const SINK: &[u8] = b"sink";

    /// Lends `bytes`.
    pub fn lend(&mut self, bytes: impl Into<Bytes>) -> Payload {
        let (token, bytes) = (self.token(), bytes.into());
        let len = bytes.len();
        self.lent.insert(token.0, bytes);
        Payload::Lent { token, len }
    }

    /// Withdraws a lent payload. True: it was still there.
    pub fn withdraw(&mut self, token: Token) -> bool {
        self.lent.remove(&token.0).is_some()
    }

    /// How many payloads are lent.
    pub fn lent(&self) -> usize {
        self.lent.len()
    }

    /// What has arrived so far of a placed payload.
    ///
    /// # Panics
    /// If nothing was placed under this token.
    pub fn placed(&self, token: Token) -> &[u8] {
        &self.placed[&token.0]
    }

    /// Takes a placed payload out.
    pub fn take(&mut self, token: Token) -> Option<Vec<u8>> {
        self.placed.remove(&token.0)
    }

    fn token(&mut self) -> Token {
        self.next += 1;
        Token(self.next)
    }
}

impl Payloads for Memory {
    fn place(&mut self, _from: Rank, header: &[u8], len: usize) -> Placement {
        let wanted = header.starts_with(b"place");
        if !wanted && !header.starts_with(Self::SINK) {
            return Placement::Buffer;
        }
        let token = self.token();
        if wanted {
            self.placed.insert(token.0, vec![0; len]);
        }
        Placement::At(token)
    }

    fn write(&mut self, token: Token, offset: usize, bytes: &[u8]) {
        self.written += bytes.len() as u64;
        if let Some(place) = self.placed.get_mut(&token.0) {
            place[offset..offset + bytes.len()].copy_from_slice(bytes);
        }
    }

    fn read(&mut self, token: Token, offset: usize, into: &mut [u8]) -> bool {
        let Some(bytes) = self.lent.get(&token.0) else {
            return false;
        };
        self.read += into.len() as u64;
        into.copy_from_slice(&bytes[offset..offset + into.len()]);
        true
    }
}
