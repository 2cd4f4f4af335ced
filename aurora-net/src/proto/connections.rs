//! All connections of a rank: who sends next, whose time has come, who has something to say.

use super::scheduler::Scheduler;
use super::timers::Timers;
use super::{Connection, Crowd, DatagramError, Event, Instant, Payloads, Transmit, sender_of};
use crate::{Payload, Rank};
use bytes::Bytes;
use std::time::Duration;

/// With less than this still to come, in bytes, every packet may be the one that is waited for.
const MUCH: u64 = 128 * 1024;
/// Longer, and an interface might run out of what it has to send.
const LONGEST_LULL: Duration = Duration::from_millis(1);
/// Shorter ones are not worth a sleep.
const SHORTEST_LULL: Duration = Duration::from_micros(100);

/// How many datagrams may leave in one go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trains {
    /// At most so many.
    pub segments: usize,
    /// To the only peer that is sent bulk data: as many bytes as the system takes at once.
    pub alone: usize,
    /// Bytes where several peers are sent bulk data: so few that a switch's short queue has room for the trains of
    /// several senders at once.
    pub in_turns: usize,
}

/// A rank's connections to all others. Like a [`Connection`] it decides and does no I/O; what it costs depends on how
/// many peers are active, not on how many there are.
///
/// The shell's part of the bargain is that of a connection: after any call [`poll`](Self::poll) until `None`, then
/// [`poll_transmit`](Self::poll_transmit) until `None` or until the socket is full, then
/// [`poll_timeout`](Self::poll_timeout).
#[derive(Debug)]
pub struct Connections {
    key: u64,
    /// By rank; none to ourselves and to those that are reached otherwise.
    connections: Vec<Option<Box<Connection>>>,
    scheduler: Scheduler,
    timers: Timers,
    /// Peers that may have something to say.
    talking: Set,
    /// Peers whose timers may have changed.
    stale: Set,
    /// Peers that we have bulk data for or on the way to.
    destinations: Set,
    /// Peers that are sending us bulk data.
    sources: Set,
    /// Peers for whom something is queued or in flight.
    busy: Set,
}

impl Connections {
    /// No links yet, of rank `me` among `size` ranks that share `key`.
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

    /// Reaches `peer` over `connection`.
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

    /// Whether nothing is queued and nothing waits for an acknowledgement.
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

    /// Takes in a datagram.
    ///
    /// # Errors
    /// What to count it as when it was dropped.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        datagram: &[u8],
        io: &mut impl Payloads,
    ) -> Result<(), DatagramError> {
        let from = sender_of(self.key, datagram)?.index();
        let connection = self.connections.get_mut(from).and_then(Option::as_deref_mut);
        // A rank that does not exist or is not reached this way: damaged, most likely.
        let outcome = connection.ok_or(DatagramError::Corrupt)?.handle_datagram(now, datagram, io);
        self.touch(from);
        outcome
    }

    /// Tells the connections the time whose time has come.
    pub fn handle_timeouts(&mut self, now: Instant) {
        self.refresh();
        while let Some(index) = self.timers.pop(now) {
            if let Some(connection) = &mut self.connections[index] {
                connection.handle_timeout(now);
                self.touch(index);
            }
        }
    }

    /// When [`handle_timeouts`](Self::handle_timeouts) is to be called, if at all.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        self.refresh();
        self.timers.next()
    }

    /// The next event, and whose it is.
    pub fn poll(&mut self) -> Option<(Rank, Event)> {
        while let Some(index) = self.talking.first() {
            if let Some(event) = self.connections[index].as_deref_mut().and_then(Connection::poll) {
                return Some((Rank::new(index), event));
            }
            self.talking.remove(index);
        }
        None
    }

    /// Appends a train of datagrams to `buf` and says for whom: bulk data of all peers in turns.
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
            // Building it may have found a payload withdrawn.
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

    /// For how long it is as well to leave what arrives alone: while much is still to come and round trips are long
    /// because interfaces have long queues, a little later is early enough, and far cheaper than to wake for each
    /// packet.
    pub fn lull(&self) -> Option<Duration> {
        let mut missing = 0;
        let mut lull = LONGEST_LULL;
        for connection in self.sources.iter().filter_map(|index| self.connections[index].as_deref()) {
            missing += connection.missing();
            lull = lull.min(connection.lull()?);
        }
        (missing > MUCH && lull >= SHORTEST_LULL).then_some(lull)
    }

    /// Something has happened to a connection.
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

/// A set of indices that knows its size; in no particular order, but in the same one every time.
#[derive(Debug)]
struct Set {
    members: Vec<u32>,
    /// Where each index stands among the members, plus one; 0: it is none.
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
        match member {
            true if self.place[index] == 0 => {
                self.members.push(index as u32);
                self.place[index] = self.members.len() as u32;
            }
            true => {}
            false => self.remove(index),
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
