//! What arrives: the kernel as the transport's handler.

use super::watch::RankState;
use super::{Kernel, Loan};
use crate::Error;
use crate::collective::Summary;
use crate::ids::{CallId, ObjectId};
use crate::kernel::message::{Header, Message, decode_error, malformed};
use crate::object::{Called, Cx, Malformed, SharedObject};
use aurora_net::{Handler, Outbox, Payload, Placement, Rank, Received, Token};
use std::time::{Duration, Instant};

impl Handler for Kernel {
    fn has_failed(&self) -> bool {
        self.core.fault.is_some()
    }

    fn place(&mut self, from: Rank, header: &[u8], len: usize) -> Placement {
        match Header::decode(header) {
            Some(Header::Reply { id, .. }) if !self.core.calls.contains_key(&id) => self.discard(),
            Some(Header::Reply { id, refused: false }) => {
                let landing = self.core.calls.get(&id).and_then(|call| call.landing);
                let fits = |token: &Token| match self.core.loans.get(*token) {
                    Some(Loan::CallerMut(lent)) => lent.len() == len,
                    _ => false,
                };
                landing.filter(fits).map_or(Placement::Buffer, Placement::At)
            }
            Some(Header::Object { object: id, header }) => {
                // Nothing can be sent at this moment, so nothing is.
                let mut nothing = Outbox::default();
                self.core.placed.push(id);
                let placed = self.call(id, &mut nothing, |object, cx| object.place(from, header, len, cx));
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
                    entry.machine.write(loan, offset, bytes);
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
                object.is_some_and(|entry| entry.machine.read(loan, offset, into))
            }
            None => false,
        }
    }

    fn deliver(&mut self, from: Rank, header: &[u8], payload: Received, out: &mut Outbox) {
        let Some(header) = Header::decode(header) else {
            return self.fail_job(malformed(from), out);
        };
        let _span = crate::trace::deliver(from, || self.word(&header), payload.bytes().len());
        self.act_on_headers(out);
        if header.is_counted() {
            self.core.mail.received[from.index()] += 1;
            self.core.watch.progress();
        }
        match header {
            Header::Kernel(message, rest) => self.deliver_own(from, message, rest, payload, out),
            Header::Reply { id, refused } => self.replied(from, id, refused, payload, out),
            Header::Object { object, header } => {
                self.hand(object, from, out, |object, cx| object.deliver(from, header, payload, cx));
            }
            Header::Request { object, id, header, .. } => {
                let call = Called { from, id };
                self.hand(object, from, out, |object, cx| object.request(call, header, payload, cx));
            }
        }
    }

    fn describe(&self, header: &[u8]) -> String {
        let Some(header) = Header::decode(header) else {
            return String::new();
        };
        let (word, object) = (self.word(&header), header.object().and_then(|id| self.objects.get(&id)));
        object.map_or(word.into(), |entry| format!("{word} of {}", entry.frame.name.what))
    }

    fn released(&mut self, token: Token, out: &mut Outbox) {
        let Some(loan) = self.core.loans.end(token) else {
            return;
        };
        if let Some(id) = loan.object() {
            self.call(id, out, |object, cx| object.released(&loan, cx));
            self.reap(id);
        }
    }

    fn peer_lost(&mut self, rank: Rank, silent_for: Duration, out: &mut Outbox) {
        if !(self.core.ended || self.core.leaving && self.has_left(rank)) {
            self.fail_job(Error::PeerLost { rank, silent_for }, out);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        [self.core.watch.poll_timeout(), self.timers.next(), self.next_tick()].into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Instant, out: &mut Outbox) {
        if self.core.watch.poll_timeout().is_some_and(|at| at <= now) {
            self.look(now, out);
        }
        while let Some(id) = self.timers.take_due(now) {
            self.call(id, out, |object, cx| object.handle_timeout(now, cx));
        }
        self.tick(now, out);
    }
}

impl Kernel {
    /// What arrives is of no use to anybody, and may be as long as a block.
    fn discard(&mut self) -> Placement {
        Placement::At(self.core.loans.add(Loan::Nowhere))
    }

