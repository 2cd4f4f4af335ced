//! The shared-memory side of an endpoint: rings to and from each node peer.

use crate::proto::earlier;
use crate::shm::{BufferPool, Control, Duplex, Node, Presence, Sent};
use crate::{Handler, Loss, Outbox, Outgoing, Rank, Traffic};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of checks within the time after which a node peer that reads nothing is lost.
const LOOKS: u32 = 4;

pub(crate) struct Rings {
    node: Arc<Node>,
    control: Arc<Control>,
    pool: Arc<BufferPool>,
    /// The node peers, in the order of their ranks.
    peers: Vec<NodePeer>,
    /// Node peers with queued transfers that may find room.
    busy: Vec<usize>,
    silence: Duration,
    /// The time at which to check whether all node peers read.
    due: Option<Instant>,
    deaths: u32,
    /// The time between a node peer's end and its report as lost.
    grace: Duration,
}

struct NodePeer {
    rank: Rank,
    number: usize,
    duplex: Duplex,
    is_busy: bool,
    /// The read position of a peer that has something left to read, and the time at which it was first seen.
    stuck: Option<(u64, Instant)>,
    /// The node peer has died and will be reported as lost at this time.
    lost_at: Option<Instant>,
    is_lost: bool,
}

impl Rings {
    /// `None`: this rank is alone on its node. `grace`: a launcher that reports the end of a process itself then ends
    /// the other ranks; within this time these must not report each other as lost.
    pub fn new(node: &Arc<Node>, silence: Duration, grace: Duration) -> Option<Self> {
        let control = node.control()?.clone();
        let pool = BufferPool::new(control.clone());
        let peers = control.take_rings().into_iter().map(|ends| NodePeer {
            rank: node.ranks()[ends.peer],
            number: ends.peer,
            duplex: Duplex::new(ends, pool.clone()),
            is_busy: false,
            stuck: None,
            lost_at: None,
            is_lost: false,
        });
        let (peers, node) = (peers.collect(), node.clone());
        Some(Rings { node, control, pool, peers, busy: Vec::new(), silence, due: None, deaths: 0, grace })
    }

    pub fn pool(&self) -> &Arc<BufferPool> {
        &self.pool
    }

    pub fn find(&self, rank: Rank) -> Option<usize> {
        self.peers.binary_search_by_key(&rank, |peer| peer.rank).ok()
    }

    /// The node rank of the node peer with this index.
    pub fn number(&self, peer: usize) -> usize {
        self.peers[peer].number
    }

    /// Queues a transfer. Returns it if the node peer is lost.
    pub fn send(&mut self, peer: usize, outgoing: Outgoing) -> Result<(), Outgoing> {
        if self.peers[peer].is_lost {
            return Err(outgoing);
        }
        self.peers[peer].duplex.send(outgoing);
        self.is_busy(peer);
        Ok(())
    }

    fn is_busy(&mut self, peer: usize) {
        if !std::mem::replace(&mut self.peers[peer].is_busy, true) {
            self.busy.push(peer);
        }
    }

    /// Receives arrived records. Returns whether the handler was called, and whether more records wait.
    pub fn receive(
        &mut self,
        handler: &mut impl Handler,
        out: &mut Outbox,
        traffic: &mut Traffic,
        ended: bool,
    ) -> (bool, bool) {
        if ended {
            self.node.note_ends();
        }
        let deaths = self.control.deaths();
        let (mut handled, mut more) = (false, false);
        for index in 0..self.peers.len() {
            let peer = &mut self.peers[index];
            if peer.is_lost || (deaths == self.deaths && peer.duplex.is_quiet()) {
                continue;
            }
            match peer.duplex.receive(peer.rank, handler, out, traffic) {
                Ok(taken) => {
                    handled |= taken.handled;
                    more |= taken.more;
                    if taken.nudge {
                        self.control.ring(peer.number);
                    }
                    // Everything that it sent before its death has been received.
                    let is_dead = deaths != self.deaths && self.control.presence(peer.number) == Presence::Dead;
                    if is_dead && !taken.more {
                        handled |= self.on_death(index, handler, out);
                    }
                }
                Err(corrupt) => {
                    tracing::error!("{corrupt}: {} is given up", peer.rank);
                    self.lose(index, Duration::ZERO, handler, out);
                    handled = true;
                }
            }
            // Queued transfers may find room now.
            if self.peers[index].duplex.is_waiting() {
                self.is_busy(index);
            }
        }
        if !more {
            self.deaths = deaths;
        }
        (handled, more)
    }

