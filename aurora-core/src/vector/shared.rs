//! The methods by which the kernel calls a vector.

use super::incast::IncastGuard;
use super::loans::VectorLoan;
use super::machine::{Vector, VectorWork};
use super::message::{Asked, Message, Request};
use super::waits::VectorWait;
use crate::Error;
use crate::behaviour::paged::protocol::merge_sums;
use crate::error::ObjectName;
use crate::ids::CallId;
use crate::object::{Awaited, Call, Cx, Holds, Loan, Malformed, Place, SharedObject, Wait};
use crate::scope::{self, Due, Then, Work, answered_by_scopes};
use crate::stats::Kind;
use aurora_net::{Rank, Received};
use std::time::Instant;

impl SharedObject for Vector {
    fn place(&mut self, from: Rank, header: &[u8], len: usize, cx: &Cx<'_>) -> Place {
        match Message::decode(header, &self.dist) {
            Some(Message::Load(message)) => self.place_load(from, message, len, cx),
            Some(Message::Halo(message)) => self.place_edge(from, &message, len, cx),
            Some(Message::Flush(_) | Message::Pages(_)) | None => Place::Buffer,
        }
    }

    /// A loan that has ended is ignored.
    fn write(&mut self, loan: Loan, offset: usize, bytes: &[u8]) {
        let within = |base: usize, len: usize| {
            let end = offset.checked_add(bytes.len()).filter(|end| *end <= len)?;
            Some(base + offset..base + end)
        };
        match self.loans.get(loan) {
            Some(&VectorLoan::CacheIn { epoch, base, len }) => {
                if let Some(place) = within(base, len) {
                    self.load.cache.receive(epoch, place.start, bytes);
                }
            }
            Some(&VectorLoan::EdgeIn { exchange, from }) => self.write_edge(from, exchange, offset, bytes),
            Some(&VectorLoan::RoomIn { owner, epoch, len }) => {
                let slot = self.block.home_mut().and_then(|home| home.cache.slot(owner));
                if let Some((place, slot)) = within(0, len).zip(slot.filter(|slot| slot.is_open_for(epoch))) {
                    slot.write(place.start, bytes);
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, loan: Loan, offset: usize, into: &mut [u8]) -> bool {
        let bytes = match self.loans.get(loan) {
            Some(VectorLoan::Block { base }) => return self.block.copy(base + offset, into),
            Some(VectorLoan::Detached { copy, base }) => copy.bytes().get(base + offset..),
            Some(VectorLoan::CacheOut { serial, base }) => {
                self.load.cache.bytes(*serial).and_then(|bytes| bytes.get(base + offset..))
            }
            _ => None,
        };
        let from = bytes.and_then(|bytes| bytes.get(..into.len()));
        from.map(|bytes| into.copy_from_slice(bytes)).is_some()
    }

    fn released(&mut self, loan: Loan, cx: &mut Cx<'_>) {
        match self.loans.end(loan) {
            Some(VectorLoan::Block { .. }) => {
                self.block.back_from_transfer();
                cx.progress();
                self.scopes.has_changed = true;
            }
            Some(VectorLoan::CacheOut { serial, .. }) => self.load.cache.end_send(serial),
            _ => {}
        }
    }

    fn deliver(&mut self, from: Rank, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed> {
        match Message::decode(header, &self.dist).ok_or(Malformed)? {
            Message::Load(message) => self.deliver_load(from, message, payload, cx),
            Message::Flush(message) => scope::deliver(self, from, message, payload, cx),
            Message::Pages(message) => self.deliver_pages(from, message, payload, cx),
            Message::Halo(message) => {
                self.edge_came(from, message, payload, cx);
                Ok(())
            }
        }
    }

    fn request(&mut self, call: Call, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed> {
        let asked = Asked::decode(header, &self.dist).ok_or(Malformed)?;
        let Call { from, id } = call;
        let is_held = match (&self.incast, &asked.request) {
            (Some(incast), Request::Read { len, owners, .. }) => {
                incast.concerns(len.saturating_mul(self.block.element as u64), *owners)
            }
            _ => false,
        };
        // A write may complete an epoch.
        self.scopes.has_changed |= !asked.request.is_read();
        let (due, then) = (Due::After(asked.request.window(), asked.epoch), Then::Answer(id));
        let work = Work { from, due, then, what: VectorWork::Call(asked) };
        match self.incast.as_mut().filter(|_| is_held) {
            Some(incast) => {
                let now = cx.now();
                incast.hold(now, from, (work, payload));
                self.release_incast(now, cx);
            }
            None => drop(scope::work(self, work, payload, cx)),
        }
        Ok(())
    }

    /// The owner has applied a write; the answer is its write mark.
    fn reply(&mut self, _: CallId, from: Rank, answer: Result<&[u8], &Error>, _: &mut Cx<'_>) -> Result<(), Malformed> {
        let is_known = answer.map_or(true, |answer| self.writes.answered(from, answer));
        if is_known { Ok(()) } else { Err(Malformed) }
    }

    fn advance(&mut self, cx: &mut Cx<'_>) {
        if self.scopes.has_changed || self.block.is_leaving() || !self.load.pending.is_empty() {
            self.go_on(cx);
        }
    }

    fn failed(&mut self, cx: &mut Cx<'_>) {
        self.scopes.failed(cx);
    }

    fn shut(&mut self) {
        self.set_permit(false, &[]);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let answers = self.incast.as_ref().and_then(IncastGuard::poll_timeout);
        let pushes = self.pages.as_ref().and_then(|pages| pages.next_step());
        [answers, pushes, self.block.next_step(), self.scopes.poll_timeout()].into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Instant, cx: &mut Cx<'_>) {
        self.release_incast(now, cx);
        self.scopes.has_changed |= self.pages.as_ref().is_some_and(|pages| pages.next_step().is_some());
        self.scopes.handle_timeout();
    }

    fn arrive(&mut self, _: &mut Cx<'_>) -> Vec<u8> {
        self.arrive_with_pages()
    }

    /// Adds up the words of ranks.
    fn merge(&self, all: &mut Vec<u8>, more: &[u8]) {
        merge_sums(all, more);
    }

    fn depart(&mut self, all: &[u8], cx: &mut Cx<'_>) {
        self.depart_with_pages(all, cx);
    }

    /// A faulty vector does not wait for its loads: no rank needs them, and there may be no memory for them.
    fn is_idle(&self, faulty: bool) -> bool {
        let is_sent = |loan: &VectorLoan| matches!(loan, VectorLoan::Block { .. } | VectorLoan::Detached { .. });
        !self.loans.values().any(is_sent) && (faulty || self.scopes.is_idle() && !self.load.cache.is_in_flight())
    }

    fn awaits(&self, wait: Wait, name: &ObjectName) -> Awaited {
        let (wait, me) = (wait.into(), self.scopes.ledger.me());
        // Data of this rank itself arrive without help of its program.
        let ranks = self.awaited(wait).into_iter().filter(|rank| *rank != me).collect();
        Awaited { ranks, doing: self.doing(wait, name) }
    }

    answered_by_scopes!();

    fn holds(&self, held: &mut Holds<'_>) {
        self.what_is_held(held);
    }

    fn wait_kind(&self, wait: Wait) -> Kind {
        match wait.into() {
            VectorWait::Load(_) => Kind::Load,
            VectorWait::Halo => Kind::Halo,
            VectorWait::Gate => Kind::Gate,
            VectorWait::Pages => Kind::Page,
            VectorWait::Scope(_) => self.scopes.writing(),
        }
    }

    fn watch_looks(&self) {
        self.block.permit.watch();
    }

    fn describe(&self, header: &[u8], is_request: bool) -> &'static str {
        if !is_request {
            return Message::decode(header, &self.dist).map_or("message", |message| message.kind().name());
        }
        match Asked::decode(header, &self.dist).map(|asked| asked.request) {
            Some(Request::Write { .. } | Request::WriteAt { .. }) => "write",
            Some(Request::Read { .. } | Request::ReadMany { .. }) => "read",
            Some(Request::Pages { .. }) => "pages",
            _ => Kind::Access.name(),
        }
    }
}

impl Vector {
    #[inline(never)]
    fn go_on(&mut self, cx: &mut Cx<'_>) {
        self.take_announcements(cx);
        self.leave(cx);
        while self.scopes.has_changed {
            self.advance_scopes(cx);
            // A write may have to wait until the block has left.
            self.leave(cx);
            self.advance_pages(cx);
        }
    }

    /// Does a step of the block's move away from its readers, if it moves.
    fn leave(&mut self, cx: &mut Cx<'_>) {
        match self.block.leave(|| cx.now()) {
            Ok(false) => {}
            Ok(true) => {
                self.scopes.has_changed = true;
                cx.progress();
            }
            Err(shortage) => {
                let made_at = cx.frame.name.made_at.clone();
                cx.no_memory(shortage, "a copy of its block, which other ranks still read,", &made_at);
            }
        }
    }

    fn release_incast(&mut self, now: Instant, cx: &mut Cx<'_>) {
        let released = self.incast.as_mut().map(|incast| incast.release(now));
        for (work, payload) in released.into_iter().flatten() {
            scope::work(self, work, payload, cx);
        }
    }
}
