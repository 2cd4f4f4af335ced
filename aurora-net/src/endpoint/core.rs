//! What an endpoint does under its lock: runs the handler, sends what it queues, takes in what has arrived.

use crate::local::{Inbox, LocalAddress, LocalPayload, LocalTransfer};
use crate::{Handler, Outbox, Outgoing, Payload, Placement, Rank, Received, Traffic};
use std::time::Instant;

/// Transfers taken in before others get a chance at the lock.
const BATCH: usize = 64;

/// What [`Core::take_in`] has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Progress {
    /// Whether the handler has been called.
    pub handled: bool,
    /// Whether there is more to do at once.
    pub more: bool,
}

/// The way to one rank.
#[derive(Debug)]
pub(crate) enum Peer {
    /// Ourselves, or a rank that is lost: nothing can be sent there.
    Nobody,
    /// A thread of this process.
    Local(LocalAddress),
}

pub(crate) struct Core<H> {
    pub handler: H,
    pub traffic: Traffic,
    me: Rank,
    outbox: Outbox,
    inbox: Option<Inbox>,
    peers: Vec<Peer>,
    closed: bool,
}

impl<H: Handler> Core<H> {
    pub fn new(me: Rank, handler: H, inbox: Option<Inbox>, peers: Vec<Peer>) -> Self {
        Core {
            handler,
            traffic: Traffic::default(),
            me,
            outbox: Outbox::default(),
            inbox,
            peers,
            closed: false,
        }
    }

    /// Runs `action` on the handler and sends what it queues.
    pub fn run<R>(&mut self, action: impl FnOnce(&mut H, &mut Outbox) -> R) -> R {
        let outcome = action(&mut self.handler, &mut self.outbox);
        self.send_out();
        outcome
    }

    /// Takes in what has arrived, in part if it is much, and what time has brought.
    pub fn take_in(&mut self, now: Instant) -> Progress {
        let mut progress = Progress::default();
        if self.closed {
            return progress;
        }
        self.take_in_local(&mut progress);
        if self.handler.poll_timeout().is_some_and(|due| due <= now) {
            self.handler.handle_timeout(now, &mut self.outbox);
            progress.handled = true;
        }
        self.send_out();
        progress
    }

    /// When [`Core::take_in`] is to be called even if nothing arrives.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.closed {
            return None;
        }
        self.handler.poll_timeout()
    }

    /// Drops every way in and out. What the handler lends is given back.
    pub fn close(&mut self) {
        self.closed = true;
        self.inbox = None;
        self.peers.fill_with(|| Peer::Nobody);
        self.send_out();
    }

    fn take_in_local(&mut self, progress: &mut Progress) {
        let Some(inbox) = self.inbox.take() else {
            return;
        };
        inbox.silence();
        for _ in 0..BATCH {
            let Some(transfer) = inbox.try_next() else {
                break;
            };
            progress.handled = true;
            self.arrive(transfer);
        }
        progress.more |= !inbox.is_empty();
        self.inbox = Some(inbox);
    }

    fn arrive(&mut self, transfer: LocalTransfer) {
        let LocalTransfer {
            from,
            header,
            payload,
        } = transfer;
        let bytes = payload.as_slice();
        self.traffic.transfers_in += 1;
        self.traffic.bytes_in += (header.len() + bytes.len()) as u64;
        let received = if bytes.is_empty() {
            Received::Bytes(Vec::new())
        } else {
            match self.handler.place(from, &header, bytes.len()) {
                Placement::Buffer => Received::Bytes(payload.into_vec()),
                Placement::At(token) => {
                    self.handler.write(token, 0, bytes);
                    Received::Placed(token)
                }
            }
        };
        self.handler
            .deliver(from, &header, received, &mut self.outbox);
    }

    /// Sends what is queued, and what the handler queues because of that.
    fn send_out(&mut self) {
        while !self.outbox.is_empty() {
            let mut outbox = std::mem::take(&mut self.outbox);
            for outgoing in outbox.drain() {
                self.send(outgoing);
            }
        }
    }

    fn send(&mut self, outgoing: Outgoing) {
        let Outgoing {
            to,
            header,
            payload,
        } = outgoing;
        assert!(to != self.me, "{to} sends a transfer to itself");
        let bytes = (header.len() + payload.len()) as u64;
        match &mut self.peers[to.index()] {
            Peer::Nobody => self.give_back(&payload),
            Peer::Local(address) => {
                let (copy, whole) = match &payload {
                    Payload::Empty => (LocalPayload::Owned(Vec::new()), true),
                    Payload::Bytes(bytes) => (LocalPayload::Shared(bytes.clone()), true),
                    Payload::Lent { token, len } => {
                        let mut copy = vec![0; *len];
                        let whole = self.handler.read(*token, 0, &mut copy);
                        (LocalPayload::Owned(copy), whole)
                    }
                };
                if whole {
                    self.traffic.transfers_out += 1;
                    self.traffic.bytes_out += bytes;
                    address.send(LocalTransfer {
                        from: self.me,
                        header,
                        payload: copy,
                    });
                }
                self.give_back(&payload);
            }
        }
    }

    fn give_back(&mut self, payload: &Payload) {
        if let Payload::Lent { token, .. } = payload {
            self.handler.released(*token, &mut self.outbox);
        }
    }
}