    /// Objects to which headers have come act on them.
    pub(crate) fn act_on_headers(&mut self, out: &mut Outbox) {
        for id in std::mem::take(&mut self.core.placed) {
            self.call(id, out, |object, cx| object.placed(cx));
        }
    }

    /// Hands an object what has come for it.
    fn hand(
        &mut self,
        object: ObjectId,
        from: Rank,
        out: &mut Outbox,
        call: impl FnOnce(&mut dyn SharedObject, &mut Cx<'_>) -> Result<(), Malformed>,
    ) {
        if let Some(Err(Malformed)) = self.call(object, out, call) {
            self.fail_job(malformed(from), out);
        }
    }

    /// A message of another kernel.
    fn deliver_own(&mut self, from: Rank, message: Message, rest: &[u8], payload: Received, out: &mut Outbox) {
        match message {
            Message::Round { seq, round } => match postcard::from_bytes::<Summary>(payload.bytes()) {
                Ok(summary) => {
                    let mut told = Vec::new();
                    self.core.barrier.receive(seq, round, summary, &mut told);
                    self.core.tell(told, out);
                }
                Err(_) => self.fail_job(malformed(from), out),
            },
            Message::Piece { seq, step } => {
                let current = self.core.barrier.seq();
                if !self.core.pieces.receive(current, (seq, step), from, payload.into_vec()) {
                    self.fail_job(malformed(from), out);
                }
            }
            Message::Dropped { object } => {
                self.core.drop_notices[from.index()] += 1;
                self.hand(object, from, out, |object, cx| {
                    cx.frame.dropped[from.index()] = true;
                    object.peer_dropped(from, rest, cx)
                });
                self.reap(object);
            }
            Message::Left { dropped } => self.core.left[from.index()] = Some(dropped),
            Message::Fault { object } => {
                let error = decode_error(from, payload.bytes());
                self.note_fault(object, &error, out);
            }
            Message::Ask { look } => {
                self.core.polling.is_asked(look);
                let state = postcard::to_allocvec(&self.state()).expect("states are plain data");
                self.core.mail.say(out, from, &Message::State { look }, Payload::Bytes(state.into()));
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
            Message::AskTime { sent } => self.answer_time(from, sent, out),
            Message::Time { sent, here, machine } => self.time_answered(sent, here, machine),
            Message::Report => self.reported(from, payload.bytes(), out),
        }
    }

    /// What a header says, in a word.
    fn word(&self, header: &Header<'_>) -> &'static str {
        let known = header.object().and_then(|id| self.objects.get(&id));
        match header {
            Header::Kernel(message, _) => message.word(),
            Header::Reply { .. } => "answer",
            Header::Object { header, .. } => known.map_or("message", |entry| entry.machine.describe(header, false)),
            Header::Request { header, .. } => known.map_or("request", |entry| entry.machine.describe(header, true)),
        }
    }

    fn replied(&mut self, from: Rank, id: CallId, refused: bool, mut payload: Received, out: &mut Outbox) {
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
        let (landing, object) = (call.landing, Some(call.object).filter(|_| call.writes && !refused));
        let shown = object.and_then(|id| self.call(id, out, |object, _| object.replied(from, payload.bytes())));
        let reply = match (payload, landing) {
            _ if matches!(shown, Some(Err(Malformed))) => Err(malformed(from)),
            (placed @ Received::Placed(_), _) => Ok(placed),
            (error, _) if refused => Err(decode_error(from, error.bytes())),
            (answer, None) => Ok(answer),
            // An answer with a place of its own came to another: it does not have the length that was asked for.
            (_, Some(_)) => Err(malformed(from)),
        };
        if let Some(call) = self.core.calls.get_mut(&id) {
            call.reply = Some(reply);
        }
    }
}
