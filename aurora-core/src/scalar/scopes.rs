//! The collective scopes of a scalar, on the calling rank's side; the other side is [`arrivals`](super::arrivals).
//! All go through the home. A rank that enters a scope that shows a value, or ends a scope that changes the value,
//! tells the home. When all ranks have done so, the home answers all of them.

use super::message::Message;
use super::protocol::Protocol;
use super::{Offered, Replica, Replicated, Scalar, ScalarFn};
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::object::Cx;
use crate::scope::Entered;
use crate::{Error, Site};
use aurora_net::{Payload, Rank};
use std::sync::Arc;

impl Scalar {
    /// The last scope that comes before a request of this rank: the last entered scope, except an open ReadMostly.
    pub(crate) fn asking_epoch(&self) -> Epoch {
        let inside = self.replicated.is_some();
        self.scopes.ledger.epoch - Epoch::from(inside)
    }

    pub(super) fn note_change(&mut self, changed: bool) {
        if let Some(spreading) = self.spreading.as_mut().filter(|_| changed) {
            spreading.changed();
        }
    }

    /// The next epoch to be completed, if that is a ReadMostly that all ranks have entered.
    pub(super) fn all_have_come(&self) -> Option<Epoch> {
        let next = self.scopes.ledger.settled + 1;
        let record = self.scopes.ledger.find(next)?;
        let mostly = Protocol::ReadMostly.is_of(record.mine.as_ref()?);
        (mostly && record.from.iter().all(|arrival| arrival.kept)).then_some(next)
    }

    /// Tells the home that this rank has entered a scope that shows a value.
    pub(crate) fn come_to_scalar(&mut self, Entered { epoch, opening, reason, .. }: &Entered, cx: &mut Cx<'_>) {
        let time = cx.release();
        self.join(time.clone().filter(|_| self.home == cx.me()));
        let record = self.scopes.ledger.record(*epoch);
        record.mine_complete = opening.is_load();
        record.from[cx.me().index()].kept = true;
        if self.home != cx.me() {
            let message = Message::Come { epoch: *epoch, opening: opening.clone(), time };
            message.send(reason, self.home, Payload::Empty, cx);
        }
    }

    /// Makes a replica for the ReadMostly that this rank has entered.
    pub(crate) fn replicate(&mut self, epoch: Epoch, offered: Option<Offered>) -> Arc<Replica> {
        let replica = Arc::<Replica>::default();
        self.replicated = Some(Replicated::new(epoch, replica.clone(), offered));
        replica
    }

    pub(crate) fn know_scalar_op<O: 'static>(
        &mut self,
        apply: ScalarFn,
        site: &Site,
        cx: &Cx<'_>,
    ) -> Result<(), Error> {
        let known = self.ops.add::<O>(apply);
        known.map(drop).map_err(|same| cx.same_number::<O>(same, site))
    }

    /// The value that a ReadCache shows, once it is here.
    pub(crate) fn take_shown(&mut self, epoch: Epoch, cx: &mut Cx<'_>) -> Option<Result<Vec<u8>, Error>> {
        if let Err(fault) = cx.sound() {
            return Some(Err(fault));
        }
        let (_, value) = self.shown.take_if(|(of, _)| *of == epoch)?;
        self.acquire(cx);
        Some(Ok(value))
    }

    /// `Some` once the replica of a ReadMostly shows a value, or with the fault of the scalar.
    pub(crate) fn is_replicated(&self, cx: &mut Cx<'_>) -> Option<Result<(), Error>> {
        let shown = cx.sound_if(self.replicated.as_ref().is_some_and(Replicated::is_shown))?;
        self.acquire(cx);
        Some(shown)
    }

    /// Ends a scope, with this rank's contribution or with its offers.
    pub(crate) fn end_scalar(&mut self, entered: &Entered, part: Option<Vec<u8>>, cx: &mut Cx<'_>) {
        let Entered { epoch, opening, reason, .. } = entered;
        self.send_offers(reason, true, cx);
        let time = cx.release();
        self.join(time.clone().filter(|_| self.home == cx.me()));
        self.scopes.ledger.record(*epoch).mine_complete = true;
        let offers = self.replicated.take().map_or(0, |replicated| replicated.sent);
        if self.home == cx.me() {
            self.contribute(*epoch, cx.me(), part);
        } else {
            let (opening, contributes) = (opening.clone(), part.is_some());
            let message = Message::Part { epoch: *epoch, opening, offers, contributes, time };
            message.send(reason, self.home, Payload::Bytes(part.unwrap_or_default().into()), cx);
        }
    }

    /// A scope has ended by a panic: nothing is sent to the home.
    pub(crate) fn abandon_scalar(&mut self) {
        self.replicated.take();
    }

    /// Makes an offer in the ReadMostly that is open here.
    pub(crate) fn offer(&mut self, operand: Vec<u8>, reason: &Reason, cx: &mut Cx<'_>) -> Result<(), Error> {
        cx.sound()?;
        if self.home == cx.me() {
            let op = self.replicated.as_ref().map(Replicated::op);
            return op.map_or(Ok(()), |op| self.update(op, &operand, cx));
        }
        let fits = self.replicated.as_mut().map_or(Some(()), |replicated| replicated.offer(operand));
        fits.ok_or_else(|| (self.unfit)(reason.site.as_ref().unwrap_or(cx.made_at())))?;
        self.send_offers(reason, false, cx);
        Ok(())
    }

    /// Sends the next offer if it may go, or `must`. Returns the number of all offers sent.
    pub(crate) fn send_offers(&mut self, reason: &Reason, must: bool, cx: &mut Cx<'_>) -> u64 {
        let Some(replicated) = &mut self.replicated else {
            return 0;
        };
        let (next, sent, epoch, op) = (replicated.next(must), replicated.sent, replicated.epoch, replicated.op());
        if let (Some((seq, operand)), Some(op)) = (next, op) {
            let message = Message::Offer { epoch, seq, op };
            message.send(reason, self.home, Payload::Bytes(operand.into()), cx);
        }
        sent
    }

    /// Shows a value of the home with its number, if this rank is in that scope.
    pub(crate) fn learn(&mut self, epoch: Epoch, (number, answered): (u64, u64), value: &[u8]) {
        let replicated = self.replicated.as_mut().filter(|replicated| replicated.epoch == epoch);
        replicated.into_iter().for_each(|replicated| replicated.learn(number, value, answered));
    }

    pub(super) fn contribute(&mut self, epoch: Epoch, rank: Rank, part: Option<Vec<u8>>) {
        if part.is_some() {
            let size = self.scopes.ledger.record(epoch).from.len();
            self.parts.entry(epoch).or_insert_with(|| vec![None; size])[rank.index()] = part;
        }
    }

    pub(super) fn is_of(&self, epoch: Epoch, protocol: Protocol) -> bool {
        let mine = self.scopes.ledger.find(epoch).and_then(|record| record.mine.as_ref());
        mine.is_some_and(|mine| protocol.is_of(mine))
    }

    /// Our line that opened a scope which is not over.
    pub(super) fn site_of(&self, epoch: Epoch) -> Option<Site> {
        Some(self.scopes.ledger.find(epoch)?.mine.as_ref()?.site.clone())
    }
}
