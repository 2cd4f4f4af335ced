//! Ranks over a carrier in memory: messages arrive in any order, and a piece moves only while both its ranks poll.

use super::carrier::{Carrier, Completion, Piece, Tag};
use super::{Declined, Limits, Rendezvous};
use crate::random::Random;
use crate::{Handler, Loss, Outbox, Payload, Placement, Rank, Received, Token};
use bytes::Bytes;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

#[derive(Default)]
pub(super) struct Wire {
    /// Unmatched sends in the order of their start.
    sends: Vec<(Rank, Tag, Piece, Vec<u8>)>,
    receives: Vec<(Rank, Tag, Piece, usize)>,
    /// Received pieces that have not been reported to their receivers.
    met: BTreeMap<Rank, Vec<(Piece, Vec<u8>)>>,
    /// Sent pieces that have not been reported to their senders.
    sent: BTreeMap<Rank, VecDeque<Piece>>,
    /// Reports sends at once, as MPI may do with short messages; otherwise when matched, as MPI does with long ones.
    pub is_eager: bool,
    /// Flips a bit of the next piece after this many pieces.
    pub damages: Option<usize>,
}

impl Wire {
    pub fn destinations(&self) -> Vec<usize> {
        self.sends.iter().map(|(_, _, piece, _)| piece.peer.index()).collect()
    }

    /// Matches one of a rank's sends with its receive, if there is one: the oldest of its tag, as MPI does.
    fn go_on(&mut self, me: Rank) {
        let meets = |(from, tag, piece, _): &(Rank, Tag, Piece, Vec<u8>)| {
            let fits = |(to, with, expected, _): &(Rank, Tag, Piece, usize)| {
                (*to, *with, expected.peer) == (piece.peer, *tag, *from)
            };
            self.receives.iter().position(fits).filter(|_| *from == me)
        };
        let found = self.sends.iter().enumerate().find_map(|(at, send)| Some((at, meets(send)?)));
        let Some((send, receive)) = found else {
            return;
        };
        let (_, _, piece, mut bytes) = self.sends.remove(send);
        let (to, _, expected, room) = self.receives.remove(receive);
        assert_eq!((piece.id, piece.offset), (expected.id, expected.offset), "another piece than posted");
        assert!(bytes.len() <= room, "a piece of {} bytes for {room}", bytes.len());
        if !self.is_eager {
            self.sent.entry(me).or_default().push_back(piece);
        }
        if let Some(others) = self.damages {
            self.damages = others.checked_sub(1);
            bytes[0] ^= u8::from(others == 0);
        }
        self.met.entry(to).or_default().push((expected, bytes));
    }
}

/// One rank's carrier. A send progresses only while its sender polls.
pub(super) struct Fake {
    me: Rank,
    wire: Rc<RefCell<Wire>>,
}

impl Carrier for Fake {
    fn buffer(&mut self, _: usize) -> Vec<u8> {
        Vec::new()
    }

    fn recycle(&mut self, _: Vec<u8>) {}

    fn send(&mut self, piece: Piece, tag: Tag, bytes: Vec<u8>) {
        let wire = &mut *self.wire.borrow_mut();
        wire.sends.push((self.me, tag, piece, bytes));
        if wire.is_eager {
            wire.sent.entry(self.me).or_default().push_back(piece);
        }
    }

    fn receive(&mut self, piece: Piece, tag: Tag, room: usize) {
        self.wire.borrow_mut().receives.push((self.me, tag, piece, room));
    }

    fn poll(&mut self) -> Option<Completion> {
        let wire = &mut *self.wire.borrow_mut();
        if let Some(piece) = wire.sent.get_mut(&self.me).and_then(VecDeque::pop_front) {
            return Some(Completion::Sent(piece));
        }
        wire.go_on(self.me);
        // The newest completion first: completions may come in any order.
        let (piece, bytes) = wire.met.get_mut(&self.me)?.pop()?;
        Some(Completion::Received(piece, bytes))
    }
}

#[derive(Default)]
pub(super) struct Library {
    lent: BTreeMap<u64, Vec<u8>>,
    reads_left: Option<usize>,
    placed: BTreeMap<u64, Vec<u8>>,
    next: u64,
    pub delivered: Vec<(Rank, Bytes, Vec<u8>)>,
    pub lost: Vec<Rank>,
    pub failed: bool,
}

impl Library {
    pub fn lend(&mut self, bytes: Vec<u8>) -> Payload {
        self.next += 1;
        let len = bytes.len();
        self.lent.insert(self.next, bytes);
        Payload::Lent { token: Token(self.next), len }
    }

    pub fn withdraw_after(&mut self, reads: usize) {
        self.reads_left = Some(reads);
    }

    pub fn has_all_back(&self) -> bool {
        self.lent.is_empty()
    }
}

impl Handler for Library {
    fn place(&mut self, _: Rank, header: &[u8], len: usize) -> Placement {
        if header[0].is_multiple_of(2) {
            return Placement::Buffer;
        }
        self.next += 1;
        self.placed.insert(self.next, vec![0; len]);
        Placement::At(Token(self.next))
    }

