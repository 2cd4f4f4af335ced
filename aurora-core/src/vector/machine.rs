//! A vector as its rank's kernel calls it: the core, and the protocols of its behaviours.

use super::asking::GATE;
use super::core::VectorCore;
use super::incast::IncastGuard;
use super::message::{Asked, Request, SCOPES, Written};
use super::protocol::{Numbered, Protocol, Protocols};
use crate::ids::CallId;
use crate::kernel::Core;
use crate::object::{Awaited, Call, Cx, Holds, Loan, Malformed, Place, SharedObject, Wait};
use crate::ops::OpId;
use crate::scope::{self, Due, ScopeMessage, ScopeWait, Then, Work, answered_by_scopes};
use crate::{Error, Kind, ObjectName};
use aurora_net::{Rank, Received};
use std::time::Instant;

/// A piece of work for a rank's block.
#[derive(Debug)]
pub(crate) enum VectorWork {
    Call(Asked),
    /// A batch of writes, or of updates by an operation.
    Batch(Option<OpId>),
    /// Work of a protocol, with the number that the protocol has given it.
    Of {
        protocol: u8,
        number: u64,
    },
}

impl From<Written> for VectorWork {
    fn from(batch: Written) -> Self {
        match batch {
            Written::Values => VectorWork::Batch(None),
            Written::Operands(op) => VectorWork::Batch(Some(op)),
            Written::Of(protocol) => VectorWork::Of { protocol, number: 0 },
        }
    }
}

/// A rank's part of a vector.
pub(crate) struct Vector {
    pub(super) core: VectorCore,
    pub(super) protocols: Protocols,
    /// The time at which a protocol goes on.
    next_step: Option<Instant>,
    /// Holds back bulk reads that come at once; only between nodes, because only a switch overflows.
    incast: Option<IncastGuard<(Work<VectorWork>, Received)>>,
}

impl Vector {
    pub(crate) fn new(kernel: &Core, core: VectorCore, protocols: Protocols) -> Self {
        let incast = kernel.between_nodes.then(|| IncastGuard::new(kernel.me, kernel.size));
        Vector { core, protocols, next_step: None, incast }
    }

    pub(crate) fn core(&mut self) -> &mut VectorCore {
        &mut self.core
    }

    /// The state of a protocol, and the core.
    pub(crate) fn with<P: Numbered>(&mut self) -> (&mut P, &mut VectorCore) {
        (self.protocols.of::<P>(), &mut self.core)
    }

    /// Frees the memory of copies, in a call that all ranks make.
    pub(crate) fn release_memory(&mut self) {
        self.protocols.iter_mut().for_each(|protocol| protocol.release_memory(&mut self.core));
    }

    /// The protocol of a header, the core, and the rest of the header.
    fn protocol<'v, 'h>(
        &'v mut self,
        header: &'h [u8],
    ) -> Option<(&'v mut dyn Protocol, &'v mut VectorCore, &'h [u8])> {
        let (number, header) = header.split_first()?;
        Some((self.protocols.get_mut(*number)?, &mut self.core, header))
    }

    pub(super) fn catch_up(&mut self, cx: &mut Cx<'_>) {
        self.protocols.iter_mut().for_each(|protocol| protocol.catch_up(&mut self.core, cx));
    }

    #[inline(never)]
    fn go_on(&mut self, cx: &mut Cx<'_>) {
        self.core.leave(cx);
        while self.core.scopes.has_changed {
            scope::advance(self, cx);
            self.protocols.iter_mut().for_each(|protocol| protocol.advance(&mut self.core, cx));
            self.core.refresh_permit(cx);
            let _ = cx.none_given_up();
            // A write may have to wait until the block has left.
            self.core.leave(cx);
        }
        self.next_step = self.protocols.iter().filter_map(Protocol::poll_timeout).min();
    }

    fn release_incast(&mut self, now: Instant, cx: &mut Cx<'_>) {
        let released = self.incast.as_mut().map(|incast| incast.release(now));
        for (work, payload) in released.into_iter().flatten() {
            scope::work(self, work, payload, cx);
        }
    }

    /// The protocol of a wait, and the wait's detail.
    fn protocol_of(&self, wait: Wait) -> Option<(&dyn Protocol, u64)> {
        let (class, detail) = ScopeWait::of(wait).err()?;
        Some((self.protocols.get(class as u8)?, detail))
    }
}

impl SharedObject for Vector {
    fn place(&mut self, from: Rank, header: &[u8], len: usize, cx: &Cx<'_>) -> Place {
        self.protocol(header)
            .map_or(Place::Buffer, |(protocol, core, header)| protocol.place(core, from, header, len, cx))
    }

    fn write(&mut self, loan: Loan, offset: usize, bytes: &[u8]) {
        if let Some(protocol) = self.protocols.get_mut(loan.tag()) {
            protocol.write(&mut self.core, loan, offset, bytes);
        }
    }

    fn read(&mut self, loan: Loan, offset: usize, into: &mut [u8]) -> bool {
        match self.protocols.get(loan.tag()) {
            Some(protocol) => protocol.read(loan, offset, into),
            None => self.core.read_loan(loan, offset, into),
        }
    }

