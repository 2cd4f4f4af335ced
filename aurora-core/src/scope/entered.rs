//! The calling rank's side of a scope: it enters, sends batches, and ends.

use super::work::{Parked, attempt, finish, park};
use super::{Due, Opening, Outcome, SCOPES_AHEAD, ScopeMessage, ScopeWait, Scopes, Served, Then, Work};
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::object::{Cx, How, Shared};
use crate::race::Time;
use crate::{Error, Result, Site};
use aurora_net::{Payload, Rank, Received};

/// Batches that one owner may have unapplied before a writer waits: this bounds memory on both sides.
const AHEAD: usize = 8;

/// A collective scope that this rank has entered, and its batches so far.
#[derive(Clone, Debug)]
pub(crate) struct Entered {
    pub(crate) epoch: Epoch,
    pub(crate) opening: Opening,
    pub(crate) reason: Reason,
    /// By owners: the number of batches.
    pub(crate) sent: Vec<u64>,
    /// Checking mode: the time that this rank releases at the end.
    pub(crate) time: Option<Time>,
}

impl Entered {
    pub(crate) fn new(epoch: Epoch, opening: Opening, reason: Reason, ranks: usize) -> Self {
        Entered { epoch, opening, reason, sent: vec![0; ranks], time: None }
    }

    /// The line that has opened the scope.
    pub(crate) fn site(&self) -> &Site {
        self.reason.site.as_ref().unwrap_or(&self.opening.site)
    }

    /// The place of the next batch for an owner.
    fn next(&mut self, owner: Rank) -> Due {
        let sent = &mut self.sent[owner.index()];
        *sent += 1;
        Due::Within { epoch: self.epoch, seq: *sent - 1 }
    }
}

impl<S: Served> Scopes<S> {
    /// Ready when an owner may get another batch.
    pub(super) fn poll_room(&mut self, owner: Rank, scope: &Entered, cx: &mut Cx<'_>) -> Option<Result<()>> {
        if let Err(fault) = cx.sound() {
            return Some(Err(fault));
        }
        if self.outstanding[owner.index()] < AHEAD {
            return Some(Ok(()));
        }
        self.awaited = (scope.opening.window, scope.epoch - 1);
        if owner != cx.me() {
            cx.nudge(owner);
        }
        None
    }
}

