#![doc = include_str!("README.md")]

pub(crate) mod carrier;
mod checksum;
#[cfg(test)]
mod fake;
mod incoming;
mod message;
mod outgoing;
mod pump;
#[cfg(test)]
mod tests;

use self::carrier::Tag;
use self::incoming::IncomingTransfer;
use self::message::Message;
use self::outgoing::OutgoingTransfer;
use crate::{Handler, Payload, Rank, Token, Traffic};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

/// The number of pings within the time after which a silent rank is lost.
const PINGS: u32 = 4;

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub piece: usize,
    /// Concurrent pieces of one transfer.
    pub ahead: usize,
    /// Concurrent pieces sent, of all transfers.
    pub in_flight: usize,
    /// Concurrent posted receives, of all transfers. A transfer without a posted receive gets one beyond this limit.
    pub posted: usize,
    pub incoming: usize,
}

impl Default for Limits {
    /// At most 4 MiB in sends and 16 MiB in receives; 64 MiB in receives if more than 64 ranks send at a time.
    fn default() -> Self {
        Limits { piece: 256 << 10, ahead: 4, in_flight: 16, posted: 64, incoming: 256 }
    }
}

/// The decisions about transfers by a carrier. `pump.rs` carries them out.
#[derive(Debug, Default)]
pub(super) struct Rendezvous {
    /// The shortest transfer for which a request is worthwhile.
    from: usize,
    limits: Limits,
    ping_after: Duration,
    /// The number of [`Endpoint::attend`](super::Endpoint::attend) guards.
    sessions: usize,
    /// The job has failed: no transfer need complete.
    failed: bool,
    lost: BTreeSet<Rank>,
    next: u64,
    outgoing: BTreeMap<u64, OutgoingTransfer>,
    /// Accepted outgoing transfers with unsent pieces, in round-robin order.
    turns: VecDeque<u64>,
    /// Pieces being sent, of all transfers.
    in_flight: usize,
    incoming: BTreeMap<(Rank, u64), IncomingTransfer>,
    posted: usize,
    tags: BTreeSet<Tag>,
    /// Transfers whose ABORT has arrived before their RTS.
    overtaken: BTreeSet<(Rank, u64)>,
    due: Option<Instant>,
    effects: Effects,
    /// The part of the endpoint's traffic that is counted here.
    pub carried: Traffic,
}

#[derive(Debug, Default)]
pub(super) struct Effects {
    /// Messages to send, as transfers without a header.
    pub messages: Vec<(Rank, Bytes)>,
    /// Transfers to send by UDP.
    pub declined: Vec<Declined>,
    pub released: Vec<Token>,
    /// Ranks that have sent damaged pieces.
    pub broken: Vec<Rank>,
}

#[derive(Debug)]
pub(super) struct Declined {
    pub to: Rank,
    pub header: Bytes,
    pub payload: Payload,
}

impl Effects {
    pub fn is_empty(&self) -> bool {
        let Effects { messages, declined, released, broken } = self;
        messages.is_empty() && declined.is_empty() && released.is_empty() && broken.is_empty()
    }
}

impl Rendezvous {
    /// `silence`: the time after which a silent rank is lost.
    pub fn new(from: usize, silence: Duration) -> Self {
        Rendezvous::limited(from, silence, Limits::default())
    }

    fn limited(from: usize, silence: Duration, limits: Limits) -> Self {
        Rendezvous {
            from: from.max(1),
            limits,
            ping_after: silence / PINGS,
            tags: (0..limits.incoming as Tag).collect(),
            ..Rendezvous::default()
        }
    }

    /// The rank's thread starts to attend: requests may be sent and accepted.
    pub fn open(&mut self) {
        self.sessions += 1;
    }

    /// Ends one guard. After the last one no new transfer starts, and the thread stays until [`Rendezvous::is_idle`].
    pub fn shut(&mut self) {
        self.sessions -= 1;
    }

    /// True if a thread that no longer attends may stop polling: no transfer depends on the carrier.
    pub fn may_leave(&self) -> bool {
        self.sessions > 0 || self.is_idle()
    }

    /// True if no transfer depends on the carrier or on a reply.
    pub fn is_idle(&self) -> bool {
        self.outgoing.is_empty() && self.incoming.is_empty()
    }

    /// True if the carrier has to be polled: a transfer has been accepted.
    pub fn is_moving(&self) -> bool {
        !self.incoming.is_empty() || self.outgoing.values().any(|outgoing| outgoing.tag.is_some())
    }

    pub fn takes(&self, to: Rank, payload: &Payload) -> bool {
        self.sessions > 0 && !self.failed && payload.len() >= self.from && !self.lost.contains(&to)
    }

    pub fn request_to_send(&mut self, to: Rank, header: Bytes, payload: Payload) {
        let (id, len) = (self.next, payload.len() as u64);
        self.next += 1;
        self.message(to, &Message::Rts { id, len, header: header.clone() });
        self.outgoing.insert(id, OutgoingTransfer::new(to, header, payload));
    }

