//! What arrives: the service as the transport's handler.

use super::watch::RankState;
use super::{Loan, Service};
use crate::Error;
use crate::behaviour::halo::edges::Exchange;
use crate::behaviour::read_cache::load::Announced;
use crate::collective::Summary;
use crate::epoch::Opening;
use crate::ids::{Epoch, ObjectId};
use crate::kernel::message::{Message, Request, decode_error, malformed};
use crate::vector::object::{Parked, Work};
use crate::vector::rally::Rally;
use crate::window::Window;
use aurora_net::{Handler, Outbox, Payload, Placement, Rank, Received, Token};
use std::time::{Duration, Instant};

impl Handler for Service {
    fn has_failed(&self) -> bool {
        self.fault.is_some()
    }

    fn place(&mut self, from: Rank, header: &[u8], len: usize) -> Placement {
        match self.decode(header) {
            Some(Message::Enter { object, epoch, opening, version, at_home, contains, made, list_follows }) => {
                let placement = match opening.window {
                    window if window.is_whole() => self.place_block(from, object, epoch, len),
                    window => self.place_part(from, (object, epoch, window), len),
                };
                let coming = matches!(placement, Placement::At(_));
                let said = Announced { version, at_home, contains, made, list_follows, coming };
                self.overhear(from, (object, epoch, opening), said);
                placement
            }
            Some(Message::Forward { object, epoch, owner, .. }) => {
                self.place_forward(from, (object, epoch, owner), len)
            }
            Some(Message::Reply { id, .. }) if !self.calls.contains_key(&id) => {
                // It may be as long as a block.
                Placement::At(self.loans.add(Loan::Nowhere))
            }
            Some(Message::Edge { object, epoch, number, opening, mailbox }) => {
                self.place_edge(from, object, Exchange { epoch, number }, opening.as_ref(), (len, mailbox))
            }
            Some(Message::Reply { id, refused: false }) => {
                let landing = self.calls.get(&id).and_then(|call| call.landing);
                let fits =
                    |token: &Token| matches!(self.loans.get(*token), Some(Loan::CallerMut(lent)) if lent.len() == len);
                landing.filter(fits).map_or(Placement::Buffer, Placement::At)
            }
            _ => Placement::Buffer,
        }
    }

