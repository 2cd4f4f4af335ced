//! What crosses the border between the protocol core and its shell.

use crate::{Placement, Rank, Received, Token};
use bytes::Bytes;
use std::time::Duration;

/// A transfer's number at its sender, in the order of [`Connection::send`](super::Connection::send).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TransferId(pub u64);

/// Memory outside of the core: where payloads are read from and written to, each byte copied once.
pub trait Payloads {
    /// The header of a transfer from `from` is here; its payload has `len > 0` bytes. Where do they go?
    fn place(&mut self, from: Rank, header: &[u8], len: usize) -> Placement;

    /// An empty buffer with room for `capacity` bytes, for a payload without a place.
    fn buffer(&mut self, capacity: usize) -> Vec<u8> {
        Vec::with_capacity(capacity)
    }

    /// Bytes `offset..offset + bytes.len()` of a placed payload have arrived; said once for each byte.
    fn write(&mut self, token: Token, offset: usize, bytes: &[u8]);

    /// Fills `into` with a lent payload's bytes from `offset` on. False: withdrawn, the transfer is abandoned.
    fn read(&mut self, token: Token, offset: usize, into: &mut [u8]) -> bool;
}

/// What a connection has to say; see [`Connection::poll`](super::Connection::poll).
#[derive(Debug)]
pub enum Event {
    /// A transfer of the peer has arrived whole.
    Delivered {
        /// As given to `send`.
        header: Bytes,
        /// Buffered or already in its place.
        payload: Received,
    },
    /// A lent payload is not needed any more: acknowledged, abandoned, or the peer is lost. Once for each `send` of
    /// one.
    Released(Token),
    /// The peer has not been heard of for longer than [`Config::silence`](super::Config::silence). Said once; the
    /// connection has dropped all that it held and stays mute.
    Silent {
        /// For how long, not counting time in which this end itself was not driven.
        silent_for: Duration,
    },
}

/// Datagrams that [`Connection::poll_transmit`](super::Connection::poll_transmit) has appended, ready for one GSO send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// Length of each datagram; the last may be shorter.
    pub segment_size: usize,
    /// How many, at least 1.
    pub segments: usize,
}
