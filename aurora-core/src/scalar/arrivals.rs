//! The collective scopes of a scalar, by what arrives: at its home of who has come and who has ended, elsewhere of values and of
//! scopes that are over.

use super::Value;
use super::spreading::Spreading;
use crate::epoch::{Collective, Opening};
use crate::ids::{Epoch, ObjectId};
use crate::kernel::message::Message;
use crate::kernel::watch::What;
use crate::kernel::{Reason, Service};
use aurora_net::{Outbox, Payload, Rank};
use bytes::Bytes;

impl Service {
    /// What arrives at a home: a rank has come.
    pub(crate) fn has_come(&mut self, from: Rank, id: ObjectId, epoch: Epoch, opening: &Opening) {
        if let Some(object) = self.objects.get_mut(&id) {
            let arrival = &mut object.ledger.record(epoch).from[from.index()];
            arrival.came = true;
            arrival.complete = opening.behaviour == Collective::ReadCache;
        }
    }

    /// A rank has ended its part.
    pub(crate) fn has_ended(&mut self, from: Rank, (id, epoch): (ObjectId, Epoch), offers: u64, part: Option<Vec<u8>>) {
        if let Some(object) = self.objects.get_mut(&id) {
            let arrival = &mut object.ledger.record(epoch).from[from.index()];
            (arrival.complete, arrival.batches) = (true, offers);
            object.contribute(epoch, from, part);
        }
    }

    /// What arrives from a home: a value, with which a ReadCache or a ReadMostly begins, or a newer one.
    pub(crate) fn told(&mut self, (id, epoch): (ObjectId, Epoch), numbers: (u64, u64), value: &[u8], out: &mut Outbox) {
        let Some((object, home)) = self.scalar(id) else {
            return;
        };
        if object.ledger.epoch < epoch || object.ledger.settled >= epoch {
            return;
        }
        // All have come, so the scopes before it are over.
        object.ledger.conclude(epoch - 1);
        let site = object.site_of(epoch);
        let reason = Reason { object: Some(id), action: "ReadMostly", site: site.clone() };
        if object.replicated().is_some_and(|replicated| replicated.epoch == epoch) {
            let seen = self.contain(id, (Collective::ReadMostly, site), out, |object| {
                let replicated = object.replicated()?;
                replicated.learn(numbers.0, value, numbers.1);
                replicated.receive()
            });
            let Some(seen) = seen else {
                return;
            };
            self.send_offers(id, &reason, false, out);
            if let Some(seen) = seen {
                self.mail.post_for(out, &reason, home, &Message::Seen { object: id, epoch, seen }, Payload::Empty);
            }
        } else if object.is_of(epoch, Collective::ReadCache) {
            object.ledger.conclude(epoch);
            if let Some(scopes) = &mut object.scalar_scopes {
                scopes.shown = Some((epoch, value.to_vec()));
            }
        }
        self.advance(id, out);
    }

    /// A scope is over.
    pub(crate) fn is_over(&mut self, id: ObjectId, epoch: Epoch, out: &mut Outbox) {
        if let Some(object) = self.objects.get_mut(&id) {
            object.ledger.conclude(epoch);
        }
        self.advance(id, out);
    }

    /// A rank has seen so many values.
    pub(crate) fn has_seen(&mut self, from: Rank, (id, epoch): (ObjectId, Epoch), seen: u64) {
        let object = self.objects.get_mut(&id).filter(|object| object.ledger.settled + 1 == epoch);
        let scopes = object.and_then(|object| object.scalar_scopes.as_mut());
        if let Some(spreading) = scopes.and_then(|scopes| scopes.spreading.as_mut()) {
            spreading.seen(from, seen);
        }
    }

