//! Arriving messages: the kernel as the transport's handler.

use super::Kernel;
use super::loans::{CallerLoan, KERNEL, nowhere};
use super::watch::RankState;
use crate::Error;
use crate::collective::BarrierMessage;
use crate::ids::{CallId, ObjectId};
use crate::kernel::message::{Header, Message, decode_error, malformed};
use crate::object::{Call, Cx, Loan, Malformed, Place, SharedObject, object_of};
use crate::trace::Time;
use aurora_net::bootstrap::capture;
use aurora_net::{Handler, Loss, Outbox, Payload, Placement, Rank, Received, Source, Token};
use std::collections::hash_map::Entry;
use std::time::Instant;

impl Handler for Kernel {
    fn has_failed(&self) -> bool {
        self.core.fault.is_some()
    }

    fn may_poll(&self) -> bool {
        self.core.may_poll
    }

    fn place(&mut self, from: Rank, header: &[u8], len: usize) -> Placement {
        match Header::decode(header) {
            Some(Header::Reply { id, .. }) if !self.core.calls.contains_key(&id) => Placement::At(nowhere()),
            Some(Header::Reply { id, refused: false }) => {
                let landing = self.core.calls.get(&id).and_then(|call| call.landing);
                let fits = |token: &Token| match self.core.loans.get(Loan::of(*token)) {
                    Some(CallerLoan::Write(lent)) => lent.len() == len,
                    _ => false,
                };
                landing.map_or(Placement::Buffer, |to| Placement::At(if fits(&to) { to } else { nowhere() }))
            }
            Some(Header::Object { object: id, header }) => {
                self.core.placed.push(id);
                match self.place_at(id, |object, cx| object.place(from, header, len, cx)) {
                    Place::Buffer => Placement::Buffer,
                    Place::At(loan) => Placement::At(loan.token(id)),
                    Place::Discard => Placement::At(nowhere()),
                }
            }
            _ => Placement::Buffer,
        }
    }

    fn write(&mut self, token: Token, offset: usize, bytes: &[u8]) {
        match object_of(token) {
            KERNEL => {
                if let Some(CallerLoan::Write(lent)) = self.core.loans.get_mut(Loan::of(token)) {
                    lent.write(offset, bytes);
                }
            }
            object => {
                if let Some(entry) = self.objects.get_mut(&object) {
                    entry.machine.write(Loan::of(token), offset, bytes);
                }
            }
        }
    }

