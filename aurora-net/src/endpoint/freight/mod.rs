#![doc = include_str!("README.md")]

pub(crate) mod carrier;
mod coming;
#[cfg(test)]
mod fake;
mod leaving;
mod note;
mod pump;
mod seal;
#[cfg(test)]
mod tests;

use self::carrier::Tag;
use self::coming::Coming;
use self::leaving::Leaving;
use self::note::Note;
use crate::{Handler, Payload, Rank, Token, Traffic};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

/// Into so many parts the time is divided after which a silent rank is lost: how often one is asked on which something depends.
const PINGS: u32 = 4;

/// How much may be under way at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Bytes of a piece.
    pub piece: usize,
    /// Pieces of one transfer that are sent, or received, at the same time.
    pub ahead: usize,
    /// Pieces that are sent at the same time, of all transfers.
    pub flying: usize,
    /// Pieces that are awaited at the same time; only a transfer of which none is has another one beyond that.
    pub awaited: usize,
    /// Transfers that are accepted at the same time.
    pub coming: usize,
}

impl Limits {
    /// At most 4 MiB to be sent, and 16 MiB to be received; 64 where more than 64 ranks send at the same time.
    const ORDINARY: Limits = Limits { piece: 256 << 10, ahead: 4, flying: 16, awaited: 64, coming: 256 };
}

/// The transfers that a carrier moves, or may move: decides. What carries it out is `pump.rs`.
#[derive(Debug)]
pub(super) struct Freight {
    /// Shorter transfers are not worth an offer.
    from: usize,
    limits: Limits,
    ping_after: Duration,
    /// How often the rank's thread has said that it attends to the carrier.
    sessions: usize,
    /// Nothing is to arrive any more.
    failed: bool,
    lost: BTreeSet<Rank>,
    /// The number of the next offer.
    next: u64,
    leaving: BTreeMap<u64, Leaving>,
    /// Those of which the carrier is to have more, in turns.
    turns: VecDeque<u64>,
    /// Pieces of all of them that are under way.
    flying: usize,
    coming: BTreeMap<(Rank, u64), Coming>,
    awaited: usize,
    tags: BTreeSet<Tag>,
    /// Dropped by their senders before their offers were here.
    overtaken: BTreeSet<(Rank, u64)>,
    /// When to ask again whether those are alive on whom something depends.
    due: Option<Instant>,
    orders: Orders,
    carried: Traffic,
}

/// What the endpoint is to do.
#[derive(Debug, Default)]
pub(super) struct Orders {
    /// To be sent without a header.
    pub notes: Vec<(Rank, Bytes)>,
    /// Transfers that go as if there were no carrier.
    pub declined: Vec<(Rank, Bytes, Payload)>,
    /// Lent memory to be given back.
    pub released: Vec<Token>,
    /// Ranks that cannot be believed any more.
    pub broken: Vec<Rank>,
}

impl Orders {
    pub fn is_empty(&self) -> bool {
        let Orders { notes, declined, released, broken } = self;
        notes.is_empty() && declined.is_empty() && released.is_empty() && broken.is_empty()
    }
}

impl Freight {
    /// `silence`: what a rank may be silent for.
    pub fn new(from: usize, silence: Duration) -> Self {
        Freight::limited(from, silence, Limits::ORDINARY)
    }

    fn limited(from: usize, silence: Duration, limits: Limits) -> Self {
        Freight {
            from: from.max(1),
            limits,
            ping_after: silence / PINGS,
            sessions: 0,
            failed: false,
            lost: BTreeSet::new(),
            next: 0,
            leaving: BTreeMap::new(),
            turns: VecDeque::new(),
            flying: 0,
            coming: BTreeMap::new(),
            awaited: 0,
            tags: (0..limits.coming as Tag).collect(),
            overtaken: BTreeSet::new(),
            due: None,
            orders: Orders::default(),
            carried: Traffic::default(),
        }
    }

    /// The rank's thread attends to the carrier from now on: offers may be made and accepted.
    pub fn open(&mut self) {
        self.sessions += 1;
    }

    /// It ends one of its sessions; after the last it stays until [`Freight::is_idle`], while nothing new is offered or accepted.
    pub fn shut(&mut self) {
        self.sessions -= 1;
    }

    /// Whether the rank's thread may leave.
    pub fn may_leave(&self) -> bool {
        self.sessions > 0 || self.is_idle()
    }

    /// Nothing depends on the carrier, or on an answer.
    pub fn is_idle(&self) -> bool {
        self.leaving.is_empty() && self.coming.is_empty()
    }

    /// Whether the carrier is to be looked after: more is under way than offers.
    pub fn is_moving(&self) -> bool {
        !self.coming.is_empty() || self.leaving.values().any(|leaving| leaving.tag.is_some())
    }

    /// Whether a transfer is to be offered.
    pub fn takes(&self, to: Rank, payload: &Payload) -> bool {
        self.sessions > 0 && !self.failed && payload.len() >= self.from && !self.lost.contains(&to)
    }

    /// Offers a transfer to its receiver.
    pub fn offer(&mut self, to: Rank, header: Bytes, payload: Payload) {
        let (id, len) = (self.next, payload.len() as u64);
        self.next += 1;
        self.note(to, &Note::Offer { id, len, header: header.clone() });
        self.leaving.insert(id, Leaving::new(to, header, payload));
    }

