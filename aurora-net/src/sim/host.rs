//! A rank on a simulated network.

use super::rota::Rota;
use super::{Datagram, Memory};
use crate::proto::{Config, Connection, Counters, DatagramError, Event, Instant};
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
    pub silent: Vec<(Rank, Instant, Duration)>,
    /// Datagrams dropped, and why.
    pub dropped: Vec<DatagramError>,
    /// Who answers at once.
    pub responder: Option<Responder>,
    me: Rank,
    /// Of any connection, but for the peer.
    config: Config,
    /// By peer; made when they are first needed.
    lines: Vec<Option<Box<Line>>>,
    /// Lines that have had something happen to them since they were last settled.
    pub(super) touched: Vec<Rank>,
    /// Lines whose timer has run down.
    pub(super) due: Vec<Rank>,
    pub(super) rota: Rota,
    /// Until when nobody drives this host; what arrives waits in its socket.
    pub(super) stopped_until: Instant,
    pub(super) socket: Vec<Datagram>,
    /// When it was last driven.
    pub(super) driven_at: Instant,
    /// For when its next wake-up has been arranged, timers of connections aside.
    pub(super) wakes_at: Option<Instant>,
}

/// A connection and what the simulation remembers about it.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) connection: Connection,
    /// The earliest moment at which the agenda has an entry for it.
    pub(super) listed_at: Option<Instant>,
    /// As counted by the cluster.
    pub(super) is_busy: bool,
    is_touched: bool,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("delivered", &self.delivered.len())
            .field("released", &self.released.len())
            .field("connections", &self.lines)
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
            config,
            lines: (0..size).map(|_| None).collect(),
            touched: Vec::new(),
            due: Vec::new(),
            rota: Rota::new(me, size),
            stopped_until: Instant::default(),
            socket: Vec::new(),
            driven_at: now,
            wakes_at: None,
        }
    }

    /// The connection to `peer`.
    ///
    /// # Panics
    /// If `peer` is this host itself.
    pub fn connection(&mut self, peer: Rank) -> &mut Connection {
        &mut self.line(peer).connection
    }

    /// What all connections of this host have counted.
    pub fn counters(&self) -> Counters {
        self.lines.iter().flatten().map(|line| line.connection.counters()).fold(Counters::default(), |sum, one| {
            Counters {
                transfers_out: sum.transfers_out + one.transfers_out,
                transfers_in: sum.transfers_in + one.transfers_in,
                bytes_out: sum.bytes_out + one.bytes_out,
                bytes_in: sum.bytes_in + one.bytes_in,
                packets_out: sum.packets_out + one.packets_out,
                packets_in: sum.packets_in + one.packets_in,
                packets_lost: sum.packets_lost + one.packets_lost,
                packets_resent: sum.packets_resent + one.packets_resent,
                probes: sum.probes + one.probes,
                duplicates: sum.duplicates + one.duplicates,
                withdrawn: sum.withdrawn + one.withdrawn,
            }
        })
    }

    /// Forgets all connections.
    pub fn clear(&mut self) {
        self.lines.iter_mut().for_each(|line| *line = None);
    }

    pub(super) fn line(&mut self, peer: Rank) -> &mut Line {
        assert!(peer != self.me, "a rank is not its own peer");
        self.lines[peer.index()].get_or_insert_with(|| {
            let config = Config { peer, ..self.config.clone() };
            Box::new(Line {
                connection: Connection::new(config, self.driven_at),
                listed_at: None,
                is_busy: false,
                is_touched: false,
            })
        })
    }

    /// Something happens to the connection to `peer`: it may have something to send and to say.
    pub(super) fn touch(&mut self, peer: Rank) {
        let line = self.line(peer);
        if !std::mem::replace(&mut line.is_touched, true) {
            self.touched.push(peer);
        }
        self.rota.add(peer);
    }

    /// All lines touched since the last call, in the order of ranks beginning after this one.
    pub(super) fn take_touched(&mut self) -> Vec<Rank> {
        let (me, size) = (self.me.index(), self.lines.len());
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable_by_key(|peer| (peer.index() + size - me) % size);
        for peer in &touched {
            self.line(*peer).is_touched = false;
        }
        touched
    }

    /// Takes in a datagram from the socket.
    pub(super) fn receive(&mut self, now: Instant, datagram: &Datagram) {
        self.touch(datagram.from);
        let line = self.lines[datagram.from.index()].as_mut().expect("touched");
        if let Err(error) = line.connection.handle_datagram(now, &datagram.bytes, &mut self.memory) {
            self.dropped.push(error);
        }
    }

    /// Appends a train for `peer` to `buffer` and says how long its datagrams are.
    pub(super) fn transmit(
        &mut self,
        now: Instant,
        peer: Rank,
        buffer: &mut Vec<u8>,
        max_segments: usize,
    ) -> Option<usize> {
        let line = self.lines[peer.index()].as_mut()?;
        let train = line.connection.poll_transmit(now, buffer, max_segments, &mut self.memory)?;
        assert_eq!(buffer.len().div_ceil(train.segment_size), train.segments);
        Some(train.segment_size)
    }

    /// Takes the events of one connection; answers go into its queue.
    pub(super) fn take_events(&mut self, now: Instant, peer: Rank) {
        let Some(line) = self.lines[peer.index()].as_mut() else { return };
        while let Some(event) = line.connection.poll() {
            match event {
                Event::Released(token) => {
                    self.memory.withdraw(token);
                    self.released.push(token);
                }
                Event::Silent { silent_for } => self.silent.push((peer, now, silent_for)),
                Event::Delivered { header, payload } => {
                    self.last_delivery = now;
                    if header.starts_with(Memory::SINK) {
                        self.sunk += 1;
                        continue;
                    }
                    let payload = match payload {
                        Received::Bytes(bytes) => bytes,
                        Received::Placed(token) => self.memory.take(token).unwrap_or_default(),
                    };
                    let delivery = Delivery { at: now, from: peer, header, payload };
                    if let Some(responder) = &mut self.responder
                        && let Some((header, payload)) = responder(&delivery, &mut self.memory)
                    {
                        line.connection.send(header, payload);
                    }
                    self.delivered.push(delivery);
                }
            }
        }
    }
}
