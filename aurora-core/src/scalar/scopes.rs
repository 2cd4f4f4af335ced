//! The collective scopes of a scalar, on the calling rank's side; the other side is [`arrivals`](super::arrivals).
//! All go through the home. A rank that enters a scope that shows a value, or ends a scope that changes the value,
//! tells the home. When all ranks have done so, the home answers all of them.

use super::message::Message;
use super::{Offered, Replica, Replicated, Scalar, ScalarFn};
use crate::epoch::{Opening, Rule, SCOPES_AHEAD};
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::object::Cx;
use crate::stats::Kind;
use crate::window::Window;
use crate::{Error, Site};
use aurora_net::{Payload, Rank};
use std::sync::Arc;

/// The behaviours of a scalar, as errors call them.
pub(super) const READ_CACHE: &str = "ReadCache";
pub(super) const READ_MOSTLY: &str = "ReadMostly";
pub(super) const RELEASE: &str = "ReleaseC";
pub(super) const ACCUMULATE: &str = "Accumulate";

/// The opening of a scope: a ReadCache is complete once all ranks have entered it, any other once all have ended it.
pub(super) fn opening(name: &'static str, site: &Site) -> Opening {
    let rule = if name == READ_CACHE { Rule::Announced } else { Rule::Ended };
    Opening::new(name, Kind::Scalar, rule, site)
}

/// A collective scope of a scalar that this rank has entered.
pub(crate) struct Entered {
    pub(crate) epoch: Epoch,
    pub(crate) opening: Opening,
    pub(crate) reason: Reason,
}

impl Scalar {
    /// The last scope that comes before a request of this rank: the last entered scope, except an open ReadMostly.
    pub(crate) fn asking_epoch(&self) -> Epoch {
        let inside = self.replicated.is_some();
        self.ledger.epoch - Epoch::from(inside)
    }

    pub(super) fn note_change(&mut self, changed: bool) {
        if let Some(spreading) = self.spreading.as_mut().filter(|_| changed) {
            spreading.changed();
        }
    }

    /// The next epoch to be completed, if that is a ReadMostly that all ranks have entered.
    pub(super) fn all_have_come(&self) -> Option<Epoch> {
        let next = self.ledger.settled + 1;
        let record = self.ledger.find(next)?;
        let mostly = record.mine.as_ref()?.name == READ_MOSTLY;
        (mostly && record.from.iter().all(|arrival| arrival.came)).then_some(next)
    }

    /// Enters a scope of a scalar. `None`: this rank is too far ahead of the other ranks.
    pub(crate) fn enter_scalar(
        &mut self,
        (opening, mutable): (&Opening, bool),
        cx: &mut Cx<'_>,
    ) -> Option<Result<Epoch, Error>> {
        // Inside a scope that all ranks end together no other scope may be opened: no rank would reach the end.
        let inside = cx.frame.open.iter().any(|guard| guard.awaited);
        match cx.usable(mutable || inside, Window::WHOLE) {
            Err(error) => return Some(Err(error)),
            Ok(()) if self.ledger.ahead() >= SCOPES_AHEAD => return None,
            Ok(()) => {}
        }
        let entered = self.ledger.enter_as(opening.clone(), &cx.frame.name);
        Some(entered.inspect_err(|error| cx.fail(error.clone())))
    }

    /// Tells the home that this rank has entered a scope that shows a value.
    pub(crate) fn come_to_scalar(&mut self, Entered { epoch, opening, reason }: &Entered, cx: &mut Cx<'_>) {
        let time = cx.release();
        self.join(time.clone().filter(|_| self.home == cx.me()));
        let record = self.ledger.record(*epoch);
        record.mine_complete = opening.is_load();
        record.from[cx.me().index()].came = true;
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
        known.map(drop).map_err(|same| cx.frame.same_number::<O>(same, site))
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
        let shown = cx.frame.sound_if(self.replicated.as_ref().is_some_and(Replicated::is_shown))?;
        self.acquire(cx);
        Some(shown)
    }

    /// Ends a scope, with this rank's contribution or with its offers.
    pub(crate) fn end_scalar(&mut self, entered: &Entered, part: Option<Vec<u8>>, cx: &mut Cx<'_>) {
        let Entered { epoch, opening, reason } = entered;
        self.send_offers(reason, true, cx);
        let time = cx.release();
        self.join(time.clone().filter(|_| self.home == cx.me()));
        self.ledger.record(*epoch).mine_complete = true;
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
        let within = (READ_MOSTLY, reason.site.clone());
        if self.home == cx.me() {
            return self.do_own(within, cx, |object, cx| match &object.replicated {
                Some(replicated) => object.update(replicated.op(), &operand, cx),
                None => Ok(()),
            });
        }
        let fits = self.do_own(within, cx, |object, _| match &mut object.replicated {
            Some(replicated) => replicated.offer(operand),
            None => Some(()),
        });
        fits.ok_or_else(|| (self.unfit)(reason.site.as_ref().unwrap_or(&cx.frame.name.made_at)))?;
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
    pub(crate) fn learn(&mut self, epoch: Epoch, (number, answered): (u64, u64), value: &[u8], cx: &mut Cx<'_>) {
        let site = self.site_of(epoch);
        self.do_own((READ_MOSTLY, site), cx, |object, _| {
            let replicated = object.replicated.as_mut().filter(|replicated| replicated.epoch == epoch);
            replicated.into_iter().for_each(|replicated| replicated.learn(number, value, answered));
        });
    }

    pub(super) fn contribute(&mut self, epoch: Epoch, rank: Rank, part: Option<Vec<u8>>) {
        if part.is_some() {
            let size = self.ledger.record(epoch).from.len();
            self.parts.entry(epoch).or_insert_with(|| vec![None; size])[rank.index()] = part;
        }
    }

    pub(super) fn is_of(&self, epoch: Epoch, name: &str) -> bool {
        let mine = self.ledger.find(epoch).and_then(|record| record.mine.as_ref());
        mine.is_some_and(|mine| mine.name == name)
    }

    /// Our line that opened a scope which is not over.
    pub(super) fn site_of(&self, epoch: Epoch) -> Option<Site> {
        Some(self.ledger.find(epoch)?.mine.as_ref()?.site.clone())
    }
}
