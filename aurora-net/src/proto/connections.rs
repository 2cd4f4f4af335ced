//! All connections of a rank: the next one to send, the timers, the events.

use super::scheduler::Scheduler;
use super::timers::Timers;
use super::{Connection, Crowd, DatagramError, Event, Instant, Payloads, Transmit, sender_of};
use crate::{Payload, Rank};
use bytes::Bytes;
use std::time::Duration;

/// While fewer bytes than this are missing, any packet may complete a transfer that a thread waits for.
const MUCH: u64 = 128 * 1024;
/// With a longer pause an interface might run out of data to send.
const LONGEST_LULL: Duration = Duration::from_millis(1);
/// A shorter pause is not worth sleeping.
const SHORTEST_LULL: Duration = Duration::from_micros(100);

/// Limits on one train: the datagrams of one send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trains {
    /// The maximum number of datagrams.
    pub segments: usize,
    /// The bytes if one peer alone is sent bulk data: as many as the system takes at once.
    pub alone: usize,
    /// The bytes if several peers are sent bulk data: a short switch queue must hold trains of several senders.
    pub in_turns: usize,
}

/// The connections of a rank to all others. Like a [`Connection`], it does no I/O, and its caller has the same duties.
/// The cost of a call depends on the number of active peers, not of all peers.
#[derive(Debug)]
pub struct Connections {
    key: u64,
    /// By rank; `None` for this rank and for peers on other routes.
    connections: Vec<Option<Box<Connection>>>,
    scheduler: Scheduler,
    timers: Timers,
    /// Peers that may have events.
    talking: Set,
    /// Peers whose timers may have changed.
    stale: Set,
    /// Peers that this rank has bulk data for, queued or in flight.
    destinations: Set,
    /// Peers that are sending bulk data to this rank.
    sources: Set,
    /// Peers with data queued or in flight.
    busy: Set,
}

impl Connections {
    /// Creates an empty set of connections of rank `me`, in a job of `size` ranks.
    pub fn new(key: u64, me: Rank, size: usize) -> Self {
        Connections {
            key,
            connections: (0..size).map(|_| None).collect(),
            scheduler: Scheduler::new(me, size),
            timers: Timers::default(),
            talking: Set::new(size),
            stale: Set::new(size),
            destinations: Set::new(size),
            sources: Set::new(size),
            busy: Set::new(size),
        }
    }

    /// Adds the connection to `peer`.
    pub fn connect(&mut self, peer: Rank, connection: Connection) {
        self.connections[peer.index()] = Some(Box::new(connection));
    }

    /// The connection to `peer`, if there is one.
    pub fn connection(&self, peer: Rank) -> Option<&Connection> {
        self.connections.get(peer.index())?.as_deref()
    }