    fn read(&mut self, token: Token, offset: usize, into: &mut [u8]) -> bool {
        match object_of(token) {
            KERNEL => match self.core.loans.get(Loan::of(token)) {
                Some(CallerLoan::Read(lent)) => lent.read(offset, into),
                _ => false,
            },
            object => {
                self.objects.get_mut(&object).is_some_and(|entry| entry.machine.read(Loan::of(token), offset, into))
            }
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
                self.hand_header(object, from, out, |object, cx| object.deliver(from, header, payload, cx));
            }
            Header::Request { object, id, header, .. } => {
                let call = Call { from, id };
                self.hand_header(object, from, out, |object, cx| object.request(call, header, payload, cx));
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
        match object_of(token) {
            KERNEL => drop(self.core.loans.end(Loan::of(token))),
            object => {
                self.hand(object, out, |object, cx| object.released(Loan::of(token), cx));
                self.reap(object);
            }
        }
    }

    fn ready(&mut self, source: Source, out: &mut Outbox) {
        let object = self.core.sources.get(&source).copied();
        let handed = object.and_then(|id| self.hand(id, out, |object, cx| object.ready(source, cx)));
        if handed.is_none() {
            // The object is gone, or has panicked.
            self.core.sources.remove(&source);
            out.unwatch(source);
        }
    }

    fn peer_lost(&mut self, rank: Rank, loss: Loss, out: &mut Outbox) {
        if !(self.core.ended || self.core.leaving && self.has_left(rank)) {
            let Loss { silent_for, trouble } = loss;
            self.fail_job(Error::PeerLost { rank, silent_for, trouble: trouble.map(Box::new) }, out);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        // Messages to this rank itself are due at once.
        let to_self = (!self.core.mail.to_self.is_empty()).then_some(self.core.polling.began);
        [to_self, self.core.watch.next_look, self.timers.next(), self.next_tick()].into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Instant, out: &mut Outbox) {
        if self.core.watch.next_look.is_some_and(|at| at <= now) {
            self.look(now, out);
        }
        // Each object once: an object whose time is always past must not delay other objects and the program.
        for id in self.timers.take_due(now) {
            self.hand(id, out, |object, cx| object.handle_timeout(now, cx));
            self.reap(id);
        }
        self.tick(now, out);
        self.deliver_to_self(out);
    }
}

impl Kernel {
    /// Delivers some messages that this rank has sent to itself. The rest follows after the messages of other ranks.
    fn deliver_to_self(&mut self, out: &mut Outbox) {
        const AT_A_TIME: usize = 64;
        let me = self.core.me;
        for _ in 0..AT_A_TIME.min(self.core.mail.to_self.len()) {
            let Some((header, payload)) = self.core.mail.to_self.pop_front() else {
                break;
            };
            let mut bytes = vec![0; payload.len()];
            match payload {
                Payload::Empty => {}
                Payload::Bytes(sent) => bytes.copy_from_slice(&sent),
                Payload::Shared(sent) => bytes.copy_from_slice(&sent),
                Payload::Lent { token, .. } => {
                    let is_there = Handler::read(self, token, 0, &mut bytes);
                    self.released(token, out);
                    if !is_there {
                        continue;
                    }
                }
            }
            self.deliver(me, &header, Received::Bytes(bytes), out);
        }
    }

    /// Lets objects act on headers that have arrived while nothing could be sent.
    pub(crate) fn act_on_headers(&mut self, out: &mut Outbox) {
        for id in std::mem::take(&mut self.core.placed) {
            self.hand(id, out, |_, _| ());
        }
    }

    /// Asks an object for the place of a payload. Nothing can be sent at this moment.
    fn place_at(&mut self, id: ObjectId, place: impl FnOnce(&mut dyn SharedObject, &Cx<'_>) -> Place) -> Place {
        let Some(super::Entry { frame, machine, .. }) = self.objects.get_mut(&id) else {
            return Place::Discard;
        };
        let (me, core) = (self.core.me, &mut self.core);
        let mut nothing = Outbox::default();
        let placed = capture(me, || place(&mut **machine, &Cx { core, frame, out: &mut nothing }));
        placed.unwrap_or_else(|failure| {
            crate::notice::object_panicked(&failure, &frame.name);
            frame.is_broken = true;
            Place::Discard
        })
    }

    /// Hands a header to an object. If the object cannot read it, it is from another build.
    fn hand_header(
        &mut self,
        object: ObjectId,
        from: Rank,
        out: &mut Outbox,
        call: impl FnOnce(&mut dyn SharedObject, &mut Cx<'_>) -> Result<(), Malformed>,
    ) {
        if let Some(Err(Malformed)) = self.hand(object, out, call) {
            self.fail_job(malformed(from), out);
        }
    }

    fn deliver_own(&mut self, from: Rank, message: Message, rest: &[u8], payload: Received, out: &mut Outbox) {
        match message {
            Message::Round { seq, round } => match postcard::from_bytes::<BarrierMessage>(payload.bytes()) {
                Ok(message) => self.receive_barrier_message((seq, round), message, out),
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
                self.hand_header(object, from, out, |object, cx| {
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
                self.core.polling.is_asked(look, self.core.clock.now());
                let state = postcard::to_allocvec(&self.state()).expect("states are plain data");
                self.core.mail.say(out, from, &Message::State { look }, Payload::Bytes(state.into()));
            }
            Message::State { look } => match postcard::from_bytes::<RankState>(payload.bytes()) {
                Ok(RankState { idle, .. }) if self.heard_of_idle(from, look, idle) => {}
                Ok(state) => {
                    let mut acts = Vec::new();
                    self.core.watch.heard(self.core.clock.now(), from, look, state, &mut acts);
                    self.act(acts, out);
                }
                Err(_) => self.fail_job(malformed(from), out),
            },
            Message::AskTime { sent } => {
                let Time { nanos: here, machine } = Time::now();
                self.core.mail.say(out, from, &Message::Time { sent, here, machine }, Payload::Empty);
            }
            Message::Time { sent, here, machine } => self.time_answered(sent, here, machine),
            Message::Report => match postcard::from_bytes(payload.bytes()) {
                Ok(stats) => self.core.reports.counters.push(stats),
                Err(_) => self.fail_job(malformed(from), out),
            },
        }
    }

    fn word(&self, header: &Header<'_>) -> &'static str {
        let known = header.object().and_then(|id| self.objects.get(&id));
        match header {
            Header::Kernel(message, _) => message.kind().name(),
            Header::Reply { .. } => "answer",
            Header::Object { header, .. } => known.map_or("message", |entry| entry.machine.describe(header, false)),
            Header::Request { header, .. } => known.map_or("request", |entry| entry.machine.describe(header, true)),
        }
    }

    fn replied(&mut self, from: Rank, id: CallId, refused: bool, mut payload: Received, out: &mut Outbox) {
        let Some(call) = self.core.calls.get_mut(&id) else {
            // The answer to a call that was given up.
            if let Received::Placed(token) = payload {
                self.core.loans.end(Loan::of(token));
            }
            return;
        };
        if call.ahead {
            // It may be long until the caller takes the payload, and its sender needs the memory.
            payload.detach();
        }
        let (landing, object) = (call.landing, Some(call.object).filter(|_| call.shown));
        let shown = object.and_then(|object| {
            let error = refused.then(|| decode_error(from, payload.bytes()));
            self.hand(object, out, |object, cx| {
                object.reply(id, from, error.as_ref().map_or(Ok(payload.bytes()), Err), cx)
            })
        });
        if matches!(shown, Some(Err(Malformed))) {
            self.fail_job(malformed(from), out);
        }
        let reply = match (payload, landing) {
            (Received::Placed(token), Some(landing)) if token == landing => Ok(Received::Placed(token)),
            (error, _) if refused => Err(decode_error(from, error.bytes())),
            (answer, None) => Ok(answer),
            // The call has a place for the answer, and this answer came elsewhere: it has another length than
            // requested.
            (_, Some(_)) => Err(malformed(from)),
        };
        match self.core.calls.entry(id) {
            Entry::Occupied(call) if call.get().forgotten => drop(call.remove()),
            Entry::Occupied(mut call) => call.get_mut().reply = Some(reply),
            Entry::Vacant(_) => {}
        }
    }
}
