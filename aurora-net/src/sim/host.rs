//! A rank on a simulated network.

use super::{Datagram, Memory};
use crate::proto::{Config, Connection, Connections, Counters, DatagramError, Event, Instant};
use crate::{Payload, Rank, Received, Token};
use bytes::Bytes;
use std::fmt;
use std::time::Duration;

/// A delivered transfer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// The time of its arrival.
    pub at: Instant,
    /// The sender.
    pub from: Rank,
    /// The header, as sent.
    pub header: Bytes,
    /// The payload, buffered or placed.
    pub payload: Vec<u8>,
}

/// A peer that has been given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostPeer {
    /// The lost rank.
    pub peer: Rank,
    /// The time at which it was given up.
    pub at: Instant,
    /// The duration of its silence.
    pub silent_for: Duration,
}

/// A host's reply to a transfer, sent before anything else.
pub type Responder = Box<dyn FnMut(&Delivery, &mut Memory) -> Option<(Bytes, Payload)>>;

/// One rank: its memory, its connections and its record of events.
pub struct Host {
    /// Lent and placed payloads.
    pub memory: Memory,
    /// Delivered transfers, in order.
    pub delivered: Vec<Delivery>,
    /// The number of transfers whose header begins with [`Memory::SINK`].
    pub sunk: u64,
    /// The arrival of the last transfer of any kind.
    pub last_delivery: Instant,
    /// Released payloads, in order.
    pub released: Vec<Token>,
    /// Lost peers.
    pub silent: Vec<LostPeer>,
    /// Dropped datagrams.
    pub dropped: Vec<DatagramError>,
    /// The function that replies to transfers at once.
    pub responder: Option<Responder>,
    me: Rank,
    /// The configuration of all connections, except for the peer.
    config: Config,
    /// Created when first needed.
    pub(super) connections: Connections,
    /// The host is stopped until this time; arriving datagrams wait in its socket.
    pub(super) stopped_until: Instant,
    pub(super) socket: Vec<Datagram>,
    pub(super) wakes_at: Option<Instant>,
    /// True if the cluster counts this host as busy.
    pub(super) is_busy: bool,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("delivered", &self.delivered.len())
            .field("released", &self.released.len())
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

impl Host {
    pub(super) fn new(me: Rank, size: usize, config: Config, now: Instant) -> Self {
        Host {
            memory: Memory::default(),
            delivered: Vec::new(),
            sunk: 0,
            last_delivery: now,
            released: Vec::new(),
            silent: Vec::new(),
            dropped: Vec::new(),
            responder: None,
            me,
            connections: Connections::new(config.key, me, size),
            config,
            stopped_until: Instant::default(),
            socket: Vec::new(),
            wakes_at: None,
            is_busy: false,
        }
    }

    /// The connection to `peer`.
    ///
    /// # Panics
    /// If the connection has not been used yet.
    pub fn connection(&self, peer: Rank) -> &Connection {
        self.connections.connection(peer).expect("made when it was first needed")
    }

    /// The number of connections used so far.
    pub fn connections(&self) -> usize {
        self.connections.connections().count()
    }

    /// The sum of all connections' counters.
    pub fn counters(&self) -> Counters {
        self.connections.connections().map(Connection::counters).sum()
    }

    /// Drops all connections for good.
    pub fn clear(&mut self) {
        self.connections = Connections::new(self.config.key, self.me, 0);
    }

    pub(super) fn send(&mut self, now: Instant, to: Rank, header: Bytes, payload: Payload) {
        assert!(to != self.me, "a rank is not its own peer");
        self.connect(now, to);
        self.connections.send(to, header, payload);
    }

    pub(super) fn receive(&mut self, now: Instant, datagram: &Datagram) {
        self.connect(now, datagram.from);
        if let Err(error) = self.connections.handle_datagram(now, &datagram.bytes, &mut self.memory) {
            self.dropped.push(error);
        }
    }

    pub(super) fn take_events(&mut self, now: Instant) {
        while let Some((peer, event)) = self.connections.poll() {
            match event {
                Event::Released(token) => {
                    self.memory.withdraw(token);
                    self.released.push(token);
                }
                Event::Silent { silent_for } => self.silent.push(LostPeer { peer, at: now, silent_for }),
                Event::Delivered { header, payload } => self.take_in(now, peer, header, payload),
            }
        }
    }

    fn take_in(&mut self, at: Instant, from: Rank, header: Bytes, payload: Received) {
        self.last_delivery = at;
        if header.starts_with(Memory::SINK) {
            self.sunk += 1;
            return;
        }
        let payload = match payload {
            Received::Placed(token) => self.memory.take(token).unwrap_or_default(),
            buffered => buffered.into_vec(),
        };
        let delivery = Delivery { at, from, header, payload };
        if let Some(responder) = &mut self.responder
            && let Some((header, payload)) = responder(&delivery, &mut self.memory)
        {
            self.connections.send(from, header, payload);
        }
        self.delivered.push(delivery);
    }

    fn connect(&mut self, now: Instant, peer: Rank) {
        if self.connections.connection(peer).is_none() {
            let config = Config { peer, ..self.config.clone() };
            self.connections.connect(peer, Connection::new(config, now));
        }
    }
}
