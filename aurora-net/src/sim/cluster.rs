//! Ranks on a simulated network.

use super::{Datagram, Host, Link, Network};
use crate::proto::{Config, Instant};
use crate::{Payload, Rank, Token};
use bytes::Bytes;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::time::Duration;

/// So many steps at one moment mean that a timer is not re-armed.
const SPIN: u32 = 10_000;

/// `size` ranks, each connected to every other, and the network between them.
///
/// What happens costs time in proportion to the connections that it concerns, not to all there are.
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
    /// When to look at which host's connection to which peer, or (its own rank) at the host itself. An entry may be out
    /// of date, then it is listed anew; none is missing.
    agenda: BinaryHeap<Reverse<(Instant, Rank, Rank)>>,
    /// Hosts that are to be driven at this moment.
    ready: BTreeSet<Rank>,
    /// Connections that have something to do.
    busy: usize,
    buffer: Vec<u8>,
    spun: u32,
}

impl Cluster {
    /// `size` ranks over `link`s; `configure` may change what all connections are told.
    pub fn new(size: usize, seed: u64, link: &Link, configure: impl Fn(&mut Config)) -> Self {
        let now = Instant::from_nanos(1_000_000_000);
        let host = |me| {
            let me = Rank::new(me);
            let mut config = Config::new(0xa404_a000 + seed, me, me);
            configure(&mut config);
            Host::new(me, size, config, now)
        };
        Cluster {
            now,
            network: Network::new(size, seed, link),
            hosts: (0..size).map(host).collect(),
            max_segments: 8,
            agenda: BinaryHeap::new(),
            ready: BTreeSet::new(),
            busy: 0,
            buffer: Vec::new(),
            spun: 0,
        }
    }

    /// Queues a transfer of bytes, and sends what can be sent.
    pub fn send(&mut self, from: usize, to: usize, header: &[u8], payload: Payload) {
        self.queue(from, to, header, payload);
        self.drive(Rank::new(from));
    }

    /// Queues a transfer and leaves it to the next [`step`](Self::step), which comes at this very moment, to send it: so
    /// that a rank can queue several before any of them leaves.
    pub fn queue(&mut self, from: usize, to: usize, header: &[u8], payload: Payload) {
        let (from, to) = (Rank::new(from), Rank::new(to));
        let host = &mut self.hosts[from.index()];
        host.driven_at = self.now;
        host.connection(to).send(Bytes::copy_from_slice(header), payload);
        host.touch(to);
        self.settle(from, to);
        self.wake(from, self.now);
    }

    /// Queues a transfer of lent memory, sends what can be sent, and says under which token.
    pub fn lend(&mut self, from: usize, to: usize, header: &[u8], bytes: impl Into<Bytes>) -> Token {
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
            self.ready.insert(datagram.to);
            self.hosts[datagram.to.index()].socket.push(datagram);
        }
        self.take_due();
        for host in std::mem::take(&mut self.ready) {
            let stopped_until = self.hosts[host.index()].stopped_until;
            if stopped_until > self.now {
                self.wake(host, stopped_until);
            } else {
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

    /// Whether no connection has anything to do.
    pub fn is_idle(&self) -> bool {
        self.busy == 0
    }

    /// When something happens next.
    fn poll_timeout(&self) -> Option<Instant> {
        let listed = self.agenda.peek().map(|Reverse((at, ..))| *at);
        listed.into_iter().chain(self.network.poll_timeout()).min()
    }

    /// Finds out whose time has come.
    fn take_due(&mut self) {
        while let Some(&Reverse((at, rank, peer))) = self.agenda.peek()
            && at <= self.now
        {
            self.agenda.pop();
            let host = &mut self.hosts[rank.index()];
            if peer == rank {
                if host.wakes_at == Some(at) {
                    host.wakes_at = None;
                    self.ready.insert(rank);
                }
                continue;
            }
            let line = host.line(peer);
            if line.listed_at != Some(at) {
                continue;
            }
            line.listed_at = None;
            match line.connection.poll_timeout() {
                Some(due) if due <= self.now => {
                    host.due.push(peer);
                    self.ready.insert(rank);
                }
                _ => self.settle(rank, peer),
            }
        }
    }

    /// Drives `host` at `at`, if nothing else does so before.
    fn wake(&mut self, rank: Rank, at: Instant) {
        let host = &mut self.hosts[rank.index()];
        if host.wakes_at.is_none_or(|earlier| at < earlier) {
            host.wakes_at = Some(at);
            self.agenda.push(Reverse((at, rank, rank)));
        }
    }

    /// Notes what one connection wants after something has happened to it.
    fn settle(&mut self, host: Rank, peer: Rank) {
        let line = self.hosts[host.index()].line(peer);
        let is_busy = !line.connection.is_idle();
        self.busy = self.busy + usize::from(is_busy) - usize::from(line.is_busy);
        line.is_busy = is_busy;
        if let Some(at) = line.connection.poll_timeout()
            && line.listed_at.is_none_or(|listed| at < listed)
        {
            line.listed_at = Some(at);
            self.agenda.push(Reverse((at, host, peer)));
        }
    }

    /// What a shell does each time it wakes up.
    fn drive(&mut self, me: Rank) {
        let now = self.now;
        let host = &mut self.hosts[me.index()];
        host.driven_at = now;
        for datagram in std::mem::take(&mut host.socket) {
            host.receive(now, &datagram);
        }
        for peer in std::mem::take(&mut host.due) {
            host.touch(peer);
            let connection = host.connection(peer);
            if connection.poll_timeout().is_some_and(|at| at <= now) {
                connection.handle_timeout(now);
            }
        }
        let touched = host.take_touched();
        for &peer in &touched {
            host.take_events(now, peer);
        }
        let mut concerned: BTreeSet<Rank> = touched.into_iter().collect();
        let mut full_until = None;
        // A train to each in turn.
        while !host.rota.is_empty() {
            full_until = self.network.full_until(now, me);
            if full_until.is_some() {
                break;
            }
            let Some(peer) = host.rota.turn() else { break };
            concerned.insert(peer);
            self.buffer.clear();
            match host.transmit(now, peer, &mut self.buffer, self.max_segments) {
                Some(len) => {
                    for bytes in self.buffer.chunks(len) {
                        self.network.send(now, Datagram { from: me, to: peer, bytes: bytes.to_vec() });
                    }
                }
                None => host.rota.remove(peer),
            }
        }
        for peer in concerned {
            // Of payloads that turned out to be withdrawn.
            self.hosts[me.index()].take_events(now, peer);
            self.settle(me, peer);
        }
        if let Some(room_at) = full_until {
            self.wake(me, room_at);
        }
    }
}
