//! The part of an endpoint that works under its lock: runs the handler, sends the queued transfers, and receives.

use super::datagrams::Datagrams;
use super::rendezvous::carrier::Carrier;
use super::rendezvous::{Declined, Effects, Rendezvous};
use super::rings::Rings;
use super::trace;
use crate::handler::{Lender, Queued};
use crate::local::{Inbox, LocalAddress, LocalTransfer};
use crate::poller::{News, Poller};
use crate::proto::earlier;
use crate::udp::UdpPort;
use crate::{Handler, Loss, Outbox, Outgoing, Payload, Placement, Rank, Received, Traffic};
use bytes::Bytes;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The maximum number of transfers received before the lock is released.
const BATCH: usize = 64;

/// A thread that always finds work never sleeps on the poller, which reports the sources. So it also asks for ready
/// sources after each full batch, and in one of this many looks.
const SOURCES_EVERY: u8 = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Progress {
    pub handled: bool,
    pub more: bool,
    /// The time for which a pause costs no performance.
    pub lull: Option<Duration>,
}

#[derive(Debug)]
pub(crate) enum Peer {
    /// This rank itself; every rank once the endpoint is closed.
    Unreachable,
    Local(LocalAddress),
    /// A peer reached through shared memory: its index in [`Rings`].
    Shm(usize),
    Udp,
}

pub(crate) struct Core<H> {
    pub handler: H,
    traffic: Traffic,
    me: Rank,
    outbox: Outbox,
    ways: Ways,
    peers: Vec<Peer>,
    pub(super) rendezvous: Option<Rendezvous>,
    nudges: Vec<Rank>,
    /// True if a source may be ready.
    sources: bool,
    looks: u8,
    closed: bool,
}

/// The routes by which transfers arrive. Several may be in use.
#[derive(Default)]
pub(crate) struct Ways {
    pub inbox: Option<Inbox>,
    pub rings: Option<Rings>,
    pub datagrams: Option<Datagrams>,
}

impl<H: Handler> Core<H> {
    pub fn new(
        me: Rank,
        handler: H,
        ways: Ways,
        peers: Vec<Peer>,
        rendezvous: Option<Rendezvous>,
        poller: Arc<Poller>,
    ) -> Self {
        let (traffic, nudges) = (Traffic::default(), Vec::new());
        let lender = ways.rings.as_ref().map(|rings| {
            let node_ranks = peers.iter().map(|peer| match peer {
                Peer::Shm(peer) => Some(rings.number(*peer)),
                _ => None,
            });
            Lender { pool: rings.pool().clone(), node_ranks: node_ranks.collect() }
        });
        let outbox = Outbox::of(poller, lender);
        Core { handler, traffic, me, outbox, ways, peers, rendezvous, nudges, sources: false, looks: 0, closed: false }
    }

    /// Runs `action` on the handler and sends the transfers that it queues. True: sending has called the handler.
    pub fn run<R>(&mut self, action: impl FnOnce(&mut H, &mut Outbox) -> R) -> (R, bool) {
        let outcome = action(&mut self.handler, &mut self.outbox);
        let called = !self.outbox.is_empty() && self.settle();
        (outcome, called)
    }

    /// The waiting thread is about to evaluate its condition again, which will name the ranks to nudge again.
    pub fn forget_nudges(&mut self) {
        self.nudges.clear();
    }

    /// Nudges the ranks that the waiting thread's condition has named, before that thread sleeps.
    pub fn nudge(&mut self) {
        for rank in self.nudges.drain(..) {
            if let Some(rings) = &self.ways.rings {
                rings.nudge(rank);
            }
        }
    }

    /// Receives arrived transfers, up to a limit, and handles timeouts and sources.
    pub fn take_in(&mut self, now: Instant, news: News) -> Progress {
        let mut progress = Progress::default();
        if self.closed {
            return progress;
        }
        if let Some(rings) = &mut self.ways.rings {
            let (handled, more) = rings.receive(&mut self.handler, &mut self.outbox, &mut self.traffic, news.ended);
            progress.handled |= handled | rings.handle_timeout(now, &mut self.handler, &mut self.outbox);
            progress.more |= more;
        }
        self.take_in_local(&mut progress);
        if let Some(datagrams) = &mut self.ways.datagrams {
            progress.more |= datagrams.receive(now, &mut self.handler);
            datagrams.handle_timeouts(now);
        }
        if let Some(rendezvous) = &mut self.rendezvous {
            rendezvous.handle_timeout(now);
        }
        if self.handler.poll_timeout().is_some_and(|due| due <= now) {
            self.handler.handle_timeout(now, &mut self.outbox);
            progress.handled = true;
        }
        self.looks = self.looks.wrapping_add(1);
        self.sources |= news.source || (self.looks.is_multiple_of(SOURCES_EVERY) && !self.outbox.sources().is_empty());
        if self.sources {
            self.take_in_sources(&mut progress);
        }
        progress.handled |= self.settle();
        self.sources |= progress.more && !self.outbox.sources().is_empty();
        // A pause would stall a ring transfer.
        let is_moving = || self.ways.rings.as_ref().is_some_and(Rings::is_moving);
        progress.lull = self.ways.datagrams.as_ref().and_then(Datagrams::lull).filter(|_| !is_moving());
        progress
    }

