//! The fate of sent packets: acknowledgement, loss, probes.

use super::path_mtu::PathMtu;
use super::rtt::Rtt;
use super::send_queue::SendQueue;
use super::sent::{Content, SentPackets};
use super::window::Window;
use super::{Config, Counters, DatagramError, Instant};
use crate::charge::charge;
use crate::wire::{Ack, PacketNumber};

/// After this many unanswered probes the congestion window closes.
const COLLAPSE: u32 = 3;

#[derive(Debug)]
pub(super) struct Recovery {
    sent: SentPackets,
    pub(super) rtt: Rtt,
    pub(super) window: Window,
    pub(super) path: PathMtu,
    /// Packets of the peer below this number carry an outdated window.
    granted_by: u64,
    /// Probe time-outs since the last acknowledgement.
    backoff: u32,
    /// Packets that may leave even if the window is full.
    probes: u32,
}

impl Recovery {
    pub(super) fn new(config: &Config) -> Self {
        Recovery {
            sent: SentPackets::default(),
            rtt: Rtt::default(),
            window: Window::new(config),
            path: PathMtu::new(config),
            granted_by: 0,
            backoff: 0,
            probes: 0,
        }
    }

    /// The next packet's number, and that of the oldest packet in flight.
    pub(super) fn numbers(&self) -> (PacketNumber, PacketNumber) {
        (self.sent.next(), self.sent.floor())
    }

    pub(super) fn is_in_flight(&self) -> bool {
        self.sent.in_flight() > 0
    }

    /// True if the next packet is a probe, which leaves even if the window is full.
    pub(super) fn is_probing(&self) -> bool {
        self.probes > 0
    }

    /// The length of an MTU probe that should precede further bulk data. True: the window has room for it.
    pub(super) fn mtu_probe(&self, now: Instant) -> Option<(usize, bool)> {
        let len = self.path.candidate(now).filter(|_| !self.is_probing())?;
        Some((len, self.window.has_room_for(now, charge(len) as u64)))
    }

    pub(super) fn on_mtu_probe(&mut self, now: Instant, len: usize) {
        self.path.on_probe_sent(now, len);
        self.on_sent(now, len, true, Content::Probe);
    }

    /// A packet of `len` bytes has been built. `eliciting`: it asks for an acknowledgement.
    pub(super) fn on_sent(&mut self, now: Instant, len: usize, eliciting: bool, content: Content) {
        let charge = charge(len) as u64;
        self.sent.push(now, charge as u32, self.path.is_long(len), eliciting, content);
        if eliciting {
            self.window.on_sent(charge);
            self.probes = self.probes.saturating_sub(1);
        }
    }

    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        number: PacketNumber,
        ack: &Ack<'_>,
        queue: &mut SendQueue,
        counters: &mut Counters,
    ) -> Result<(), DatagramError> {
        let next = self.sent.next();
        if ack.largest >= next {
            return Err(DatagramError::Malformed { frame: "ACK" });
        }
        if number.0 >= self.granted_by {
            self.granted_by = number.0 + 1;
            self.path.grant(u64::from(ack.window));
            self.window.set_mtu(self.path.size());
            self.window.grant(u64::from(ack.window), ack.sources);
        }
        let acked = (self.sent).on_ack(ack.ranges(), |frame| queue.on_acked(frame));
        let Some((newest, sent_at)) = acked.newest else {
            return Ok(());
        };
        if newest == ack.largest.0 {
            self.rtt.sample(now - sent_at, ack.delay);
        }
        self.backoff = 0;
        if acked.probe {
            self.path.on_probe_arrived(now);
        }
        if acked.long {
            self.path.on_arrived();
        }
        self.window.on_acked(now, acked.charge, newest, now - sent_at, next.0);
        self.detect_losses(now, queue, counters);
        Ok(())
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.sent.loss_at().or_else(|| self.probe_at())
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, queue: &mut SendQueue, counters: &mut Counters) {
        self.window.handle_timeout(now);
        match self.sent.loss_at() {
            Some(loss_at) if loss_at <= now => self.detect_losses(now, queue, counters),
            Some(_) => {}
            None if self.probe_at().is_some_and(|at| at <= now) => self.probe(counters),
            None => {}
        }
    }

    /// The last bulk data has left. One more packet follows at once: its acknowledgement tells whether the last data
    /// packets have arrived. A time-out would be late while much data waits in this rank's own interface.
    pub(super) fn ask(&mut self) {
        self.probes = self.probes.max(1);
    }

    pub(super) fn clear(&mut self) {
        self.sent = SentPackets::default();
        self.probes = 0;
    }

    fn detect_losses(&mut self, now: Instant, queue: &mut SendQueue, counters: &mut Counters) {
        let delay = self.rtt.loss_delay();
        let lost = (self.sent).detect_losses(now, delay, |frame| queue.on_lost(frame));
        if let Some(charge) = lost.probe {
            // The loss concerns packets of this length and is no sign of congestion.
            self.path.on_probe_lost(now);
            self.window.on_probe_lost(charge);
        }
        let next = self.sent.next().0;
        if let Some(number) = lost.long {
            self.path.on_lost(now, number, next);
        }
        if lost.packets > 0 {
            counters.packets_lost += lost.packets;
            self.window.on_lost(lost.charge, next);
        }
        self.window.set_mtu(self.path.size());
    }

    /// Nothing has been acknowledged for too long: sends a probe, even if the window is full. The packets may only
    /// wait in this rank's own interface, so none counts as lost before the reply. The second and later probes are
    /// two packets, since the path loses much.
    fn probe(&mut self, counters: &mut Counters) {
        counters.probes += 1;
        self.probes = if self.backoff == 0 { 1 } else { 2 };
        self.backoff += 1;
        if self.backoff == COLLAPSE {
            self.window.collapse();
        }
    }

    /// The time at which to probe, unless a probe is already about to be sent.
    fn probe_at(&self) -> Option<Instant> {
        let is_due = self.is_in_flight() && self.probes == 0;
        is_due.then(|| self.sent.last_eliciting() + self.rtt.probe_timeout(self.backoff))
    }
}
