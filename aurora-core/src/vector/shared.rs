//! A vector as its kernel calls it.

use super::incast::IncastGuard;
use super::machine::{Parked, Vector, Work};
use super::message::{Message, Request};
use crate::epoch::{Ends, defer_lost_writes};
use crate::error::{Claim, ObjectName};
use crate::kernel::Loan;
use crate::kernel::watch::{Relay, Wait};
use crate::object::{Called, Cx, Frame, Malformed, Obstacle, SharedObject};
use crate::stats::Kind;
use aurora_net::{Placement, Rank, Received};
use std::time::Instant;

impl SharedObject for Vector {
    fn place(&mut self, from: Rank, header: &[u8], len: usize, cx: &mut Cx<'_>) -> Placement {
        match Message::decode(header, &self.dist) {
            Some(Message::Load(message)) => self.place_load(from, message, len, cx),
            Some(Message::Halo(message)) => self.place_edge(from, &message, len, cx),
            Some(Message::Flush(_)) | None => Placement::Buffer,
        }
    }

    fn placed(&mut self, cx: &mut Cx<'_>) {
        self.take_announcements(cx);
    }

    fn write(&mut self, loan: &Loan, offset: usize, bytes: &[u8]) {
        let within = |base: usize, len: usize| {
            let end = offset.checked_add(bytes.len()).filter(|end| *end <= len)?;
            Some(base + offset..base + end)
        };
        match *loan {
            Loan::CacheIn { epoch, base, len, .. } => {
                if let Some(place) = within(base, len) {
                    self.load.cache.receive(epoch, place.start, bytes);
                }
            }
            Loan::EdgeIn { exchange, from, .. } => self.write_edge(from, exchange, offset, bytes),
            Loan::RoomIn { owner, epoch, len, .. } => {
                let slot = self.block.home().and_then(|home| home.cache.slot(owner));
                if let Some((place, slot)) = within(0, len).zip(slot.filter(|slot| slot.is_open_for(epoch))) {
                    slot.write(place.start, bytes);
                }
            }
            _ => {}
        }
    }

    fn read(&self, loan: &Loan, offset: usize, into: &mut [u8]) -> bool {
        match *loan {
            Loan::Block { base, .. } => self.block.copy(base + offset, into),
            Loan::CacheOut { serial, base, .. } => {
                let from =
                    self.load.cache.bytes(serial).and_then(|bytes| bytes.get(base + offset..)?.get(..into.len()));
                from.map(|bytes| into.copy_from_slice(bytes)).is_some()
            }
            _ => false,
        }
    }

    fn released(&mut self, loan: &Loan, cx: &mut Cx<'_>) {
        match *loan {
            Loan::Block { .. } => {
                self.block.back_from_transfer();
                cx.progress();
                self.advance(cx);
            }
            Loan::CacheOut { serial, .. } => self.load.cache.end_send(serial),
            _ => {}
        }
    }

