//! A rank on a simulated network.

use super::{Datagram, Memory};
use crate::proto::{Config, Connection, Connections, Counters, DatagramError, Event, Instant};
use crate::{Payload, Rank, Received, Token};
use bytes::Bytes;
use std::fmt;
use std::time::Duration;

/// A transfer that has arrived whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// When.
    pub at: Instant,
    /// From whom.
    pub from: Rank,
    /// As sent.
    pub header: Bytes,
    /// As sent, wherever it was put.
    pub payload: Vec<u8>,
}

/// A peer that has been given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostPeer {
    /// Its rank.
    pub peer: Rank,
    /// When it was given up.
    pub at: Instant,
    /// How long it had been silent.
    pub silent_for: Duration,
}

/// What a host answers to a transfer, before anything else leaves it.
pub type Responder = Box<dyn FnMut(&Delivery, &mut Memory) -> Option<(Bytes, Payload)>>;

/// One rank: its memory, its connections and what it has seen.
pub struct Host {
    /// Lent and placed payloads.
    pub memory: Memory,
    /// Everything delivered, in order.
    pub delivered: Vec<Delivery>,
    /// How many transfers have arrived that nobody wanted to see ([`Memory::SINK`]).
    pub sunk: u64,
    /// When the last transfer arrived, of whatever kind.
    pub last_delivery: Instant,
    /// Every payload given back, in order.
    pub released: Vec<Token>,
    /// Peers given up, when, and after which silence.
    pub silent: Vec<LostPeer>,
    /// Datagrams dropped, and why.
    pub dropped: Vec<DatagramError>,
    /// Who answers at once.
    pub responder: Option<Responder>,
    me: Rank,
    /// Of any connection, but for the peer.
    config: Config,
    /// Made when they are first needed.
    pub(super) connections: Connections,
    /// Until when nobody drives this host; what arrives waits in its socket.
    pub(super) stopped_until: Instant,
    pub(super) socket: Vec<Datagram>,
    /// For when its next wake-up has been arranged.
    pub(super) wakes_at: Option<Instant>,
    /// As counted by the cluster.
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
    /// If there has not been anything to say yet.
    pub fn connection(&self, peer: Rank) -> &Connection {
        self.connections.connection(peer).expect("made when it was first needed")
    }

    /// How many peers there has been anything to say to or to hear from.
    pub fn connections(&self) -> usize {
        self.connections.connections().count()
    }

    /// What all connections of this host have counted.
    pub fn counters(&self) -> Counters {
        self.connections.connections().map(Connection::counters).sum()
    }

    /// Forgets all connections for good.
    pub fn clear(&mut self) {
        self.connections = Connections::new(self.config.key, self.me, 0);
    }

    /// Queues a transfer.
    pub(super) fn send(&mut self, now: Instant, to: Rank, header: Bytes, payload: Payload) {
        assert!(to != self.me, "a rank is not its own peer");
        self.connect(now, to);
        self.connections.send(to, header, payload);
    }

    /// Takes in a datagram from the socket.
    pub(super) fn receive(&mut self, now: Instant, datagram: &Datagram) {
        self.connect(now, datagram.from);
        if let Err(error) = self.connections.handle_datagram(now, &datagram.bytes, &mut self.memory) {
            self.dropped.push(error);
        }
    }

    /// Takes all events; answers are queued.
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
