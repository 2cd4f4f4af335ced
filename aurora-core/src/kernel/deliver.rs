//! What arrives: the kernel as the transport's handler.

use super::watch::RankState;
use super::{Kernel, Loan};
use crate::Error;
use crate::collective::Summary;
use crate::ids::{CallId, ObjectId};
use crate::kernel::message::{Message, Request, decode_error, malformed};
use crate::vector::object::{Parked, Work};
use crate::vector::rally::Rally;
use crate::window::Window;
use aurora_net::{Handler, Outbox, Payload, Placement, Rank, Received, Token};
use std::time::{Duration, Instant};

impl Handler for Kernel {
    fn has_failed(&self) -> bool {
        self.core.fault.is_some()
    }

    fn place(&mut self, from: Rank, header: &[u8], len: usize) -> Placement {
        match self.decode(header) {
            Some(Message::Reply { id, .. }) if !self.core.calls.contains_key(&id) => self.discard(),
            Some(Message::Reply { id, refused: false }) => {
                let landing = self.core.calls.get(&id).and_then(|call| call.landing);
                let fits = |token: &Token| matches!(self.core.loans.get(*token), Some(Loan::CallerMut(lent)) if lent.len() == len);
                landing.filter(fits).map_or(Placement::Buffer, Placement::At)
            }
            Some(message) if message.has_place() => {
                let id = message.object().expect("it is about an object");
                // Nothing can be sent at this moment, so nothing is.
                let mut nothing = Outbox::default();
                self.core.placed.push(id);
                let placed = self.with(id, &mut nothing, |object, cx| object.place(from, message, len, cx));
                placed.unwrap_or_else(|| self.discard())
            }
            _ => Placement::Buffer,
        }
    }

    fn write(&mut self, token: Token, offset: usize, bytes: &[u8]) {
        match self.core.loans.get_mut(token) {
            Some(Loan::CallerMut(lent)) => {
                lent.write(offset, bytes);
            }
            Some(loan) => {
                if let Some(entry) = loan.object().and_then(|id| self.objects.get_mut(&id)) {
                    entry.machine.write_loan(loan, offset, bytes);
                }
            }
            None => {}
        }
    }

    fn read(&mut self, token: Token, offset: usize, into: &mut [u8]) -> bool {
        match self.core.loans.get(token) {
            Some(Loan::Caller(lent)) => lent.read(offset, into),
            Some(Loan::Detached { copy, base }) => {
                let from = copy.bytes().get(base + offset..).and_then(|bytes| bytes.get(..into.len()));
                from.map(|bytes| into.copy_from_slice(bytes)).is_some()
            }
            Some(loan) => {
                let object = loan.object().and_then(|id| self.objects.get(&id));
                object.is_some_and(|entry| entry.machine.read_loan(loan, offset, into))
            }
            None => false,
        }
    }

    fn deliver(&mut self, from: Rank, header: &[u8], payload: Received, out: &mut Outbox) {
        let Some(message) = self.decode(header) else {
            return self.fail_job(malformed(from), out);
        };
        let _span = crate::trace::deliver(from, &message, payload.bytes().len());
        self.hear(out);
        if message.is_counted() {
            self.core.mail.received[from.index()] += 1;
            self.core.watch.progress();
        }
        match message {
            Message::Round { seq, round } => match postcard::from_bytes::<Summary>(payload.bytes()) {
                Ok(summary) => {
                    let mut told = Vec::new();
                    self.core.rendezvous.hear(seq, round, summary, &mut told);
                    self.core.tell(told, out);
                }
                Err(_) => self.fail_job(malformed(from), out),
            },
            Message::Piece { seq, step } => {
                let current = self.core.rendezvous.seq();
                if !self.core.pieces.hear(current, (seq, step), from, payload.into_vec()) {
                    self.fail_job(malformed(from), out);
                }
            }
            Message::Call { id, object, epoch, request } => {
                let held = self.rallies(object, &request);
                let parked = Parked { from, work: Work::Call { id, epoch, request }, payload };
                match self.core.rally.as_mut().filter(|_| held) {
                    Some(rally) => {
                        rally.hold(Instant::now(), from, (object, parked));
                        self.end_rally(Instant::now(), out);
                    }
                    None => self.serve(object, parked, out),
                }
            }
            Message::Reply { id, refused } => self.replied(from, id, refused, payload),
            Message::Dropped { object, scopes } => {
                self.core.farewells[from.index()] += 1;
                self.with(object, out, |object, cx| {
                    cx.frame.dropped[from.index()] = true;
                    object.ends[from.index()] = scopes;
                    object.compare_ends(cx);
                });
                self.bury(object);
            }
            Message::Left { dropped } => self.core.left[from.index()] = Some(dropped),
            Message::Fault { object } => {
                let error = decode_error(from, payload.bytes());
                self.note_fault(object, &error, out);
            }
            Message::Ask { look } => {
                self.core.polling.is_asked(look);
                let state = postcard::to_allocvec(&self.state()).expect("states are plain data");
                self.core.mail.post(out, from, &Message::State { look }, Payload::Bytes(state.into()));
            }
            Message::State { look } => match postcard::from_bytes::<RankState>(payload.bytes()) {
                Ok(RankState { idle, .. }) if self.heard_of_idle(from, look, idle) => {}
                Ok(state) => {
                    let mut acts = Vec::new();
                    self.core.watch.heard(Instant::now(), from, look, state, &mut acts);
                    self.act(acts, out);
                }
                Err(_) => self.fail_job(malformed(from), out),
            },
            Message::AskTime { sent } => self.tell_time(from, sent, out),
            Message::Time { sent, here, machine } => self.heard_time(sent, here, machine),
            Message::Report => self.reported(from, payload.bytes(), out),
            message => {
                let id = message.object().expect("all others are about an object");
                self.with(id, out, |object, cx| object.deliver(from, message, payload, cx));
            }
        }
    }