    /// Takes a note of another rank's.
    pub fn hear(&mut self, from: Rank, note: &[u8], handler: &mut impl Handler) {
        match Note::decode(note) {
            Some(Note::Offer { id, len, header }) => self.answer(from, id, len, header, handler),
            Some(Note::Accept { id, tag }) => {
                if let Some(leaving) = self.leaving.get_mut(&id).filter(|l| l.to == from && l.tag.is_none()) {
                    leaving.tag = Some(tag);
                    self.turns.push_back(id);
                }
            }
            Some(Note::Decline { id }) => {
                if let Some(Leaving { to, header, payload, .. }) = self.depart(from, id) {
                    self.orders.declined.push((to, header, payload));
                }
            }
            Some(Note::Taken { id }) => {
                if let Some(leaving) = self.depart(from, id) {
                    self.carried.carried_out += 1;
                    self.carried.carried_bytes_out += leaving.payload.len() as u64;
                    self.orders.released.extend(leaving.token());
                }
            }
            Some(Note::Dropped { id, by_sender: true }) => {
                if self.forget(from, id).is_none() {
                    self.overtaken.insert((from, id));
                }
            }
            Some(Note::Dropped { id, by_sender: false }) => {
                if let Some(leaving) = self.depart(from, id) {
                    self.orders.released.extend(leaving.token());
                }
            }
            Some(Note::Ping) => {}
            None => tracing::error!("{from} says something about a carrier that makes no sense"),
        }
    }

    /// At once, whatever it is: nobody waits for a rank that computes.
    fn answer(&mut self, from: Rank, id: u64, len: u64, header: Bytes, handler: &mut impl Handler) {
        if self.failed || self.overtaken.remove(&(from, id)) {
            return self.note(from, &Note::Dropped { id, by_sender: false });
        }
        let attends = self.sessions > 0 && !self.lost.contains(&from) && !self.coming.contains_key(&(from, id));
        let len = usize::try_from(len).ok().filter(|len| attends && *len > 0);
        let Some((len, tag)) = len.and_then(|len| Some((len, self.tags.pop_first()?))) else {
            return self.note(from, &Note::Decline { id });
        };
        let placement = handler.place(from, &header, len);
        self.coming.insert((from, id), Coming::new(header, tag, len, placement));
        self.note(from, &Note::Accept { id, tag });
    }

    /// A rank is lost: what was to come from it or go there is forgotten.
    pub fn lose(&mut self, rank: Rank) {
        self.lost.insert(rank);
        for id in self.coming_from(rank) {
            self.forget(rank, id);
        }
        for id in self.leaving_to(rank) {
            let token = self.depart(rank, id).and_then(|leaving| leaving.token());
            self.orders.released.extend(token);
        }
    }

    /// The job has failed: nothing need arrive any more, and nobody is to wait for it.
    pub fn fail(&mut self) {
        self.failed = true;
        for (id, leaving) in std::mem::take(&mut self.leaving) {
            self.note(leaving.to, &Note::Dropped { id, by_sender: true });
            self.orders.released.extend(leaving.token());
        }
        for (from, id) in std::mem::take(&mut self.coming).into_keys() {
            self.note(from, &Note::Dropped { id, by_sender: false });
        }
        self.turns.clear();
        (self.flying, self.awaited) = (0, 0);
    }

    /// When [`Freight::handle_timeout`] is to be called, if at all.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }

    /// Asks now and then whether those live on whom something depends: one that has been stopped is found out by its silence.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.is_idle() {
            self.due = None;
            return;
        }
        if *self.due.get_or_insert(now + self.ping_after) > now {
            return;
        }
        self.due = Some(now + self.ping_after);
        let senders = self.coming.keys().map(|(from, _)| *from);
        let others: BTreeSet<Rank> = senders.chain(self.leaving.values().map(|leaving| leaving.to)).collect();
        for rank in others {
            self.note(rank, &Note::Ping);
        }
    }

    /// What the endpoint is to do by now.
    pub fn orders(&mut self) -> Orders {
        std::mem::take(&mut self.orders)
    }

    /// Adds what is counted here.
    pub fn count(&self, traffic: &mut Traffic) {
        traffic.transfers_in += self.carried.transfers_in;
        traffic.bytes_in += self.carried.bytes_in;
        traffic.carried_out += self.carried.carried_out;
        traffic.carried_in += self.carried.carried_in;
        traffic.carried_bytes_out += self.carried.carried_bytes_out;
        traffic.carried_bytes_in += self.carried.carried_bytes_in;
    }

    fn note(&mut self, to: Rank, note: &Note) {
        self.orders.notes.push((to, note.encode()));
    }

    /// A transfer of ours to this rank is no business of the carrier's any more.
    fn depart(&mut self, to: Rank, id: u64) -> Option<Leaving> {
        self.leaving.get(&id).filter(|leaving| leaving.to == to)?;
        let leaving = self.leaving.remove(&id)?;
        self.flying -= leaving.flying;
        self.turns.retain(|turn| *turn != id);
        Some(leaving)
    }

    /// Gives up a transfer to us. Its tag is not used again: receives may have been begun with it.
    fn forget(&mut self, from: Rank, id: u64) -> Option<Coming> {
        let coming = self.coming.remove(&(from, id))?;
        self.awaited -= coming.awaited;
        Some(coming)
    }

    fn coming_from(&self, rank: Rank) -> Vec<u64> {
        self.coming.range((rank, 0)..=(rank, u64::MAX)).map(|((_, id), _)| *id).collect()
    }

    fn leaving_to(&self, rank: Rank) -> Vec<u64> {
        self.leaving.iter().filter(|(_, leaving)| leaving.to == rank).map(|(id, _)| *id).collect()
    }
}
