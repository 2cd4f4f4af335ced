//! One end of the path to one peer.

use super::{Config, Counters, DatagramError, Event, Instant, Payloads, TransferId, Transmit};
use crate::Payload;
use bytes::Bytes;

/// One end of the path to one peer: decides what to send when, does no I/O.
///
/// The shell's part of the bargain:
/// - after any call that takes `now` or queues something, call [`poll`](Self::poll) until `None` and
///   [`poll_transmit`](Self::poll_transmit) until `None` (or until the socket is full), then ask
///   [`poll_timeout`](Self::poll_timeout) anew;
/// - call [`handle_timeout`](Self::handle_timeout) when that time has come;
/// - a datagram that could not be sent is simply forgotten: it counts as lost.
#[derive(Debug)]
pub struct Connection {
    config: Config,
    counters: Counters,
}

impl Connection {
    /// A connection that has not sent anything yet. There is no handshake.
    pub fn new(config: Config, now: Instant) -> Self {
        let _ = now;
        Connection {
            config,
            counters: Counters::default(),
        }
    }

    /// Queues a transfer.
    pub fn send(&mut self, header: Bytes, payload: Payload) -> TransferId {
        let _ = (header, payload, &self.config);
        TransferId(0)
    }

    /// Takes in a datagram.
    ///
    /// # Errors
    /// What to count it as when it was dropped; the connection is as good as before.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        datagram: &[u8],
        io: &mut impl Payloads,
    ) -> Result<(), DatagramError> {
        let _ = (now, datagram, io);
        Ok(())
    }

    /// The time of [`poll_timeout`](Self::poll_timeout) has come (earlier and later calls are harmless).
    pub fn handle_timeout(&mut self, now: Instant) {
        let _ = now;
    }

    /// Appends datagrams for the peer to `buf`: at most `max_segments` (at least 1), all of one length but the last.
    /// What GSO can take at once (64 KiB) is the caller's to observe.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        buf: &mut Vec<u8>,
        max_segments: usize,
        io: &mut impl Payloads,
    ) -> Option<Transmit> {
        let _ = (now, buf, max_segments, io);
        None
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called, if at all.
    pub fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// The next event, oldest first.
    pub fn poll(&mut self) -> Option<Event> {
        None
    }

    /// Whether nothing is queued and nothing waits for an acknowledgement.
    pub fn is_idle(&self) -> bool {
        true
    }

    /// Totals so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}
