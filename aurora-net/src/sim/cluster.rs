//! Ranks on a simulated network.

use super::{Datagram, Host, Link, Network};
use crate::proto::{Config, Instant, Trains};
use crate::random::Random;
use crate::{Payload, Rank, Token};
use bytes::Bytes;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::time::Duration;

/// This many steps without progress of time mean that a timer is not re-armed.
const SPIN: u32 = 10_000;

/// `size` ranks, each connected to every other, and the network between them. The time of a step depends on the
/// number of connections concerned, not of all connections.
#[derive(Debug)]
pub struct Cluster {
    /// The present time.
    pub now: Instant,
    /// The network.
    pub network: Network,
    /// The ranks.
    pub hosts: Vec<Host>,
    /// The limits of one send.
    pub trains: Trains,
    /// The longest random delay before a host notices an arrival or room in its socket: the time to wake it.
    pub wake_up: Duration,
    random: Random,
    /// The hosts' planned wake-ups. Entries may be outdated; none is missing.
    queue: BinaryHeap<Reverse<(Instant, Rank)>>,
    /// Hosts to drive at this moment.
    ready: BTreeSet<Rank>,
    /// The number of hosts with something to do.
    busy: usize,
    buffer: Vec<u8>,
    spun: u32,
}

impl Cluster {
    /// Creates `size` ranks over links like `link`. `configure` may change the configuration of all connections.
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
            trains: Trains { segments: 8, alone: 1 << 20, in_turns: 1 << 20 },
            wake_up: Duration::ZERO,
            random: Random::new(seed ^ 0x3a4e),
            queue: BinaryHeap::new(),
            ready: BTreeSet::new(),
            busy: 0,
            buffer: Vec::new(),
            spun: 0,
        }
    }

    /// Queues a transfer, and sends as far as flow control permits.
    pub fn send(&mut self, from: usize, to: usize, header: &[u8], payload: Payload) {
        self.queue(from, to, header, payload);
        self.drive(Rank::new(from));
    }

    /// Queues a transfer. The next [`step`](Self::step) sends all transfers queued so far, at the same moment.
    pub fn queue(&mut self, from: usize, to: usize, header: &[u8], payload: Payload) {
        let (from, to) = (Rank::new(from), Rank::new(to));
        self.hosts[from.index()].send(self.now, to, Bytes::copy_from_slice(header), payload);
        self.settle(from);
        self.wake(from, self.now);
    }

    /// Queues a transfer of lent memory, sends as far as flow control permits, and returns the token.
    pub fn lend(&mut self, from: usize, to: usize, header: &[u8], bytes: impl Into<Bytes>) -> Token {
        let payload = self.hosts[from].memory.lend(bytes);
        let token = payload.token().expect("lend() lends");
        self.send(from, to, header, payload);
        token
    }

    /// Stops `host` for `duration`. Arriving datagrams wait.
    pub fn stop(&mut self, host: usize, duration: Duration) {
        self.hosts[host].stopped_until = self.now + duration;
    }

    /// Advances to the next event. Returns false if there is none.
    ///
    /// # Panics
    /// If time does not advance.
    pub fn step(&mut self) -> bool {
        let Some(next) = self.poll_timeout() else {
            return false;
        };
        self.spun = if next > self.now { 0 } else { self.spun + 1 };
        assert!(self.spun < SPIN, "time stands still: {self:#?}");
        self.now = self.now.max(next);
        while let Some(datagram) = self.network.poll(self.now) {
            let to = datagram.to;
            self.hosts[to.index()].socket.push(datagram);
            if self.hosts[to.index()].socket.len() == 1 {
                let noticed = self.now + self.delay();
                self.wake(to, noticed);
            }
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

    /// Steps until `done` returns true, or for at most `limit`. Returns the last result of `done`.
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

    /// Returns true if no connection has anything to do.
    pub fn is_idle(&self) -> bool {
        self.busy == 0
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let listed = self.queue.peek().map(|Reverse((at, _))| *at);
        listed.into_iter().chain(self.network.poll_timeout()).min()
    }

    fn take_due(&mut self) {
        while let Some(&Reverse((at, rank))) = self.queue.peek()
            && at <= self.now
        {
            self.queue.pop();
            let host = &mut self.hosts[rank.index()];
            if host.wakes_at == Some(at) {
                host.wakes_at = None;
                self.ready.insert(rank);
            }
        }
    }

    fn delay(&mut self) -> Duration {
        Duration::from_nanos(self.random.below(self.wake_up.as_nanos() as u64 + 1))
    }

    /// Plans to drive `host` at `at`, unless an earlier wake-up is planned.
    fn wake(&mut self, rank: Rank, at: Instant) {
        let host = &mut self.hosts[rank.index()];
        if host.wakes_at.is_none_or(|earlier| at < earlier) {
            host.wakes_at = Some(at);
            self.queue.push(Reverse((at, rank)));
        }
    }

    fn settle(&mut self, rank: Rank) {
        let host = &mut self.hosts[rank.index()];
        let is_busy = !host.connections.is_idle();
        let was_busy = std::mem::replace(&mut host.is_busy, is_busy);
        self.busy = self.busy + usize::from(is_busy) - usize::from(was_busy);
    }

    /// Does the work of a shell at a wake-up.
    fn drive(&mut self, me: Rank) {
        let now = self.now;
        let host = &mut self.hosts[me.index()];
        for datagram in std::mem::take(&mut host.socket) {
            host.receive(now, &datagram);
        }
        host.connections.handle_timeouts(now);
        host.take_events(now);
        let room_at = loop {
            let full_until = self.network.full_until(now, me);
            if full_until.is_some() {
                break full_until;
            }
            self.buffer.clear();
            let train = host.connections.poll_transmit(now, &mut self.buffer, self.trains, &mut host.memory);
            let Some((to, train)) = train else { break None };
            let datagrams = self.buffer.chunks(train.segment_size);
            assert_eq!(datagrams.len(), train.segments);
            for bytes in datagrams {
                self.network.send(now, Datagram { from: me, to, bytes: bytes.to_vec() });
            }
        };
        // Events of payloads that the sends above have found withdrawn.
        host.take_events(now);
        let due = host.connections.poll_timeout();
        self.settle(me);
        let room_at = room_at.map(|at| at + self.delay());
        for at in [room_at, due].into_iter().flatten() {
            self.wake(me, at);
        }
    }
}
