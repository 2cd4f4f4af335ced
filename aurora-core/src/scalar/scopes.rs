//! The collective scopes of a scalar, on the calling rank's side; the other side is [`arrivals`](super::arrivals). All of them go through its home: who enters one in which there is something to see tells
//! the home, which answers all when all have come; who ends one in which there was something to do tells the home, which answers
//! all when all have ended.

use super::Replica;
use super::Value;
use super::offers::{Offered, Replicated};
use super::spreading::Spreading;
use crate::element::OpId;
use crate::epoch::{Collective, Opening};
use crate::ids::{Epoch, ObjectId};
use crate::kernel::message::{Message, malformed};
use crate::kernel::{Reason, Service};
use crate::vector::entering::SCOPES_AHEAD;
use crate::vector::object::{Object, ScalarFn};
use crate::{Error, Site};
use aurora_net::{Outbox, Payload, Rank};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a rank knows of a scalar's scopes, besides its ledger.
#[derive(Debug)]
pub(crate) struct ScalarScopes {
    pub(super) home: Rank,
    /// At home: what each rank contributes to a scope that is not over.
    pub(super) parts: BTreeMap<Epoch, Vec<Option<Vec<u8>>>>,
    /// The value that a ReadCache shows, until its guard takes it.
    pub(super) shown: Option<(Epoch, Vec<u8>)>,
    /// At home: the ReadMostly that is open somewhere.
    pub(super) spreading: Option<Spreading>,
    /// The one that is open here.
    pub(super) replicated: Option<Replicated>,
    /// At home: nobody is to use the value in place any more, because the scalar is at fault or the job over.
    closed: bool,
}

/// The end of a scope on one rank.
pub(crate) struct Ended<'a> {
    pub(crate) object: ObjectId,
    pub(crate) epoch: Epoch,
    pub(crate) opening: &'a Opening,
    pub(crate) reason: &'a Reason,
}

impl ScalarScopes {
    pub(crate) fn new(home: Rank) -> Self {
        ScalarScopes { home, parts: BTreeMap::new(), shown: None, spreading: None, replicated: None, closed: false }
    }

    /// Where the scalar lives.
    pub(crate) fn home(&self) -> Rank {
        self.home
    }

    /// Whether the home spreads what changes.
    pub(super) fn is_spreading(&self) -> bool {
        self.spreading.is_some()
    }

    /// The number of the value, for a rank that gets it with an answer.
    pub(super) fn number_for(&mut self, rank: Rank, answered: u64) -> u64 {
        let Some(spreading) = &mut self.spreading else {
            return 0;
        };
        spreading.answers(rank, answered);
        spreading.number()
    }

    /// The next look at the replica is to be watched.
    pub(crate) fn watch_looks(&self) {
        if let Some(replicated) = &self.replicated {
            replicated.watch();
        }
    }

    /// Nothing is to be read from the replica any more.
    pub(crate) fn close(&self) {
        if let Some(replicated) = &self.replicated {
            replicated.close();
        }
    }
}

impl Object {
    /// The scopes that a request of this rank's follows: all that it has entered, but for a ReadMostly, inside of which it is.
    pub(crate) fn asking_epoch(&self) -> Epoch {
        let inside = self.scalar_scopes.as_ref().is_some_and(|scopes| scopes.replicated.is_some());
        self.ledger.epoch - Epoch::from(inside)
    }

    /// At home: says whether ranks may use the value in place. Once they may not, they never may again.
    pub(crate) fn admit_to_value(&mut self, usable: bool) {
        let Some(word) = self.scalar.as_ref().and_then(Value::word) else {
            return;
        };
        let closed = &mut self.scalar_scopes.as_mut().expect("it is a scalar").closed;
        *closed |= !usable;
        match *closed {
            true => word.shut(),
            false => word.open(self.ledger.settled),
        }
    }

    /// The value at home may have changed.
    pub(super) fn note_change(&mut self, changed: bool) {
        if let Some(spreading) = self.scalar_scopes.as_mut().and_then(|scopes| scopes.spreading.as_mut())
            && changed
        {
            spreading.changed();
        }
    }

    /// Whether all have come to a ReadMostly that is the next to be settled.
    pub(super) fn all_have_come(&self) -> Option<Epoch> {
        let next = self.ledger.settled + 1;
        let record = self.ledger.find(next)?;
        let mostly = record.mine.as_ref()?.behaviour == Collective::ReadMostly;
        (mostly && record.from.iter().all(|arrival| arrival.came)).then_some(next)
    }
}