    pub fn handle_message(&mut self, from: Rank, message: &[u8], handler: &mut impl Handler) {
        match Message::decode(message) {
            Some(Message::Rts { id, len, header }) => self.handle_rts(from, id, len, header, handler),
            Some(Message::Cts { id, tag }) => {
                if let Some(outgoing) = self.outgoing.get_mut(&id).filter(|l| l.to == from && l.tag.is_none()) {
                    outgoing.tag = Some(tag);
                    self.turns.push_back(id);
                }
            }
            Some(Message::Nack { id }) => {
                if let Some(OutgoingTransfer { to, header, payload, .. }) = self.remove_outgoing(from, id) {
                    self.effects.declined.push(Declined { to, header, payload });
                }
            }
            Some(Message::Fin { id }) => {
                if let Some(outgoing) = self.remove_outgoing(from, id) {
                    self.carried.carried_out += 1;
                    self.carried.carried_bytes_out += outgoing.payload.len() as u64;
                    self.effects.released.extend(outgoing.payload.token());
                }
            }
            Some(Message::Abort { id, by_sender: true }) => {
                if self.remove_incoming(from, id).is_none() {
                    self.overtaken.insert((from, id));
                }
            }
            Some(Message::Abort { id, by_sender: false }) => {
                if let Some(outgoing) = self.remove_outgoing(from, id) {
                    self.effects.released.extend(outgoing.payload.token());
                }
            }
            Some(Message::Ping) => {}
            None => tracing::error!("malformed carrier message from {from}"),
        }
    }

    /// Replies at once, so that no rank waits for a rank that computes.
    fn handle_rts(&mut self, from: Rank, id: u64, len: u64, header: Bytes, handler: &mut impl Handler) {
        if self.failed || self.overtaken.remove(&(from, id)) {
            return self.message(from, &Message::Abort { id, by_sender: false });
        }
        let attends = self.sessions > 0 && !self.lost.contains(&from) && !self.incoming.contains_key(&(from, id));
        let len = usize::try_from(len).ok().filter(|len| attends && *len > 0);
        let Some((len, tag)) = len.and_then(|len| Some((len, self.tags.pop_first()?))) else {
            return self.message(from, &Message::Nack { id });
        };
        let placement = handler.place(from, &header, len);
        self.incoming.insert((from, id), IncomingTransfer::new(header, tag, len, placement));
        self.message(from, &Message::Cts { id, tag });
    }

    pub fn lose(&mut self, rank: Rank) {
        self.lost.insert(rank);
        let ids: Vec<u64> = self.incoming.range((rank, 0)..=(rank, u64::MAX)).map(|((_, id), _)| *id).collect();
        for id in ids {
            self.remove_incoming(rank, id);
        }
        let to_it = self.outgoing.iter().filter(|(_, outgoing)| outgoing.to == rank);
        let ids: Vec<u64> = to_it.map(|(id, _)| *id).collect();
        for id in ids {
            let token = self.remove_outgoing(rank, id).and_then(|outgoing| outgoing.payload.token());
            self.effects.released.extend(token);
        }
    }

    /// The job has failed: drops all transfers and informs their other ends.
    pub fn fail(&mut self) {
        self.failed = true;
        for (id, outgoing) in std::mem::take(&mut self.outgoing) {
            self.message(outgoing.to, &Message::Abort { id, by_sender: true });
            self.effects.released.extend(outgoing.payload.token());
        }
        for (from, id) in std::mem::take(&mut self.incoming).into_keys() {
            self.message(from, &Message::Abort { id, by_sender: false });
        }
        self.turns.clear();
        (self.in_flight, self.posted) = (0, 0);
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }

    /// Pings the ranks that transfers depend on: a stopped one is detected by its silence.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.is_idle() {
            self.due = None;
            return;
        }
        if *self.due.get_or_insert(now + self.ping_after) > now {
            return;
        }
        self.due = Some(now + self.ping_after);
        let senders = self.incoming.keys().map(|(from, _)| *from);
        let others: BTreeSet<Rank> = senders.chain(self.outgoing.values().map(|outgoing| outgoing.to)).collect();
        for rank in others {
            self.message(rank, &Message::Ping);
        }
    }

    pub fn effects(&mut self) -> Effects {
        std::mem::take(&mut self.effects)
    }

    fn message(&mut self, to: Rank, message: &Message) {
        self.effects.messages.push((to, message.encode()));
    }

    fn remove_outgoing(&mut self, to: Rank, id: u64) -> Option<OutgoingTransfer> {
        self.outgoing.get(&id).filter(|outgoing| outgoing.to == to)?;
        let outgoing = self.outgoing.remove(&id)?;
        self.in_flight -= outgoing.in_flight;
        self.turns.retain(|turn| *turn != id);
        Some(outgoing)
    }

    /// Removes an incoming transfer. Its tag is not reused, since receives may have been posted with it.
    fn remove_incoming(&mut self, from: Rank, id: u64) -> Option<IncomingTransfer> {
        let incoming = self.incoming.remove(&(from, id))?;
        self.posted -= incoming.posted;
        Some(incoming)
    }
}
