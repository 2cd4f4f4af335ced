//! Ranks on a simulated network.

use super::{Datagram, Link, Memory, Network};
use crate::proto::{Config, Connection, DatagramError, Event, Instant};
use crate::{Payload, Rank, Received, Token};
use bytes::Bytes;
use std::fmt;
use std::time::Duration;

/// So many steps at one moment mean that a timer is not re-armed.
const SPIN: u32 = 10_000;

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

/// What a host answers to a transfer, before anything else leaves it.
pub type Responder = Box<dyn FnMut(&Delivery, &mut Memory) -> Option<(Bytes, Payload)>>;

/// One rank: its memory, its connections and what it has seen.
pub struct Host {
    /// Lent and placed payloads.
    pub memory: Memory,
    /// Everything delivered, in order.
    pub delivered: Vec<Delivery>,
    /// Every payload given back, in order.
    pub released: Vec<Token>,
    /// Peers given up, when, and after which silence.
    pub silent: Vec<(Rank, Instant, Duration)>,
    /// Datagrams dropped, and why.
    pub dropped: Vec<DatagramError>,
    /// Who answers at once.
    pub responder: Option<Responder>,
    /// At which index to find whom: `None` at the own.
    connections: Vec<Option<Connection>>,
    /// Until when nobody drives this host; what arrives waits in its socket.
    stopped_until: Instant,
    socket: Vec<Datagram>,
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
    /// The connection to `peer`.
    ///
    /// # Panics
    /// If `peer` is this host itself.
    pub fn connection(&mut self, peer: Rank) -> &mut Connection {
        self.connections[peer.index()].as_mut().expect("a rank is not its own peer")
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let timers = self.connections.iter().flatten().filter_map(Connection::poll_timeout);
        let waiting = (!self.socket.is_empty()).then_some(Instant::default());
        timers.chain(waiting).min().map(|at| at.max(self.stopped_until))
    }

    fn receive(&mut self, now: Instant, datagram: &Datagram) {
        let Some(connection) = self.connections[datagram.from.index()].as_mut() else {
            return;
        };
        if let Err(error) = connection.handle_datagram(now, &datagram.bytes, &mut self.memory) {
            self.dropped.push(error);
        }
    }

    /// Takes the events of one connection; answers go into its queue.
    fn take_events(&mut self, now: Instant, peer: Rank) {
        let Some(connection) = self.connections[peer.index()].as_mut() else {
            return;
        };
        while let Some(event) = connection.poll() {
            match event {
                Event::Released(token) => {
                    self.memory.withdraw(token);
                    self.released.push(token);
                }
                Event::Silent { silent_for } => self.silent.push((peer, now, silent_for)),
                Event::Delivered { header, payload } => {
                    let payload = match payload {
                        Received::Bytes(bytes) => bytes,
                        Received::Placed(token) => self.memory.take(token).unwrap_or_default(),
                    };
                    let delivery = Delivery { at: now, from: peer, header, payload };
                    if let Some(responder) = &mut self.responder
                        && let Some((header, payload)) = responder(&delivery, &mut self.memory)
                    {
                        connection.send(header, payload);
                    }
                    self.delivered.push(delivery);
                }
            }
        }
    }
}

/// `size` ranks, each connected to every other, and the network between them.
#[derive(Debug)]
pub struct Cluster {
    /// The time it is.
    pub now: Instant,
    /// What carries the datagrams.
    pub network: Network,
    /// The ranks.
    pub hosts: Vec<Host>,
    /// The longest train of datagrams sent at once.
    pub max_segments: usize,
    buffer: Vec<u8>,
    spun: u32,
}

impl Cluster {
    /// `size` ranks over `link`s; `configure` may change what each connection is told.
    pub fn new(size: usize, seed: u64, link: &Link, configure: impl Fn(&mut Config)) -> Self {
        let now = Instant::from_nanos(1_000_000_000);
        let connect = |me: usize, peer: usize| {
            let mut config = Config::new(0xa404_a000 + seed, Rank::new(me), Rank::new(peer));
            configure(&mut config);
            (me != peer).then(|| Connection::new(config, now))
        };
        let host = |me| Host {
            memory: Memory::default(),
            delivered: Vec::new(),
            released: Vec::new(),
            silent: Vec::new(),
            dropped: Vec::new(),
            responder: None,
            connections: (0..size).map(|peer| connect(me, peer)).collect(),
            stopped_until: Instant::default(),
            socket: Vec::new(),
        };
        Cluster {
            now,
            network: Network::new(size, seed, link),
            hosts: (0..size).map(host).collect(),
            max_segments: 8,
            buffer: Vec::new(),
            spun: 0,
        }
    }