    /// An epoch is settled at home: all have come to a ReadCache, or have ended what they entered.
    pub(crate) fn settle_scalar(&mut self, id: ObjectId, epoch: Epoch, behaviour: Collective, out: &mut Outbox) {
        let Some(object) = self.objects.get_mut(&id) else {
            return;
        };
        let (site, op) = (object.site_of(epoch), object.ledger.find(epoch).and_then(|r| r.mine.as_ref()?.op));
        object.ledger.forget(epoch);
        let Some(scopes) = &mut object.scalar_scopes else {
            return;
        };
        let parts = scopes.parts.remove(&epoch).unwrap_or_default();
        let name = match behaviour {
            Collective::ReadCache => {
                let value = object.scalar.as_ref().map(Value::read).unwrap_or_default();
                scopes.shown = Some((epoch, value.clone()));
                let message = Message::Spread { object: id, epoch, number: 0, answered: 0 };
                return self.say_to_all(id, ("ReadCache", site), &message, Payload::Bytes(value.into()), out);
            }
            Collective::ReadMostly => {
                scopes.spreading = None;
                "ReadMostly"
            }
            Collective::Accumulate => {
                let merged = self.contain(id, (behaviour, site.clone()), out, |object| {
                    parts.into_iter().flatten().try_for_each(|part| super::update(object, op, &part).map(drop))
                });
                if let Some(Err(error)) = merged {
                    self.fail(Some(id), error, out);
                }
                "Accumulate"
            }
            _ => {
                let last = parts.into_iter().flatten().next_back();
                let set = last.zip(object.scalar.as_mut()).map(|(last, value)| value.change(|_| Some(last.clone())));
                if let Some(None) = set {
                    let misfit = super::not_home(object);
                    self.fail(Some(id), misfit, out);
                }
                "ReleaseC"
            }
        };
        self.say_to_all(id, (name, site), &Message::Over { object: id, epoch }, Payload::Empty, out);
    }

    fn say_to_all(
        &mut self,
        id: ObjectId,
        (action, site): (&'static str, Option<crate::Site>),
        message: &Message,
        payload: Payload,
        out: &mut Outbox,
    ) {
        let reason = Reason { object: Some(id), action, site };
        let bytes = match payload {
            Payload::Bytes(bytes) => bytes,
            _ => Bytes::new(),
        };
        for rank in self.me.others(self.size) {
            self.mail.post_for(out, &reason, rank, message, Payload::Bytes(bytes.clone()));
        }
    }

    /// At home: begins a ReadMostly to which all have come, and tells each rank inside of it what it has not been told.
    pub(crate) fn spread(&mut self, id: ObjectId, out: &mut Outbox) {
        let (me, size) = (self.me, self.size);
        let Some((object, home)) = self.scalar(id) else {
            return;
        };
        if home != me || object.fault.is_some() {
            return;
        }
        let Some(epoch) = object.all_have_come() else {
            return;
        };
        let site = object.site_of(epoch);
        let Some(scopes) = &mut object.scalar_scopes else {
            return;
        };
        let spreading = scopes.spreading.get_or_insert_with(|| Spreading::new(size));
        let number = spreading.number();
        // This rank may have come to the next one already, while others are still inside of this.
        let mine = scopes.replicated.as_mut().filter(|replicated| replicated.epoch == epoch);
        if let Some((replicated, value)) = mine.zip(object.scalar.as_ref()) {
            replicated.learn(number, &value.read(), 0);
        }
        let arrivals = &object.ledger.record(epoch).from;
        let inside = me.others(size).filter(|rank| !arrivals[rank.index()].complete);
        let due = inside.map(|rank| (rank, arrivals[rank.index()].applied));
        let due: Vec<_> = due.filter(|(rank, answered)| spreading.tell(*rank, *answered)).collect();
        if due.is_empty() {
            return;
        }
        let reason = Reason { object: Some(id), action: "ReadMostly", site };
        let value = Bytes::from(object.scalar.as_ref().map(Value::read).unwrap_or_default());
        for (rank, answered) in due {
            let message = Message::Spread { object: id, epoch, number, answered };
            self.mail.post_for(out, &reason, rank, &message, Payload::Bytes(value.clone()));
        }
    }

    /// Whom a wait for a scope of a scalar is for: the home, which waits for the others.
    pub(crate) fn awaited_at_scalar(&self, what: What) -> Option<Vec<Rank>> {
        let (What::Load { object, .. } | What::Settle { object }) = what else {
            return None;
        };
        let object = self.objects.get(&object)?;
        let home = object.scalar_scopes.as_ref()?.home;
        if home != self.me {
            return Some(vec![home]);
        }
        let What::Load { epoch, .. } = what else {
            return None;
        };
        let mine = object.ledger.settled + 1 == epoch && object.is_of(epoch, Collective::ReadMostly);
        let record = object.ledger.find(epoch).filter(|_| mine)?;
        let missing = record.from.iter().enumerate().filter(|(_, arrival)| !arrival.came);
        Some(missing.map(|(rank, _)| Rank::new(rank)).collect())
    }
}