    fn write(&mut self, token: Token, offset: usize, bytes: &[u8]) {
        match self.loans.get_mut(token) {
            Some(Loan::CallerMut(lent)) => {
                lent.write(offset, bytes);
            }
            Some(Loan::CacheIn { object, epoch, base, len }) => {
                let place =
                    offset.checked_add(bytes.len()).filter(|end| end <= len).map(|end| *base + offset..*base + end);
                let object = self.objects.get_mut(object);
                if let (Some(place), Some(object)) = (place, object)
                    && let Some(replica) = object.cache.find_loading(*epoch)
                {
                    replica.receive(place.start, bytes);
                }
            }
            Some(Loan::EdgeIn { object, exchange, from }) => {
                if let Some(object) = self.objects.get_mut(object) {
                    object.write_edge(*from, *exchange, offset, bytes);
                }
            }
            Some(Loan::PartIn { object, epoch, base, len }) => {
                let place =
                    offset.checked_add(bytes.len()).filter(|end| end <= len).map(|end| *base + offset..*base + end);
                let part = self.objects.get_mut(object).and_then(|object| object.cache.parts.find(*epoch));
                if let (Some(place), Some(part)) = (place, part) {
                    part.replica.write(place.start, bytes);
                }
            }
            Some(Loan::RoomIn { object, owner, epoch, len }) => {
                let fits = offset.checked_add(bytes.len()).is_some_and(|end| end <= *len);
                let home = self.objects.get_mut(object).and_then(|object| object.block.home());
                let room = home.filter(|_| fits).and_then(|home| home.guests.room(*owner));
                if let Some(room) = room.filter(|room| room.has_let_in(*epoch)) {
                    room.write(offset, bytes);
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, token: Token, offset: usize, into: &mut [u8]) -> bool {
        let copy = |from: Option<&[u8]>, base: usize, into: &mut [u8]| {
            let from = from.and_then(|bytes| bytes.get(base + offset..)?.get(..into.len()));
            from.map(|bytes| into.copy_from_slice(bytes)).is_some()
        };
        match self.loans.get(token) {
            Some(Loan::Block { object, base }) => {
                self.objects.get(object).is_some_and(|object| object.block.copy(base + offset, into))
            }
            Some(Loan::Detached { copy: bytes, base }) => copy(Some(bytes.bytes()), *base, into),
            Some(Loan::CacheOut { object, serial, base }) => {
                copy(self.objects.get(object).and_then(|object| object.cache.bytes(*serial)), *base, into)
            }
            Some(Loan::Caller(lent)) => lent.read(offset, into),
            Some(
                Loan::CallerMut(_)
                | Loan::CacheIn { .. }
                | Loan::PartIn { .. }
                | Loan::RoomIn { .. }
                | Loan::EdgeIn { .. }
                | Loan::Nowhere,
            )
            | None => false,
        }
    }

    fn deliver(&mut self, from: Rank, header: &[u8], payload: Received, out: &mut Outbox) {
        let Some(message) = self.decode(header) else {
            return self.fail(None, malformed(from), out);
        };
        let _span = crate::trace::deliver(from, &message, payload.bytes().len());
        self.hear(out);
        if message.is_counted() {
            self.mail.received[from.index()] += 1;
            self.watch.progress();
        }
        match message {
            Message::Round { seq, round } => match postcard::from_bytes::<Summary>(payload.bytes()) {
                Ok(summary) => {
                    let mut told = Vec::new();
                    self.rendezvous.hear(seq, round, summary, &mut told);
                    self.tell(told, out);
                }
                Err(_) => self.fail(None, malformed(from), out),
            },
            Message::Piece { seq, step } => {
                if !self.pieces.hear(self.rendezvous.seq(), (seq, step), from, payload.into_vec()) {
                    self.fail(None, malformed(from), out);
                }
            }
            Message::Call { id, object, epoch, request } => {
                let held = self.rallies(object, &request);
                let parked = Parked { from, work: Work::Call { id, epoch, request }, payload };
                match self.rally.as_mut().filter(|_| held) {
                    Some(rally) => {
                        rally.hold(Instant::now(), from, (object, parked));
                        self.end_rally(Instant::now(), out);
                    }
                    None => {
                        self.work(object, parked, out);
                        // A write may complete a block that is being settled.
                        self.advance(object, out);
                    }
                }
            }
            Message::Batch { object, epoch, seq, opening, op } => {
                self.opened(object, from, epoch, &opening, out);
                let work = Work::Batch { epoch, seq, op, acknowledge: true };
                self.work(object, Parked { from, work, payload }, out);
                self.advance(object, out);
            }
            Message::Reply { id, refused } => self.replied(from, id, refused, payload),
            Message::Enter { object, epoch, opening, version, at_home, contains, made, list_follows } => {
                let said = Announced { version, at_home, contains, made, list_follows, coming: false };
                self.announced(from, (object, epoch, &opening), said, out);
                self.arrived(from, (object, epoch, &opening), payload, out);
            }
            Message::Made { object: id, epoch } => {
                let made = postcard::from_bytes::<Vec<(u32, u64)>>(payload.bytes());
                let object = self.objects.get_mut(&id).filter(|object| object.fault.is_none());
                let fits = made.is_ok_and(|made| object.is_none_or(|object| object.list_came(from, epoch, &made)));
                if !fits {
                    return self.fail(None, malformed(from), out);
                }
                self.advance(id, out);
            }
            Message::Correct { object: id, epoch, version, contains } => {
                let object = self.objects.get_mut(&id).filter(|object| object.fault.is_none());
                let correction = (version, payload.into_vec());
                if !object.is_none_or(|object| object.corrected(from, epoch, correction, contains)) {
                    return self.fail(None, malformed(from), out);
                }
                self.carry_on(id, out);
            }
            Message::Stand { object, epoch } => {
                self.stand(from, object, epoch, payload.bytes(), out);
                self.carry_on(object, out);
            }
            Message::Forward { object, epoch, owner, version } => {
                self.forwarded(from, (object, epoch, owner), version, payload, out);
                self.carry_on(object, out);
            }
            Message::BatchDone { object } => {
                if let Some(object) = self.objects.get_mut(&object) {
                    let outstanding = &mut object.outstanding[from.index()];
                    *outstanding = outstanding.saturating_sub(1);
                }
            }
            Message::End { object, epoch, opening, batches, op } => {
                self.opened(object, from, epoch, &opening, out);
                if let Some(object) = self.objects.get_mut(&object).filter(|object| object.fault.is_none()) {
                    let arrival = &mut object.ledger.record(epoch).from[from.index()];
                    arrival.complete = true;
                    arrival.batches = batches;
                }
                if !payload.bytes().is_empty() {
                    let Some(seq) = batches.checked_sub(1) else {
                        return self.fail(None, malformed(from), out);
                    };
                    let work = Work::Batch { epoch, seq, op, acknowledge: false };
                    self.work(object, Parked { from, work, payload }, out);
                }
                self.advance(object, out);
            }
            Message::Edge { object, epoch, number, opening, .. } => {
                if let Some(opening) = &opening {
                    self.opened(object, from, epoch, opening, out);
                }
                self.edge_came(object, from, Exchange { epoch, number }, opening, payload, out);
            }
            Message::Dropped { object, scopes } => {
                self.farewells[from.index()] += 1;
                if let Some(object) = self.objects.get_mut(&object) {
                    object.dropped[from.index()] = true;
                    object.ends[from.index()] = scopes;
                }
                self.compare_ends(object);
                self.bury(object);
            }
            Message::Left { dropped } => self.left[from.index()] = Some(dropped),
            Message::Fault { object } => {
                let error = decode_error(from, payload.bytes());
                self.note_fault(object, &error, out);
            }
            Message::Ask { look } => {
                self.polling.is_asked(look);
                let state = postcard::to_allocvec(&self.state()).expect("states are plain data");
                self.mail.post(out, from, &Message::State { look }, Payload::Bytes(state.into()));
            }
            Message::State { look } => match postcard::from_bytes::<RankState>(payload.bytes()) {
                Ok(RankState { idle, .. }) if self.heard_of_idle(from, look, idle) => {}
                Ok(state) => {
                    let mut acts = Vec::new();
                    self.watch.heard(Instant::now(), from, look, state, &mut acts);
                    self.act(acts, out);
                }
                Err(_) => self.fail(None, malformed(from), out),
            },
            Message::AskTime { sent } => self.tell_time(from, sent, out),
            Message::Time { sent, here, machine } => self.heard_time(sent, here, machine),
            Message::Report => self.reported(from, payload.bytes(), out),
            Message::Come { object: id, epoch, .. }
                if self.objects.get(&id).is_some_and(|object| object.scalar_scopes.is_none()) =>
            {
                // Of a vector. What it has sent later may have been here before, and that scope may be over.
                let ledger = self.objects.get_mut(&id).map(|object| &mut object.ledger);
                ledger.into_iter().for_each(|ledger| ledger.has_entered(from, epoch));
            }
            Message::Come { object, epoch, opening } => {
                self.opened(object, from, epoch, &opening, out);
                self.has_come(from, object, epoch, &opening);
                self.advance(object, out);
            }
            Message::Part { object, epoch, opening, offers, contributes } => {
                self.opened(object, from, epoch, &opening, out);
                self.has_ended(from, (object, epoch), offers, contributes.then(|| payload.into_vec()));
                self.advance(object, out);
            }
            Message::Over { object, epoch } => self.is_over(object, epoch, out),
            Message::Spread { object, epoch, number, answered } => {
                self.told((object, epoch), (number, answered), payload.bytes(), out);
            }
            Message::Seen { object, epoch, seen } => {
                self.has_seen(from, (object, epoch), seen);
                self.advance(object, out);
            }
            Message::Offer { object, epoch, seq, op } => {
                let work = Work::Batch { epoch, seq, op: Some(op), acknowledge: false };
                self.work(object, Parked { from, work, payload }, out);
                self.advance(object, out);
            }
        }
    }

    fn describe(&self, header: &[u8]) -> String {
        match self.decode(header) {
            Some(message) => {
                let object = message.object().and_then(|id| self.objects.get(&id));
                object.map_or(message.word().into(), |object| format!("{} of {}", message.word(), object.name.what))
            }
            None => String::new(),
        }
    }

    fn released(&mut self, token: Token, out: &mut Outbox) {
        match self.loans.end(token) {
            Some(Loan::Block { object: id, .. }) => {
                if let Some(object) = self.objects.get_mut(&id) {
                    object.block.back_from_transfer();
                }
                self.watch.progress();
                self.advance(id, out);
                self.bury(id);
            }
            Some(Loan::CacheOut { object: id, serial, .. }) => {
                if let Some(object) = self.objects.get_mut(&id) {
                    object.cache.end_send(serial);
                }
                self.bury(id);
            }
            _ => {}
        }
    }

    fn peer_lost(&mut self, rank: Rank, silent_for: Duration, out: &mut Outbox) {
        if !(self.ended || self.leaving && self.has_left(rank)) {
            self.fail(None, Error::PeerLost { rank, silent_for }, out);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let rally = self.rally.as_ref().and_then(Rally::poll_timeout);
        [self.watch.poll_timeout(), rally, self.next_tick()].into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Instant, out: &mut Outbox) {
        if self.watch.poll_timeout().is_some_and(|at| at <= now) {
            self.look(now, out);
        }
        self.end_rally(now, out);
        self.tick(now, out);
    }
}

impl Service {
    /// Whether a request is to wait for those of other ranks.
    fn rallies(&self, object: ObjectId, request: &Request) -> bool {
        let (Some(rally), Some(object)) = (&self.rally, self.objects.get(&object)) else {
            return false;
        };
        match *request {
            Request::Read { len, owners, .. } => {
                rally.concerns(len.saturating_mul(object.block.element as u64), owners)
            }
            _ => false,
        }
    }

    fn end_rally(&mut self, now: Instant, out: &mut Outbox) {
        let released = self.rally.as_mut().map(|rally| rally.release(now));
        for (object, parked) in released.into_iter().flatten() {
            self.work(object, parked, out);
        }
    }

    /// What a header says, if that can be.
    fn decode(&self, header: &[u8]) -> Option<Message> {
        let message = Message::decode(header)?;
        let is_there = |(object, window): (ObjectId, Window)| {
            self.objects.get(&object).is_none_or(|object| window.is_of(object.dist.len()))
        };
        message.window().is_none_or(is_there).then_some(message)
    }

    /// Another rank has opened a scope: it must be the one that we and all others open.
    pub(crate) fn opened(&mut self, id: ObjectId, from: Rank, epoch: Epoch, opening: &Opening, out: &mut Outbox) {
        let Some(object) = self.objects.get_mut(&id) else {
            return;
        };
        if let Err(error) = object.note_opening(from, epoch, opening) {
            self.fail(Some(id), error, out);
        }
    }

    fn replied(&mut self, from: Rank, id: crate::ids::CallId, refused: bool, mut payload: Received) {
        let Some(call) = self.calls.get_mut(&id) else {
            // The answer to a call that was given up is of no interest.
            if let Received::Placed(token) = payload {
                self.loans.end(token);
            }
            return;
        };
        if call.ahead {
            // It may be long until somebody takes it, and its sender has other use for the memory.
            payload.detach();
        }
        let written = call.writes.filter(|_| !refused).and_then(|object| self.objects.get_mut(&object));
        let numbered = written.map(|object| object.writes.answered(from, payload.bytes()));
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