    fn deliver(&mut self, from: Rank, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed> {
        match Message::decode(header, &self.dist).ok_or(Malformed)? {
            Message::Load(message) => self.deliver_load(from, message, payload, cx),
            Message::Flush(message) => self.deliver_flush(from, message, payload, cx),
            Message::Halo(message) => {
                self.edge_came(from, message, payload, cx);
                Ok(())
            }
        }
    }

    fn request(&mut self, call: Called, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed> {
        let asked = Request::decode(header, &self.dist).ok_or(Malformed)?;
        let Called { from, id } = call;
        let is_held = match (&self.incast, &asked.request) {
            (Some(incast), Request::Read { len, owners, .. }) => {
                incast.concerns(len.saturating_mul(self.block.element as u64), *owners)
            }
            _ => false,
        };
        let parked = Parked { from, work: Work::Call { id, asked }, payload };
        match self.incast.as_mut().filter(|_| is_held) {
            Some(incast) => {
                let now = Instant::now();
                incast.hold(now, from, parked);
                self.end_rally(now, cx);
            }
            None => self.serve_now(parked, cx),
        }
        Ok(())
    }

    fn replied(&mut self, from: Rank, answer: &[u8]) -> Result<(), Malformed> {
        if self.load.write_marks.answered(from, answer) { Ok(()) } else { Err(Malformed) }
    }

    fn failed(&mut self, cx: &mut Cx<'_>) {
        defer_lost_writes(&self.ledger, cx);
        self.advance(cx);
    }

    fn refresh(&mut self, frame: &Frame, usable: bool) {
        self.refresh_permit(frame, usable);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.incast.as_ref().and_then(IncastGuard::poll_timeout)
    }

    fn handle_timeout(&mut self, now: Instant, cx: &mut Cx<'_>) {
        self.end_rally(now, cx);
    }

    fn entered(&self) -> u64 {
        self.ledger.epoch
    }

    fn digest(&self) -> u64 {
        self.ledger.entered()
    }

    fn claim(&self, name: &ObjectName) -> Claim {
        self.ledger.last_claim(name)
    }

    fn drop_notice(&mut self, cx: &mut Cx<'_>) -> Vec<u8> {
        self.compare_ends(cx);
        Ends::notice(&self.ledger)
    }

    fn peer_dropped(&mut self, from: Rank, notice: &[u8], cx: &mut Cx<'_>) -> Result<(), Malformed> {
        let len = self.dist.len();
        if !self.ends.note(from, notice, |last| last.window.is_of(len)) {
            return Err(Malformed);
        }
        self.compare_ends(cx);
        Ok(())
    }

    /// Of a faulty one nobody misses a load that is under way, and its memory may be what is short.
    fn is_idle(&self, frame: &Frame) -> bool {
        !self.block.is_in_flight() && (frame.fault.is_some() || !self.load.cache.is_in_flight())
    }

    fn awaits(&self, wait: Wait) -> Vec<Rank> {
        self.waits_for(wait)
    }

    fn doing(&self, wait: Wait, name: &str) -> String {
        self.wait_text(wait, name)
    }

    fn relay(&self) -> Option<Relay> {
        self.background_load()
    }

    fn parked(&self, held: &mut dyn FnMut(Rank, Obstacle)) {
        self.parked.iter().for_each(|parked| held(parked.from, self.obstacle(parked.from, &parked.work)));
    }

    fn wait_kind(&self, wait: Wait) -> Kind {
        match wait {
            Wait::Load { .. } => Kind::Load,
            Wait::Halo { .. } => Kind::Halo,
            Wait::Gate { .. } => Kind::Gate,
            Wait::Calls { action, .. } => Kind::of_action(action),
            _ => self.writing(),
        }
    }

    fn watch_looks(&self) {
        self.block.permit.watch();
    }

    fn describe(&self, header: &[u8], is_request: bool) -> &'static str {
        if !is_request {
            return Message::decode(header, &self.dist).map_or("message", |message| message.kind().name());
        }
        match Request::decode(header, &self.dist).map(|asked| asked.request) {
            Some(Request::Write { .. } | Request::WriteAt { .. }) => "write",
            Some(Request::Read { .. } | Request::ReadMany { .. }) => "read",
            _ => Kind::of_action("").name(),
        }
    }
}

impl Vector {
    fn compare_ends(&self, cx: &mut Cx<'_>) {
        let gone = cx.frame.dropped[cx.core.me.index()];
        let error = self.ends.compare(&self.ledger, &cx.frame.name, gone).filter(|_| cx.is_sound());
        error.into_iter().for_each(|error| cx.defer(error));
    }

    fn end_rally(&mut self, now: Instant, cx: &mut Cx<'_>) {
        let released = self.incast.as_mut().map(|incast| incast.release(now));
        released.into_iter().flatten().for_each(|parked| self.serve_now(parked, cx));
    }

    fn serve_now(&mut self, parked: Parked, cx: &mut Cx<'_>) {
        self.work(parked, cx);
        // A write may complete a block that is being settled.
        self.advance(cx);
    }
}