    /// Writes queued transfers into the rings and wakes their receivers. True: the handler was called.
    pub fn transmit(&mut self, handler: &mut impl Handler, out: &mut Outbox) -> bool {
        let mut called = false;
        for index in std::mem::take(&mut self.busy) {
            let peer = &mut self.peers[index];
            peer.is_busy = false;
            match peer.duplex.transmit(handler) {
                Ok(Sent::Nothing) => {}
                Ok(sent) => {
                    match sent {
                        Sent::Lazily => self.control.ring_lazily(peer.number),
                        _ => self.control.ring(peer.number),
                    }
                    self.due.get_or_insert_with(|| Instant::now() + self.silence / LOOKS);
                }
                Err(corrupt) => {
                    tracing::error!("{corrupt}: {} is given up", peer.rank);
                    self.lose(index, Duration::ZERO, handler, out);
                    called = true;
                }
            }
            for token in self.peers[index].duplex.released() {
                handler.released(token, out);
                called = true;
            }
        }
        called
    }

    pub fn nudge(&self, rank: Rank) {
        if let Some(peer) = self.find(rank) {
            self.control.ring(self.peers[peer].number);
        }
    }

    pub fn is_moving(&self) -> bool {
        self.peers.iter().any(|peer| peer.duplex.is_moving())
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }

    /// Checks that all node peers read this rank's messages. True: the handler was called.
    pub fn handle_timeout(&mut self, now: Instant, handler: &mut impl Handler, out: &mut Outbox) -> bool {
        if self.due.is_none_or(|due| due > now) {
            return false;
        }
        self.due = None;
        let mut called = false;
        for index in 0..self.peers.len() {
            let peer = &mut self.peers[index];
            if let Some(until) = peer.lost_at.filter(|_| !peer.is_lost) {
                if until <= now {
                    self.lose(index, Duration::ZERO, handler, out);
                    called = true;
                } else {
                    self.due = earlier(self.due, Some(until));
                }
                continue;
            }
            let Some(position) = peer.duplex.unread().filter(|_| !peer.is_lost) else {
                peer.stuck = None;
                continue;
            };
            self.due = earlier(self.due, Some(now + self.silence / LOOKS));
            let (_, since) = *peer.stuck.get_or_insert((position, now));
            // A lazy message may not have woken it.
            self.control.ring(peer.number);
            if peer.stuck != Some((position, since)) {
                peer.stuck = Some((position, now));
            } else if now - since >= self.silence {
                self.lose(index, now - since, handler, out);
                called = true;
            }
        }
        called
    }

    fn on_death(&mut self, peer: usize, handler: &mut impl Handler, out: &mut Outbox) -> bool {
        if self.grace.is_zero() {
            self.lose(peer, Duration::ZERO, handler, out);
            return true;
        }
        let until = *self.peers[peer].lost_at.get_or_insert_with(|| Instant::now() + self.grace);
        self.due = earlier(self.due, Some(until));
        false
    }

    fn lose(&mut self, peer: usize, silent_for: Duration, handler: &mut impl Handler, out: &mut Outbox) {
        let peer = &mut self.peers[peer];
        peer.is_lost = true;
        peer.duplex.give_up();
        if self.control.presence(peer.number) == Presence::Dead {
            self.pool.reclaim(peer.number);
        }
        for token in peer.duplex.released() {
            handler.released(token, out);
        }
        handler.peer_lost(peer.rank, Loss::silent_for(silent_for), out);
    }
}