    fn describe(&self, header: &[u8]) -> String {
        match self.decode(header) {
            Some(message) => {
                let object = message.object().and_then(|id| self.objects.get(&id));
                object
                    .map_or(message.word().into(), |object| format!("{} of {}", message.word(), object.frame.name.what))
            }
            None => String::new(),
        }
    }

    fn released(&mut self, token: Token, out: &mut Outbox) {
        let Some(loan) = self.core.loans.end(token) else {
            return;
        };
        if let Some(id) = loan.object() {
            self.with(id, out, |object, cx| object.released(&loan, cx));
            self.bury(id);
        }
    }

    fn peer_lost(&mut self, rank: Rank, silent_for: Duration, out: &mut Outbox) {
        if !(self.core.ended || self.core.leaving && self.has_left(rank)) {
            self.fail_job(Error::PeerLost { rank, silent_for }, out);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let rally = self.core.rally.as_ref().and_then(Rally::poll_timeout);
        [self.core.watch.poll_timeout(), rally, self.next_tick()].into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Instant, out: &mut Outbox) {
        if self.core.watch.poll_timeout().is_some_and(|at| at <= now) {
            self.look(now, out);
        }
        self.end_rally(now, out);
        self.tick(now, out);
    }
}

impl Kernel {
    /// What arrives is of no use to anybody, and may be as long as a block.
    fn discard(&mut self) -> Placement {
        Placement::At(self.core.loans.add(Loan::Nowhere))
    }

    /// Objects to which headers have come act on them.
    pub(crate) fn hear(&mut self, out: &mut Outbox) {
        for id in std::mem::take(&mut self.core.placed) {
            self.with(id, out, |object, cx| object.hear(cx));
        }
    }

    /// Does a piece of work on an object, or parks it there.
    fn serve(&mut self, object: ObjectId, parked: Parked, out: &mut Outbox) {
        self.with(object, out, |object, cx| {
            object.work(parked, cx);
            // A write may complete a block that is being settled.
            object.advance(cx);
        });
    }

    /// Whether a request is to wait for those of other ranks.
    fn rallies(&self, object: ObjectId, request: &Request) -> bool {
        let (Some(rally), Some(object)) = (&self.core.rally, self.objects.get(&object)) else {
            return false;
        };
        match *request {
            Request::Read { len, owners, .. } => {
                rally.concerns(len.saturating_mul(object.machine.block.element as u64), owners)
            }
            _ => false,
        }
    }

    fn end_rally(&mut self, now: Instant, out: &mut Outbox) {
        let released = self.core.rally.as_mut().map(|rally| rally.release(now));
        for (object, parked) in released.into_iter().flatten() {
            self.serve(object, parked, out);
        }
    }

    /// What a header says, if that can be.
    fn decode(&self, header: &[u8]) -> Option<Message> {
        let message = Message::decode(header)?;
        let is_there = |(object, window): (ObjectId, Window)| {
            self.objects.get(&object).is_none_or(|object| window.is_of(object.machine.dist.len()))
        };
        message.window().is_none_or(is_there).then_some(message)
    }

    fn replied(&mut self, from: Rank, id: CallId, refused: bool, mut payload: Received) {
        let Some(call) = self.core.calls.get_mut(&id) else {
            // The answer to a call that was given up is of no interest.
            if let Received::Placed(token) = payload {
                self.core.loans.end(token);
            }
            return;
        };
        if call.ahead {
            // It may be long until somebody takes it, and its sender has other use for the memory.
            payload.detach();
        }
        let written = call.writes.filter(|_| !refused).and_then(|object| self.objects.get_mut(&object));
        let numbered = written.map(|object| object.machine.writes.answered(from, payload.bytes()));
        if numbered == Some(false) {
            call.reply = Some(Err(malformed(from)));
            return;
        }
        call.reply = Some(match (payload, call.landing) {
            (placed @ Received::Placed(_), _) => Ok(placed),
            (error, _) if refused => Err(decode_error(from, error.bytes())),
            (answer, None) => Ok(answer),
            // An answer with a place of its own came to another: it does not have the length that was asked for.
            (_, Some(_)) => Err(malformed(from)),
        });
    }
}