impl Service {
    /// Enters a scope of a scalar. `None`: this rank is too far ahead of the others.
    pub(crate) fn enter_scalar(
        &mut self,
        id: ObjectId,
        (opening, mutable): (&Opening, bool),
        out: &mut Outbox,
    ) -> Option<Result<Epoch, Error>> {
        // A scope that all end together cannot be open in another: nobody would get to its end.
        let inside = self.objects.get(&id).is_some_and(|object| object.open.iter().any(|guard| guard.awaited));
        match self.usable(id, mutable || inside, out) {
            Err(error) => return Some(Err(error)),
            Ok(object) if object.ledger.ahead() >= SCOPES_AHEAD => return None,
            Ok(_) => {}
        }
        Some(self.enter(id, opening.clone(), out))
    }

    /// Comes to a scope that shows something, which it has entered.
    pub(crate) fn come_to_scalar(&mut self, ended: &Ended<'_>, out: &mut Outbox) {
        let (id, epoch, me) = (ended.object, ended.epoch, self.me);
        let Some((object, home)) = self.scalar(id) else {
            return;
        };
        let record = object.ledger.record(epoch);
        record.mine_complete = ended.opening.behaviour == Collective::ReadCache;
        record.from[me.index()].came = true;
        if home == me {
            self.advance(id, out);
        } else {
            let message = Message::Come { object: id, epoch, opening: ended.opening.clone() };
            self.mail.post_for(out, ended.reason, home, &message, Payload::Empty);
        }
    }

    /// Makes a replica for the ReadMostly that this rank has entered.
    pub(crate) fn replicate(&mut self, id: ObjectId, epoch: Epoch, offered: Option<Offered>) -> Arc<Replica> {
        let replica = Arc::<Replica>::default();
        if let Some(scopes) = self.objects.get_mut(&id).and_then(|object| object.scalar_scopes.as_mut()) {
            scopes.replicated = Some(Replicated::new(epoch, replica.clone(), offered));
        }
        replica
    }

