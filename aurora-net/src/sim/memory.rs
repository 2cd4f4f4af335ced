//! The memory of a simulated rank.

use crate::proto::Payloads;
use crate::{Payload, Placement, Rank, Token};
use bytes::Bytes;
use std::collections::BTreeMap;

/// Lent and placed payloads. The header decides: `place...` places the payload, [`SINK`](Memory::SINK) counts and drops
/// it, anything else buffers it.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    lent: BTreeMap<u64, Bytes>,
    placed: BTreeMap<u64, Vec<u8>>,
    next: u64,
    /// Bytes written into placed payloads, dropped ones included.
    pub written: u64,
    /// Bytes read from lent payloads.
    pub read: u64,
}

impl Memory {
    /// The beginning of a header whose payload is dropped: for runs that would not fit one machine's memory.
    pub const SINK: &[u8] = b"sink";

    /// Lends `bytes`.
    pub fn lend(&mut self, bytes: impl Into<Bytes>) -> Payload {
        let (token, bytes) = (self.token(), bytes.into());
        let len = bytes.len();
        self.lent.insert(token.0, bytes);
        Payload::Lent { token, len }
    }

    /// Withdraws a lent payload. Returns whether it was still lent.
    pub fn withdraw(&mut self, token: Token) -> bool {
        self.lent.remove(&token.0).is_some()
    }

    /// The number of lent payloads.
    pub fn lent(&self) -> usize {
        self.lent.len()
    }

    /// The bytes of a placed payload that have arrived so far.
    ///
    /// # Panics
    /// If nothing was placed under this token.
    pub fn placed(&self, token: Token) -> &[u8] {
        &self.placed[&token.0]
    }

    /// Removes and returns a placed payload.
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