#[allow(private_bounds, reason = "these methods are those of this crate")]
impl<S: Served> Shared<S> {
    /// Enters a collective scope. Waits only if this rank is many scopes ahead of other ranks.
    pub(crate) fn enter(
        &self,
        (action, opening): (&'static str, Opening),
        mutable: bool,
        site: &Site,
    ) -> Result<Entered> {
        let (window, reason) = (opening.window, Reason::new(action, opening.kind, site));
        let epoch = self.wait_on(ScopeWait::Lead, site, |object, cx| {
            // Inside a scope that all ranks end together no other scope of its part may be opened: no rank would reach
            // the end.
            let is_inside = cx.open_guards().iter().any(|guard| guard.awaited && guard.window.overlaps(window));
            match cx.usable_in(mutable || is_inside, window) {
                Err(error) => Some(Err(error)),
                Ok(()) if object.scopes().ledger.ahead() >= SCOPES_AHEAD => None,
                Ok(()) => {
                    let entered = object.enter(opening.clone(), cx);
                    Some(entered.inspect(|epoch| tell_if_many_are_open::<S>(*epoch, &reason, cx)))
                }
            }
        })?;
        Ok(Entered::new(epoch, opening, reason, self.size))
    }

    /// Sends a batch to another rank, as soon as that owner may get another batch; at once unless `waits`.
    pub(crate) fn send_batch(
        &self,
        scope: &mut Entered,
        (owner, waits): (Rank, bool),
        batch: S::Batch,
        payload: impl FnOnce() -> Payload,
        site: &Site,
    ) -> Result<()> {
        let _call = self.call(scope.reason.action);
        // Serves other ranks' batches, for which this rank is not woken.
        self.look();
        let mut batch = Some((batch, payload));
        self.wait_on(ScopeWait::Room(owner), site, |object, cx| {
            if let Err(fault) = poll(object, (owner, waits), scope, cx)? {
                return Some(Err(fault));
            }
            let (batch, payload) = batch.take()?;
            send(object, scope, owner, batch, payload(), cx);
            Some(Ok(()))
        })
    }

    /// Applies a batch to this rank's own part, or parks it until that is possible; waits as for another owner.
    pub(crate) fn apply_own(
        &self,
        scope: &mut Entered,
        waits: bool,
        (what, payload): (S::Work, &[u8]),
        site: &Site,
    ) -> Result<()> {
        let _call = self.call(scope.reason.action);
        self.look();
        let mut what = Some(what);
        self.wait_on(ScopeWait::OwnRoom, site, |object, cx| {
            if let Err(fault) = poll(object, (cx.me(), waits), scope, cx)? {
                return Some(Err(fault));
            }
            apply_own(object, scope, (what.take()?, payload), cx);
            Some(cx.sound())
        })
    }

    /// Waits until all ranks have ended a scope that this rank has ended, and all its writes are applied.
    pub(crate) fn await_end(&self, scope: &Entered, site: &Site) -> Result<()> {
        let awaited = (scope.opening.window, scope.epoch);
        self.wait_on(ScopeWait::Settle, site, |object, cx| object.scopes_mut().poll_settled(awaited, cx))
    }
}

fn poll<S: Served>(
    object: &mut S,
    (owner, waits): (Rank, bool),
    scope: &Entered,
    cx: &mut Cx<'_>,
) -> Option<Result<(), Error>> {
    if waits { object.scopes_mut().poll_room(owner, scope, cx) } else { Some(cx.sound()) }
}

/// If many scopes are open here, tells all ranks that this rank has entered one more. Otherwise a rank that has ended
/// all of these scopes would be [too far ahead](SCOPES_AHEAD) to open its next one: it would wait for this rank to end
/// them, and this rank may end them only after that next scope.
fn tell_if_many_are_open<S: Served>(epoch: Epoch, reason: &Reason, cx: &mut Cx<'_>) {
    let open = cx.open_guards().iter().filter(|guard| guard.awaited).count();
    if open + 1 >= SCOPES_AHEAD {
        for rank in cx.others() {
            cx.send(rank, &S::header(ScopeMessage::Come { epoch }), Payload::Empty, How::default().on(reason));
        }
    }
}

/// Sends a batch to another rank.
pub(crate) fn send<S: Served>(
    object: &mut S,
    scope: &mut Entered,
    owner: Rank,
    batch: S::Batch,
    payload: Payload,
    cx: &mut Cx<'_>,
) {
    object.scopes_mut().outstanding[owner.index()] += 1;
    if let Due::Within { epoch, seq } = scope.next(owner) {
        let message = ScopeMessage::Batch { epoch, seq, opening: scope.opening.clone(), batch };
        cx.send(owner, &S::header(message), payload, How::default().on(&scope.reason).lazy());
    }
}

/// Applies a batch to this rank's own part, or parks a copy until that is possible.
pub(crate) fn apply_own<S: Served>(
    object: &mut S,
    scope: &mut Entered,
    (what, payload): (S::Work, &[u8]),
    cx: &mut Cx<'_>,
) {
    let from = cx.me();
    object.scopes_mut().outstanding[from.index()] += 1;
    let mut work = Work { from, due: scope.next(from), then: Then::Acknowledge, what };
    match attempt(object, &mut work, payload, cx) {
        Outcome::Done(answer) => finish(object, &work, answer, cx),
        outcome => park(object, Parked { work, payload: Received::Bytes(payload.to_vec()) }, &outcome, cx),
    }
    object.scopes_mut().has_changed = true;
}

/// Tells another rank that this rank has ended a scope. `last`: its last batch, if it travels with this message.
pub(crate) fn end_to<S: Served>(scope: &Entered, owner: Rank, last: Option<(S::Batch, Payload)>, cx: &mut Cx<'_>) {
    let batches = scope.sent[owner.index()] + u64::from(last.is_some());
    let (last, payload) = last.unzip();
    let (opening, time) = (scope.opening.clone(), scope.time.clone());
    let message = ScopeMessage::End { epoch: scope.epoch, opening, batches, last, time };
    cx.send(owner, &S::header(message), payload.unwrap_or(Payload::Empty), How::default().on(&scope.reason));
}

/// This rank has ended a scope. `last`: its last batch to itself.
pub(crate) fn end_here<S: Served>(object: &mut S, scope: &Entered, last: Option<(S::Work, Received)>, cx: &mut Cx<'_>) {
    let (me, seq) = (cx.me(), scope.sent[cx.me().index()]);
    let scopes = object.scopes_mut();
    scopes.released(scope.epoch, scope.opening.window, scope.time.as_ref());
    let record = scopes.ledger.record(scope.epoch);
    record.mine_complete = true;
    record.from[me.index()].batches = seq + u64::from(last.is_some());
    if let Some((what, payload)) = last {
        let due = Due::Within { epoch: scope.epoch, seq };
        super::work(object, Work { from: me, due, then: Then::Nothing, what }, payload, cx);
    }
    object.scopes_mut().has_changed = true;
}
