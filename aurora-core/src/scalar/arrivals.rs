//! The collective scopes of a scalar, on the receiving side: the home counts the ranks that have entered and ended a
//! scope; other ranks receive values and the ends of scopes.

use super::message::Message;
use super::protocol::{ACCUMULATE, Protocol, READ_MOSTLY};
use super::{Scalar, Spreading, Value};
use crate::Kind;
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::object::Cx;
use crate::scope::{Opening, contain};
use aurora_net::{Payload, Rank};
use bytes::Bytes;

impl Scalar {
    pub(crate) fn has_come(&mut self, from: Rank, epoch: Epoch, opening: &Opening) {
        let arrival = &mut self.scopes.ledger.record(epoch).from[from.index()];
        arrival.kept = true;
        arrival.complete = opening.is_load();
    }

    pub(crate) fn has_ended(&mut self, from: Rank, epoch: Epoch, offers: u64, part: Option<Vec<u8>>) {
        let arrival = &mut self.scopes.ledger.record(epoch).from[from.index()];
        (arrival.complete, arrival.batches) = (true, offers);
        self.contribute(epoch, from, part);
    }

    /// A value from the home: the first one of a ReadCache or ReadMostly, or a newer one.
    pub(crate) fn receive_value(&mut self, epoch: Epoch, numbers: (u64, u64), value: &[u8], cx: &mut Cx<'_>) {
        if self.scopes.ledger.epoch < epoch || self.scopes.ledger.settled >= epoch {
            return;
        }
        // All ranks have entered this scope, so the scopes before it have ended.
        self.scopes.ledger.conclude(epoch - 1);
        let site = self.site_of(epoch);
        let reason = Reason { action: READ_MOSTLY, site: site.clone(), kind: Kind::Scalar };
        if self.replicated.as_ref().is_some_and(|replicated| replicated.epoch == epoch) {
            let seen = contain((READ_MOSTLY, site), cx, |_| {
                let replicated = self.replicated.as_mut()?;
                replicated.learn(numbers.0, value, numbers.1);
                replicated.receive()
            });
            let Some(seen) = seen else {
                return;
            };
            self.send_offers(&reason, false, cx);
            if let Some(seen) = seen {
                Message::Seen { epoch, seen }.send(&reason, self.home, Payload::Empty, cx);
            }
        } else if self.is_of(epoch, Protocol::ReadCache) {
            self.scopes.ledger.conclude(epoch);
            self.shown = Some((epoch, value.to_vec()));
        }
    }

    pub(crate) fn has_seen(&mut self, from: Rank, epoch: Epoch, seen: u64) {
        if let Some(spreading) = self.spreading.as_mut().filter(|_| self.scopes.ledger.settled + 1 == epoch) {
            spreading.seen(from, seen);
        }
    }

    /// At home: all ranks have entered this ReadCache, or have ended this other scope.
    pub(super) fn settle(&mut self, epoch: Epoch, cx: &mut Cx<'_>) {
        let mine = self.scopes.ledger.find(epoch).and_then(|record| record.mine.clone());
        let Some(protocol) = mine.as_ref().and_then(Protocol::of) else {
            return cx.fail(cx.nonsense());
        };
        let (op, site) = mine.map_or((None, None), |mine| (mine.op, Some(mine.site)));
        self.scopes.ledger.forget(epoch);
        let parts = self.parts.remove(&epoch).unwrap_or_default();
        match protocol {
            Protocol::ReadCache => {
                let value = self.value.as_ref().map(Value::read).unwrap_or_default();
                self.shown = Some((epoch, value.clone()));
                let message = Message::Spread { epoch, number: 0, answered: 0, time: self.released() };
                return self.say_to_all((protocol.name(), site), &message, value.into(), cx);
            }
            Protocol::ReadMostly => self.spreading = None,
            Protocol::Accumulate => {
                let merged = contain((ACCUMULATE, site.clone()), cx, |cx| {
                    parts.into_iter().flatten().try_for_each(|part| self.update(op, &part, cx))
                });
                if let Some(Err(error)) = merged {
                    cx.fail(error);
                }
            }
            Protocol::ReleaseC => {
                let last = parts.into_iter().flatten().next_back();
                let set = last.zip(self.value.as_mut()).map(|(last, value)| value.change(|_| Some(last.clone())));
                if let Some(None) = set {
                    cx.fail(cx.nonsense());
                }
            }
        }
        self.say_to_all((protocol.name(), site), &Message::Over { epoch, time: self.released() }, Bytes::new(), cx);
    }

    fn say_to_all(
        &mut self,
        (action, site): (&'static str, Option<crate::Site>),
        message: &Message,
        payload: Bytes,
        cx: &mut Cx<'_>,
    ) {
        let reason = Reason { action, site, kind: Kind::Scalar };
        for rank in cx.me().others(cx.size()) {
            message.send(&reason, rank, Payload::Bytes(payload.clone()), cx);
        }
    }

    /// At home: begins a ReadMostly that all ranks have entered, and sends the value to each rank that does not have
    /// it.
    pub(crate) fn spread(&mut self, cx: &mut Cx<'_>) {
        let (me, size) = (cx.me(), cx.size());
        if self.home != me || !cx.is_sound() {
            return;
        }
        let Some(epoch) = self.all_have_come() else {
            return;
        };
        let (site, time) = (self.site_of(epoch), self.released());
        let spreading = self.spreading.get_or_insert_with(|| Spreading::new(size));
        let number = spreading.number;
        // This rank may be in the next scope already, while other ranks are still in this one.
        let mine = self.replicated.as_mut().filter(|replicated| replicated.epoch == epoch);
        if let Some((replicated, value)) = mine.zip(self.value.as_ref()) {
            replicated.learn(number, &value.read(), 0);
        }
        let arrivals = &self.scopes.ledger.record(epoch).from;
        let inside = me.others(size).filter(|rank| !arrivals[rank.index()].complete);
        let due = inside.map(|rank| (rank, arrivals[rank.index()].applied));
        let due: Vec<_> = due.filter(|(rank, answered)| spreading.take_due(*rank, *answered)).collect();
        if due.is_empty() {
            return;
        }
        let reason = Reason { action: READ_MOSTLY, site, kind: Kind::Scalar };
        let value = Bytes::from(self.value.as_ref().map(Value::read).unwrap_or_default());
        for (rank, answered) in due {
            let message = Message::Spread { epoch, number, answered, time: time.clone() };
            message.send(&reason, rank, Payload::Bytes(value.clone()), cx);
        }
    }
}