    /// All connections.
    pub fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.connections.iter().flatten().map(Box::as_ref)
    }

    /// Returns true if nothing is queued or waits for an acknowledgement.
    pub fn is_idle(&self) -> bool {
        self.busy.len() == 0
    }

    /// Queues a transfer.
    ///
    /// # Panics
    /// If there is no connection to `to`.
    pub fn send(&mut self, to: Rank, header: Bytes, payload: Payload) {
        let connection = self.connections[to.index()].as_mut().expect("a peer that is reached by datagrams");
        connection.send(header, payload);
        self.touch(to.index());
    }

    /// Handles a datagram.
    ///
    /// # Errors
    /// The reason why the datagram was dropped.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        datagram: &[u8],
        io: &mut impl Payloads,
    ) -> Result<(), DatagramError> {
        let from = sender_of(self.key, datagram)?.index();
        let connection = self.connections.get_mut(from).and_then(Option::as_deref_mut);
        // The rank does not exist or has another route: most likely the datagram is damaged.
        let outcome = connection.ok_or(DatagramError::Corrupt)?.handle_datagram(now, datagram, io);
        self.touch(from);
        outcome
    }

    /// Handles all expired timers.
    pub fn handle_timeouts(&mut self, now: Instant) {
        self.refresh();
        while let Some(index) = self.timers.pop(now) {
            if let Some(connection) = &mut self.connections[index] {
                connection.handle_timeout(now);
                self.touch(index);
            }
        }
    }

    /// The time at which to call [`handle_timeouts`](Self::handle_timeouts); `None`: never.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        self.refresh();
        self.timers.next()
    }

    /// The next event and its peer.
    pub fn poll(&mut self) -> Option<(Rank, Event)> {
        while let Some(index) = self.talking.first() {
            if let Some(event) = self.connections[index].as_deref_mut().and_then(Connection::poll) {
                return Some((Rank::new(index), event));
            }
            self.talking.remove(index);
        }
        None
    }

    /// Appends a train of datagrams to `buf` and returns its peer. Bulk data goes to all peers round-robin.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        buf: &mut Vec<u8>,
        trains: Trains,
        io: &mut impl Payloads,
    ) -> Option<(Rank, Transmit)> {
        while let Some(index) = self.scheduler.turn() {
            let crowd = Crowd { destinations: self.destinations.len() as u32, sources: self.sources.len() as u32 };
            let longest = if crowd.destinations > 1 { trains.in_turns } else { trains.alone };
            let connection = self.connections[index].as_mut().expect("only connections take turns");
            connection.set_crowd(crowd);
            let segments = (longest / connection.mtu()).clamp(1, trains.segments);
            let transmit = connection.poll_transmit(now, buf, segments, io);
            let bulk = connection.has_bulk();
            self.destinations.put(index, connection.is_sending());
            self.busy.put(index, !connection.is_idle());
            // A payload may turn out to be withdrawn while its packet is built.
            self.talking.put(index, true);
            self.stale.put(index, true);
            if let Some(transmit) = transmit {
                self.scheduler.give(index, bulk);
                return Some((Rank::new(index), transmit));
            }
            self.scheduler.retire(index);
        }
        None
    }

    /// The time for which received data may be left unread. While many bytes are missing and full interface queues make
    /// round trips long, a short pause does no harm, and costs far less than a wake-up for each packet.
    pub fn lull(&self) -> Option<Duration> {
        let mut missing = 0;
        let mut lull = LONGEST_LULL;
        for connection in self.sources.iter().filter_map(|index| self.connections[index].as_deref()) {
            missing += connection.missing();
            lull = lull.min(connection.lull()?);
        }
        (missing > MUCH && lull >= SHORTEST_LULL).then_some(lull)
    }

    /// Updates the sets after a change of a connection.
    fn touch(&mut self, index: usize) {
        let Some(connection) = &self.connections[index] else {
            return;
        };
        let bulk = connection.has_bulk();
        self.scheduler.add(index, bulk);
        self.destinations.put(index, connection.is_sending());
        self.sources.put(index, connection.is_receiving());
        self.busy.put(index, !connection.is_idle());
        self.talking.put(index, true);
        self.stale.put(index, true);
    }

    fn refresh(&mut self) {
        while let Some(index) = self.stale.first() {
            self.stale.remove(index);
            let due = self.connections[index].as_deref().and_then(Connection::poll_timeout);
            self.timers.set(index, due);
        }
    }
}

/// A set of indices in a reproducible order.
#[derive(Debug)]
struct Set {
    members: Vec<u32>,
    /// The position of each index among the members, plus one; 0: not a member.
    place: Vec<u32>,
}

impl Set {
    fn new(size: usize) -> Self {
        Set { members: Vec::new(), place: vec![0; size] }
    }

    fn len(&self) -> usize {
        self.members.len()
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.members.iter().map(|index| *index as usize)
    }

    fn first(&self) -> Option<usize> {
        self.members.last().map(|index| *index as usize)
    }

    fn put(&mut self, index: usize, member: bool) {
        if !member {
            self.remove(index);
        } else if self.place[index] == 0 {
            self.members.push(index as u32);
            self.place[index] = self.members.len() as u32;
        }
    }

    fn remove(&mut self, index: usize) {
        let Some(at) = std::mem::take(&mut self.place[index]).checked_sub(1) else {
            return;
        };
        self.members.swap_remove(at as usize);
        if let Some(moved) = self.members.get(at as usize) {
            self.place[*moved as usize] = at + 1;
        }
    }
}