    /// Lets the home and this rank know operation `O`.
    pub(crate) fn know_scalar_op<O: 'static>(
        &mut self,
        id: ObjectId,
        apply: ScalarFn,
        site: &Site,
    ) -> Result<(), Error> {
        let Some(object) = self.objects.get_mut(&id) else {
            return Ok(());
        };
        let known = object.scalar_ops.add::<O>(apply);
        known.map(drop).map_err(|same| object.same_number::<O>(same, site))
    }

    /// The value that a ReadCache shows, once it is here.
    pub(crate) fn take_shown(&mut self, id: ObjectId, epoch: Epoch) -> Option<Result<Vec<u8>, Error>> {
        let object = self.objects.get_mut(&id)?;
        if let Err(fault) = object.sound() {
            return Some(Err(fault));
        }
        let shown = &mut object.scalar_scopes.as_mut()?.shown;
        shown.take_if(|(of, _)| *of == epoch).map(|(_, value)| Ok(value))
    }

    /// Whether the replica of a ReadMostly shows something.
    pub(crate) fn is_replicated(&self, id: ObjectId) -> Option<Result<(), Error>> {
        let object = self.objects.get(&id)?;
        match &object.fault {
            Some(fault) => Some(Err(fault.clone())),
            None => object.scalar_scopes.as_ref()?.replicated.as_ref()?.is_shown().then_some(Ok(())),
        }
    }

    /// Ends a scope: with what this rank contributes, or with the offers that it has made.
    pub(crate) fn end_scalar(&mut self, ended: &Ended<'_>, part: Option<Vec<u8>>, out: &mut Outbox) {
        let (id, epoch, me) = (ended.object, ended.epoch, self.me);
        self.send_offers(id, ended.reason, true, out);
        let Some((object, home)) = self.scalar(id) else {
            return;
        };
        object.ledger.record(epoch).mine_complete = true;
        let offers = object.forget_replica().filter(|_| home != me).map_or(0, |replicated| replicated.sent());
        if home == me {
            object.contribute(epoch, me, part);
            self.advance(id, out);
        } else {
            let opening = ended.opening.clone();
            let message = Message::Part { object: id, epoch, opening, offers, contributes: part.is_some() };
            self.mail.post_for(out, ended.reason, home, &message, Payload::Bytes(part.unwrap_or_default().into()));
        }
    }

    /// A scope has broken off: nothing of it is said.
    pub(crate) fn abandon_scalar(&mut self, id: ObjectId) {
        if let Some(object) = self.objects.get_mut(&id) {
            object.forget_replica();
        }
    }

    /// Makes an offer in the ReadMostly that is open here.
    pub(crate) fn offer(
        &mut self,
        id: ObjectId,
        operand: Vec<u8>,
        reason: &Reason,
        out: &mut Outbox,
    ) -> Result<(), Error> {
        let me = self.me;
        let Some((object, home)) = self.scalar(id) else {
            return Ok(());
        };
        object.sound()?;
        let within = (Collective::ReadMostly, reason.site.clone());
        if home == me {
            let updated = self.do_own(id, within, out, |object| match object.replicated() {
                Some(replicated) => {
                    let op = replicated.op();
                    super::update(object, op, &operand).map(drop)
                }
                None => Ok(()),
            });
            updated.unwrap_or(Ok(()))?;
            self.advance(id, out);
        } else {
            let fits = self.do_own(id, within, out, |object| match object.replicated() {
                Some(replicated) => replicated.offer(operand),
                None => Some(()),
            });
            fits.flatten().ok_or_else(|| malformed(me))?;
            self.send_offers(id, reason, false, out);
        }
        Ok(())
    }

    /// Sends what has been offered and may go, or must. How many offers have been sent in all.
    pub(crate) fn send_offers(&mut self, id: ObjectId, reason: &Reason, must: bool, out: &mut Outbox) -> u64 {
        let Some((object, home)) = self.scalar(id) else {
            return 0;
        };
        let Some(replicated) = object.replicated() else {
            return 0;
        };
        let (next, sent, epoch, op) = (replicated.next(must), replicated.sent(), replicated.epoch, replicated.op());
        if let (Some((seq, operand)), Some(op)) = (next, op) {
            let message = Message::Offer { object: id, epoch, seq, op };
            self.mail.post_for(out, reason, home, &message, Payload::Bytes(operand.into()));
        }
        sent
    }

    /// A value of the home's, with its number: shown, if this rank is inside of that scope.
    pub(crate) fn learn(
        &mut self,
        (id, epoch): (ObjectId, Epoch),
        (number, answered): (u64, u64),
        value: &[u8],
        out: &mut Outbox,
    ) {
        let site = self.objects.get(&id).and_then(|object| object.site_of(epoch));
        self.do_own(id, (Collective::ReadMostly, site), out, |object| {
            let replicated = object.replicated().filter(|replicated| replicated.epoch == epoch);
            replicated.into_iter().for_each(|replicated| replicated.learn(number, value, answered));
        });
    }

    pub(super) fn scalar(&mut self, id: ObjectId) -> Option<(&mut Object, Rank)> {
        let object = self.objects.get_mut(&id)?;
        let home = object.scalar_scopes.as_ref()?.home;
        Some((object, home))
    }
}

impl Object {
    pub(super) fn replicated(&mut self) -> Option<&mut Replicated> {
        self.scalar_scopes.as_mut()?.replicated.as_mut()
    }

    fn forget_replica(&mut self) -> Option<Replicated> {
        self.scalar_scopes.as_mut()?.replicated.take()
    }

    pub(super) fn contribute(&mut self, epoch: Epoch, rank: Rank, part: Option<Vec<u8>>) {
        let size = self.dropped.len();
        if let Some(scopes) = &mut self.scalar_scopes
            && part.is_some()
        {
            scopes.parts.entry(epoch).or_insert_with(|| vec![None; size])[rank.index()] = part;
        }
    }

    pub(super) fn is_of(&self, epoch: Epoch, behaviour: Collective) -> bool {
        let mine = self.ledger.find(epoch).and_then(|record| record.mine.as_ref());
        mine.is_some_and(|mine| mine.behaviour == behaviour)
    }

    /// Our line that opened a scope which is not over.
    pub(super) fn site_of(&self, epoch: Epoch) -> Option<Site> {
        Some(self.ledger.find(epoch)?.mine.as_ref()?.site.clone())
    }
}

/// The operation `O`, to be offered or accumulated.
pub(crate) fn offered<O: 'static>([apply, combine]: [ScalarFn; 2], absorbs: bool) -> Offered {
    Offered { op: OpId::of::<O>(), apply, combine, absorbs }
}
