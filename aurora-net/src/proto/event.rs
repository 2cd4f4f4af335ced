//! The interface between the protocol core and its shell.

use crate::{Placement, Rank, Received, Token};
use bytes::Bytes;
use std::time::Duration;

/// A transfer's number at its sender, in the order of [`Connection::send`](super::Connection::send).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TransferId(pub u64);

/// Memory outside of the core: payloads are read from it and written to it. Each byte is copied once.
pub trait Payloads {
    /// The header of a transfer has arrived; its payload has `len > 0` bytes. Returns their place.
    fn place(&mut self, from: Rank, header: &[u8], len: usize) -> Placement;

    /// Returns an empty buffer of this capacity for a payload that is not placed.
    fn buffer(&mut self, capacity: usize) -> Vec<u8> {
        Vec::with_capacity(capacity)
    }

    /// Bytes `offset..offset + bytes.len()` of a placed payload have arrived. Called once for each byte.
    fn write(&mut self, token: Token, offset: usize, bytes: &[u8]);

    /// Fills `into` with a lent payload's bytes from `offset` on. False: withdrawn, the transfer is abandoned.
    fn read(&mut self, token: Token, offset: usize, into: &mut [u8]) -> bool;
}

/// An event of a connection; see [`Connection::poll`](super::Connection::poll).
#[derive(Debug)]
pub enum Event {
    /// A transfer from the peer has arrived.
    Delivered {
        /// The header, as sent.
        header: Bytes,
        /// The payload, buffered or placed.
        payload: Received,
    },
    /// A lent payload is no longer needed: it is acknowledged or abandoned, or the peer is lost. Once for each `send`.
    Released(Token),
    /// The peer has been silent for [`Config::silence`](super::Config::silence). Reported once; later nothing is sent.
    Silent {
        /// The duration of the silence, without times in which this end itself did not run.
        silent_for: Duration,
    },
}

/// Datagrams that [`Connection::poll_transmit`](super::Connection::poll_transmit) has appended, ready for one GSO send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// The length of each datagram; the last may be shorter.
    pub segment_size: usize,
    /// The number of datagrams, at least 1.
    pub segments: usize,
}