    fn released(&mut self, loan: Loan, cx: &mut Cx<'_>) {
        match self.protocols.get_mut(loan.tag()) {
            Some(protocol) => protocol.released(loan),
            None => self.core.end_loan(loan, cx),
        }
    }

    fn deliver(&mut self, from: Rank, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed> {
        if let Some((&SCOPES, message)) = header.split_first() {
            let message = postcard::from_bytes(message).map_err(|_| Malformed)?;
            return scope::deliver(self, from, message, payload, cx);
        }
        let (protocol, core, header) = self.protocol(header).ok_or(Malformed)?;
        if let Some((work, payload)) = protocol.deliver(core, from, header, payload, cx)? {
            scope::work(self, work, payload, cx);
        }
        Ok(())
    }

    fn request(&mut self, call: Call, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed> {
        let asked = Asked::decode(header, &self.core.dist).ok_or(Malformed)?;
        let Call { from, id } = call;
        let is_held = match (&self.incast, &asked.request) {
            (Some(incast), Request::Read { len, owners, .. }) => {
                incast.concerns(len.saturating_mul(self.core.block.element as u64), *owners)
            }
            _ => false,
        };
        // A write may complete an epoch.
        self.core.scopes.has_changed |= !asked.request.is_read();
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
        let is_known = answer.map_or(true, |answer| self.core.writes.answered(from, answer));
        if is_known { Ok(()) } else { Err(Malformed) }
    }

    fn advance(&mut self, cx: &mut Cx<'_>) {
        if self.core.scopes.has_changed || self.core.block.is_leaving() {
            self.go_on(cx);
        }
    }

    fn failed(&mut self, cx: &mut Cx<'_>) {
        self.core.scopes.failed(cx);
    }

    fn shut(&mut self) {
        self.core.set_permit(false, &[]);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let answers = self.incast.as_ref().and_then(IncastGuard::poll_timeout);
        let (leaving, work) = (self.core.block.next_step(), self.core.scopes.poll_timeout());
        [answers, self.next_step, leaving, work].into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Instant, cx: &mut Cx<'_>) {
        self.release_incast(now, cx);
        self.core.scopes.has_changed |= self.next_step.is_some();
        self.core.scopes.handle_timeout();
    }

    fn arrive(&mut self, _: &mut Cx<'_>) -> Vec<u8> {
        self.protocols.iter_mut().map(Protocol::arrive).find(|word| !word.is_empty()).unwrap_or_default()
    }

    fn merge(&self, all: &mut Vec<u8>, more: &[u8]) {
        self.protocols.iter().for_each(|protocol| protocol.merge(all, more));
    }

    fn depart(&mut self, all: &[u8], cx: &mut Cx<'_>) {
        self.protocols.iter_mut().for_each(|protocol| protocol.depart(&mut self.core, all, cx));
    }

    /// A faulty vector does not wait for its protocols: no rank needs their data, and there may be no memory for them.
    fn is_idle(&self, faulty: bool) -> bool {
        let is_idle = || self.core.scopes.is_idle() && self.protocols.iter().all(Protocol::is_idle);
        !self.core.is_sent() && (faulty || is_idle())
    }

    fn awaits(&self, wait: Wait, name: &ObjectName) -> Awaited {
        let (awaited, doing) = match (ScopeWait::of(wait), self.protocol_of(wait)) {
            (Ok(wait), _) => (self.core.scopes.awaited(wait), self.core.scopes.doing(wait, name)),
            (_, Some((protocol, detail))) => {
                (protocol.awaits(&self.core, detail), protocol.doing(&self.core, detail, name))
            }
            (_, None) => {
                let readers = format!("waits until transfers from {name} are acknowledged, or its readers have left");
                (Vec::new(), readers)
            }
        };
        // Data of this rank itself arrive without help of its program.
        let me = self.core.me();
        Awaited { ranks: awaited.into_iter().filter(|rank| *rank != me).collect(), doing }
    }

    answered_by_scopes!();

    /// The parked work, and the work of protocols in the background.
    fn holds(&self, held: &mut Holds<'_>) {
        scope::holds(self, held);
        self.protocols.iter().for_each(|protocol| protocol.holds(&self.core, held));
    }

    fn wait_kind(&self, wait: Wait) -> Kind {
        match self.protocol_of(wait) {
            Some((protocol, _)) => protocol.kind(),
            None if wait == GATE => Kind::Gate,
            None => self.core.scopes.writing(),
        }
    }

    fn watch_looks(&self) {
        self.core.block.permit.watch();
    }

    fn describe(&self, header: &[u8], is_request: bool) -> &'static str {
        if is_request {
            return match Asked::decode(header, &self.core.dist).map(|asked| asked.request) {
                Some(Request::Write { .. } | Request::WriteAt { .. }) => "write",
                Some(Request::Read { .. } | Request::ReadMany { .. }) => "read",
                Some(Request::Of { protocol, .. }) => {
                    self.protocols.get(protocol).map_or("request", |of| of.kind().name())
                }
                _ => Kind::Access.name(),
            };
        }
        match header.split_first() {
            Some((&SCOPES, message)) => {
                let message = postcard::from_bytes::<ScopeMessage<Written>>(message);
                message.map_or("message", |message| message.kind().name())
            }
            Some((number, _)) => self.protocols.get(*number).map_or("message", |of| of.kind().name()),
            None => "message",
        }
    }
}