    /// Queues a transfer of bytes.
    pub fn send(&mut self, from: usize, to: usize, header: &[u8], payload: Payload) {
        self.hosts[from].connection(Rank::new(to)).send(Bytes::copy_from_slice(header), payload);
        self.drive(from);
    }

    /// Queues a transfer of lent memory and says under which token.
    pub fn lend(&mut self, from: usize, to: usize, header: &[u8], bytes: Vec<u8>) -> Token {
        let payload = self.hosts[from].memory.lend(bytes);
        let token = match payload {
            Payload::Lent { token, .. } => token,
            _ => unreachable!("lend() lends"),
        };
        self.send(from, to, header, payload);
        token
    }

    /// Nobody drives `host` for so long; what arrives waits.
    pub fn stop(&mut self, host: usize, duration: Duration) {
        self.hosts[host].stopped_until = self.now + duration;
    }

    /// Goes on to the next moment at which something happens; false: nothing ever will.
    ///
    /// # Panics
    /// If time does not go on.
    pub fn step(&mut self) -> bool {
        let Some(next) = self.poll_timeout() else {
            return false;
        };
        self.spun = if next > self.now { 0 } else { self.spun + 1 };
        assert!(self.spun < SPIN, "time stands still: {self:#?}");
        self.now = self.now.max(next);
        while let Some(datagram) = self.network.poll(self.now) {
            self.hosts[datagram.to.index()].socket.push(datagram);
        }
        for host in 0..self.hosts.len() {
            let is_due = self.hosts[host].poll_timeout().is_some_and(|at| at <= self.now);
            if is_due && self.hosts[host].stopped_until <= self.now {
                self.drive(host);
            }
        }
        true
    }

    /// Steps until `done`, for `limit` at most; true: done.
    pub fn run(&mut self, limit: Duration, done: impl Fn(&Cluster) -> bool) -> bool {
        let end = self.now + limit;
        while !done(self) {
            if self.poll_timeout().is_none_or(|next| next > end) {
                self.now = end;
                return done(self);
            }
            self.step();
        }
        true
    }

    /// When something happens next.
    fn poll_timeout(&self) -> Option<Instant> {
        let timers = self.hosts.iter().filter_map(Host::poll_timeout);
        timers.chain(self.network.poll_timeout()).min()
    }

    /// Whether no connection has anything to do.
    pub fn is_idle(&self) -> bool {
        let mut connections = self.hosts.iter().flat_map(|host| host.connections.iter().flatten());
        connections.all(Connection::is_idle)
    }

    /// What a shell does each time it wakes up.
    fn drive(&mut self, host: usize) {
        let (me, now) = (Rank::new(host), self.now);
        let size = self.hosts.len();
        let host = &mut self.hosts[host];
        for datagram in std::mem::take(&mut host.socket) {
            host.receive(now, &datagram);
        }
        for peer in me.others(size) {
            let connection = host.connection(peer);
            if connection.poll_timeout().is_some_and(|at| at <= now) {
                connection.handle_timeout(now);
            }
            host.take_events(now, peer);
        }
        // In turns, so that no receiver is everyone's first for long.
        let mut busy: Vec<Rank> = me.others(size).collect();
        while !busy.is_empty() {
            busy.retain(|&peer| {
                self.buffer.clear();
                let connection = host.connections[peer.index()].as_mut();
                let train = connection.and_then(|connection| {
                    connection.poll_transmit(now, &mut self.buffer, self.max_segments, &mut host.memory)
                });
                let Some(train) = train else { return false };
                let datagrams = self.buffer.chunks(train.segment_size);
                assert_eq!(datagrams.len(), train.segments);
                for bytes in datagrams {
                    let bytes = bytes.to_vec();
                    self.network.send(now, Datagram { from: me, to: peer, bytes });
                }
                true
            });
        }
        for peer in me.others(size) {
            // Of payloads that turned out to be withdrawn.
            host.take_events(now, peer);
        }
    }
}