    fn write(&mut self, token: Token, offset: usize, bytes: &[u8]) {
        self.placed.get_mut(&token.0).expect("placed")[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn read(&mut self, token: Token, offset: usize, into: &mut [u8]) -> bool {
        let lent = &self.lent[&token.0];
        if let Some(left) = &mut self.reads_left {
            let Some(fewer) = left.checked_sub(1) else {
                return false;
            };
            *left = fewer;
        }
        into.copy_from_slice(&lent[offset..offset + into.len()]);
        true
    }

    fn deliver(&mut self, from: Rank, header: &[u8], payload: Received, _: &mut Outbox) {
        let bytes = match payload {
            Received::Placed(token) => self.placed.remove(&token.0).expect("delivered once"),
            other => other.into_vec(),
        };
        self.delivered.push((from, Bytes::copy_from_slice(header), bytes));
    }

    fn released(&mut self, token: Token, _: &mut Outbox) {
        self.lent.remove(&token.0).expect("given back once");
    }

    fn peer_lost(&mut self, rank: Rank, _: Loss, _: &mut Outbox) {
        self.lost.push(rank);
    }

    fn has_failed(&self) -> bool {
        self.failed
    }
}

pub(super) struct End {
    pub rendezvous: Rendezvous,
    pub library: Library,
    carrier: Fake,
    pub by_udp: usize,
}

pub(super) struct Cluster {
    pub ends: Vec<End>,
    pub wire: Rc<RefCell<Wire>>,
    /// Messages in flight: sender, receiver, content.
    pub messages: Vec<(Rank, Rank, Bytes)>,
    random: Random,
}

impl Cluster {
    /// Shorter transfers do not use the carrier.
    pub const FROM: usize = 4;

    pub fn new(size: usize, limits: Limits, seed: u64) -> Self {
        let wire = Rc::new(RefCell::new(Wire { is_eager: seed.is_multiple_of(3), ..Wire::default() }));
        let end = |rank| End {
            rendezvous: Rendezvous::limited(Cluster::FROM, Duration::from_secs(4), limits),
            library: Library::default(),
            carrier: Fake { me: Rank::new(rank), wire: wire.clone() },
            by_udp: 0,
        };
        Cluster {
            ends: (0..size).map(end).collect(),
            wire: wire.clone(),
            messages: Vec::new(),
            random: Random::new(seed),
        }
    }

    pub fn content(from: usize, header: u8, len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 7 + i / 251 + 31 * from + 13 * header as usize) as u8).collect()
    }

    /// Sends as an endpoint does. Payloads with odd headers are lent and placed.
    pub fn send(&mut self, from: usize, to: usize, header: u8, len: usize) {
        let bytes = Cluster::content(from, header, len);
        let end = &mut self.ends[from];
        let payload = match header % 2 {
            0 => Payload::Bytes(bytes.into()),
            _ => end.library.lend(bytes),
        };
        let (to, header) = (Rank::new(to), Bytes::copy_from_slice(&[header]));
        match end.rendezvous.takes(to, &payload) {
            true => end.rendezvous.request_to_send(to, header, payload),
            false => self.send_by_udp(from, to, &header, &payload),
        }
        self.settle(from);
    }

    fn send_by_udp(&mut self, from: usize, to: Rank, header: &Bytes, payload: &Payload) {
        let End { library, by_udp, .. } = &mut self.ends[from];
        *by_udp += 1;
        let bytes = match payload {
            Payload::Lent { token, len } => {
                let mut bytes = vec![0; *len];
                let whole = library.read(*token, 0, &mut bytes);
                library.released(*token, &mut Outbox::default());
                whole.then_some(bytes)
            }
            Payload::Bytes(bytes) => Some(bytes.to_vec()),
            other => panic!("{other:?}"),
        };
        if let Some(bytes) = bytes {
            self.ends[to.index()].library.delivered.push((Rank::new(from), header.clone(), bytes));
        }
    }

    pub fn settle(&mut self, rank: usize) {
        let effects = self.ends[rank].rendezvous.effects();
        let me = Rank::new(rank);
        self.messages.extend(effects.messages.into_iter().map(|(to, message)| (me, to, message)));
        for Declined { to, header, payload } in effects.declined {
            self.send_by_udp(rank, to, &header, &payload);
        }
        let End { library, rendezvous, .. } = &mut self.ends[rank];
        for token in effects.released {
            library.released(token, &mut Outbox::default());
        }
        for broken in effects.broken {
            library.peer_lost(broken, Loss::DEATH, &mut Outbox::default());
            rendezvous.lose(broken);
        }
        if !rendezvous.effects.is_empty() {
            self.settle(rank);
        }
    }

    pub fn deliver_message(&mut self) {
        let which = self.random.below(self.messages.len());
        self.deliver(which);
    }

    pub fn deliver(&mut self, which: usize) {
        let (from, to, message) = self.messages.swap_remove(which);
        let End { rendezvous, library, .. } = &mut self.ends[to.index()];
        rendezvous.handle_message(from, &message, library);
        self.settle(to.index());
    }

    pub fn deliver_messages(&mut self) {
        while !self.messages.is_empty() {
            self.deliver_message();
        }
    }

    /// A rank polls its carrier, unless it computes.
    pub fn pump(&mut self, rank: usize) -> bool {
        let End { rendezvous, library, carrier, .. } = &mut self.ends[rank];
        if rendezvous.sessions == 0 && rendezvous.is_idle() {
            return false;
        }
        let moved = rendezvous.pump(carrier, library, &mut Outbox::default());
        self.settle(rank);
        moved
    }

    /// Delivers and polls in random order until nothing is left, or nothing moves for long.
    pub fn run(&mut self) {
        let mut still = 0;
        while still < 200 * self.ends.len() && !(self.messages.is_empty() && self.is_idle()) {
            let rank = self.random.below(self.ends.len());
            let moved = match self.messages.is_empty() || self.random.below(2) == 0 {
                true => self.pump(rank),
                false => {
                    self.deliver_message();
                    true
                }
            };
            still = if moved { 0 } else { still + 1 };
        }
    }

    pub fn is_idle(&self) -> bool {
        self.ends.iter().all(|end| end.rendezvous.is_idle())
    }
}