    /// The time at which to call [`Core::take_in`] even if nothing arrives.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        if self.closed {
            return None;
        }
        let datagrams = self.ways.datagrams.as_mut().and_then(Datagrams::poll_timeout);
        let rings = self.ways.rings.as_ref().and_then(Rings::poll_timeout);
        let rendezvous = self.rendezvous.as_ref().and_then(Rendezvous::poll_timeout);
        earlier(earlier(self.handler.poll_timeout(), rings), earlier(datagrams, rendezvous))
    }

    pub fn port(&self) -> Option<&UdpPort> {
        self.ways.datagrams.as_ref().map(Datagrams::port)
    }

    pub fn traffic(&self) -> Traffic {
        let mut traffic = self.traffic;
        if let Some(datagrams) = &self.ways.datagrams {
            datagrams.count(&mut traffic);
        }
        if let Some(rendezvous) = &self.rendezvous {
            traffic = traffic.plus(rendezvous.carried);
        }
        traffic
    }

    /// Polls the carrier. True: it made progress.
    pub fn carry(&mut self, carrier: &mut dyn Carrier) -> bool {
        let Some(rendezvous) = &mut self.rendezvous else {
            return false;
        };
        let moved = rendezvous.pump(carrier, &mut self.handler, &mut self.outbox);
        if moved {
            self.settle();
        }
        moved
    }

    pub fn close(&mut self) {
        self.traffic = self.traffic();
        self.closed = true;
        self.ways = Ways::default();
        self.rendezvous = None;
        self.outbox.sources().close();
        self.peers.fill_with(|| Peer::Unreachable);
    }

    /// Calls the handler for the ready sources. The second look finds nothing if the handler has read everything.
    fn take_in_sources(&mut self, progress: &mut Progress) {
        for _ in 0..2 {
            self.sources = false;
            for ready in self.outbox.sources().ready() {
                self.sources = true;
                // An earlier call may have unwatched it.
                if let Some((source, is_last)) = self.outbox.sources().admit(ready) {
                    self.handler.ready(source, &mut self.outbox);
                    progress.handled = true;
                    if is_last {
                        self.outbox.unwatch(source);
                    }
                }
            }
            if !self.sources {
                return;
            }
        }
        progress.more = true;
    }

    fn take_in_local(&mut self, progress: &mut Progress) {
        let Some(inbox) = self.ways.inbox.take() else {
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
        self.ways.inbox = Some(inbox);
    }

    fn arrive(&mut self, transfer: LocalTransfer) {
        let LocalTransfer { from, header, payload } = transfer;
        self.traffic.transfers_in += 1;
        self.traffic.bytes_in += (header.len() + payload.len()) as u64;
        let received = if payload.is_empty() {
            Received::Bytes(Vec::new())
        } else {
            match self.handler.place(from, &header, payload.len()) {
                Placement::Buffer => Received::Bytes(Vec::from(payload)),
                Placement::At(token) => {
                    self.handler.write(token, 0, &payload);
                    Received::Placed(token)
                }
            }
        };
        self.handler.deliver(from, &header, received, &mut self.outbox);
    }

    /// Sends queued transfers and reports the results to the handler until nothing is left. True: the handler was
    /// called.
    fn settle(&mut self) -> bool {
        let mut called = false;
        loop {
            let Queued { transfers, recycled, nudges } = self.outbox.take();
            for outgoing in transfers {
                called |= self.send(outgoing);
            }
            if let Some(datagrams) = &mut self.ways.datagrams {
                recycled.into_iter().for_each(|buffer| datagrams.recycle(buffer));
            }
            // Before sending, so that replies carry acknowledgements.
            let mut again = self.deliver_events();
            if let Some(rings) = &mut self.ways.rings {
                again |= rings.transmit(&mut self.handler, &mut self.outbox);
            }
            for rank in nudges {
                if matches!(self.peers[rank.index()], Peer::Shm(_)) && !self.nudges.contains(&rank) {
                    self.nudges.push(rank);
                }
            }
            if self.outbox.is_empty()
                && let Some(datagrams) = &mut self.ways.datagrams
            {
                datagrams.transmit(Instant::now(), &mut self.handler);
                again |= self.deliver_events();
            }
            called |= again;
            if !again && self.outbox.is_empty() {
                return called;
            }
        }
    }

    fn deliver_events(&mut self) -> bool {
        let Some(datagrams) = &mut self.ways.datagrams else {
            return false;
        };
        let called = datagrams.deliver_events(&mut self.handler, &mut self.outbox, &mut self.traffic);
        let (messages, lost) = datagrams.messages();
        let Some(rendezvous) = &mut self.rendezvous else {
            return called;
        };
        messages.iter().for_each(|(from, message)| rendezvous.handle_message(*from, message, &mut self.handler));
        lost.iter().for_each(|rank| rendezvous.lose(*rank));
        let effects = rendezvous.effects();
        // A message alone is a reason for the attending thread to poll the carrier.
        let heard = !messages.is_empty() || !effects.is_empty();
        self.apply(effects);
        called | heard
    }

    fn apply(&mut self, Effects { messages, declined, released, broken }: Effects) {
        let datagrams = self.ways.datagrams.as_mut().expect("datagrams exist while a rendezvous does");
        messages.into_iter().for_each(|(to, message)| datagrams.send_message(to, message));
        declined.into_iter().for_each(|Declined { to, header, payload }| datagrams.send(to, header, payload));
        for token in released {
            self.handler.released(token, &mut self.outbox);
        }
        for rank in broken {
            self.handler.peer_lost(rank, Loss::DEATH, &mut self.outbox);
            self.rendezvous.as_mut().expect("the rendezvous exists while its effects are applied").lose(rank);
        }
    }

    /// True: the handler was called.
    fn send(&mut self, outgoing: Outgoing) -> bool {
        let Outgoing { to, header, payload, lazy } = outgoing;
        assert!(to != self.me, "{to} sends a transfer to itself");
        let header = trace::transfer(&self.handler, to, header, payload.len());
        match &self.peers[to.index()] {
            Peer::Unreachable => self.give_back(&payload),
            Peer::Shm(peer) => {
                let rings = self.ways.rings.as_mut().expect("open while peers are reached by them");
                let (header_len, payload_len) = (header.len(), payload.len());
                match rings.send(*peer, Outgoing { to, header, payload, lazy }) {
                    Ok(()) => {
                        self.count_out(header_len, payload_len);
                        false
                    }
                    Err(refused) => self.give_back(&refused.payload),
                }
            }
            Peer::Udp => {
                self.count_out(header.len(), payload.len());
                match &mut self.rendezvous {
                    Some(rendezvous) if rendezvous.takes(to, &payload) => {
                        rendezvous.request_to_send(to, header, payload)
                    }
                    _ => {
                        let datagrams = self.ways.datagrams.as_mut();
                        datagrams.expect("open while peers are reached by it").send(to, header, payload);
                    }
                }
                false
            }
            Peer::Local(address) => {
                let copy = match &payload {
                    Payload::Empty => Some(Bytes::new()),
                    Payload::Bytes(bytes) => Some(bytes.clone()),
                    Payload::Shared(bytes) => Some(Bytes::copy_from_slice(bytes)),
                    Payload::Lent { token, len } => {
                        let mut copy = vec![0; *len];
                        self.handler.read(*token, 0, &mut copy).then(|| Bytes::from(copy))
                    }
                };
                // A withdrawn payload is not sent.
                if let Some(copy) = copy {
                    let from = self.me;
                    address.send(LocalTransfer { from, header: header.clone(), payload: copy });
                    self.count_out(header.len(), payload.len());
                }
                self.give_back(&payload)
            }
        }
    }

    fn count_out(&mut self, header: usize, payload: usize) {
        self.traffic.transfers_out += 1;
        self.traffic.bytes_out += (header + payload) as u64;
    }

    fn give_back(&mut self, payload: &Payload) -> bool {
        let token = payload.token();
        token.inspect(|token| self.handler.released(*token, &mut self.outbox)).is_some()
    }
}
