//! A scalar as its rank's kernel knows it.

use super::message::{Asked, Message, ScalarRequest};
use super::protocol::{Protocol, READ_MOSTLY};
use super::{Replicated, Spreading, Value};
use crate::ids::{CallId, Epoch};
use crate::kernel::asking::{Asking, When};
use crate::kernel::{Core, Reason};
use crate::memory::{Permit, READ, WRITE};
use crate::object::{Awaited, Call, Cx, Holds, How, Malformed, Obstacle, OpenGuard, SharedObject, Until, Wait};
use crate::operation::{OpId, Operations};
use crate::race::Time;
use crate::scope::{
    self, Due, Ledger, Opening, Outcome, Rule, ScopeMessage, ScopeWait, Scopes, Served, Then, Work, answered_by_scopes,
};
use crate::window::Window;
use crate::{Error, Kind, ObjectName, Site};
use aurora_net::{Payload, Rank, Received};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Applies an operand to an encoded value.
pub(crate) type ScalarFn = fn(current: &[u8], operand: &[u8]) -> Option<Vec<u8>>;

/// The error, at this line, for a type whose values cannot be read as it has written them.
pub(crate) type Unfit = fn(&Site) -> Error;

pub(crate) struct Scalar {
    pub(super) home: Rank,
    pub(super) scopes: Scopes<Self>,
    /// On the home only.
    pub(super) value: Option<Value>,
    pub(super) ops: Operations<ScalarFn>,
    pub(super) unfit: Unfit,
    pub(super) permit: Arc<Permit>,
    /// At home: the contributions of the ranks to a scope that has not ended.
    pub(super) parts: BTreeMap<Epoch, Vec<Option<Vec<u8>>>>,
    /// The value that a ReadCache shows, until its guard takes it.
    pub(super) shown: Option<(Epoch, Vec<u8>)>,
    /// At home: the ReadMostly that is open on some rank.
    pub(super) spreading: Option<Spreading>,
    /// The ReadMostly that is open on this rank.
    pub(super) replicated: Option<Replicated>,
    /// At home: no rank may use the value in place any more, because the scalar is at fault or the job over.
    closed: bool,
    /// Checking mode: every access goes through the kernel.
    pub(super) check: bool,
    /// Checking mode: the accesses before an answer of the home to this rank; at home, before an answer to any rank.
    pub(super) order: Time,
}

/// A wait of the program's thread at a scalar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ScalarWait {
    Scope(ScopeWait),
    /// For the value that the scope of this epoch shows.
    Load(Epoch),
}

impl From<ScalarWait> for Wait {
    fn from(wait: ScalarWait) -> Wait {
        match wait {
            ScalarWait::Scope(wait) => wait.into(),
            ScalarWait::Load(epoch) => Wait { number: ScopeWait::own(0, epoch), until: Until::Acted },
        }
    }
}

impl From<Wait> for ScalarWait {
    fn from(wait: Wait) -> ScalarWait {
        ScopeWait::of(wait).map_or_else(|(_, epoch)| ScalarWait::Load(epoch), ScalarWait::Scope)
    }
}

#[derive(Debug)]
pub(crate) enum ScalarWork {
    Request(Asked),
    /// An operand in a ReadMostly; no rank waits for an answer.
    Offer(OpId),
}

impl Scalar {
    pub(crate) fn new(core: &Core, home: Rank, value: Option<Value>, of_type: (Operations<ScalarFn>, Unfit)) -> Self {
        let (ops, unfit) = of_type;
        Scalar {
            home,
            scopes: Scopes::new(core.me, core.size, false),
            value,
            ops,
            unfit,
            permit: Arc::default(),
            parts: BTreeMap::new(),
            shown: None,
            spreading: None,
            replicated: None,
            closed: false,
            check: core.modes.check,
            order: Time::default(),
        }
    }

    /// Sends a request to the home, which serves it after the scopes up to [`asking_epoch`](Self::asking_epoch).
    pub(crate) fn ask(
        &mut self,
        reason: &Reason,
        (request, after): (ScalarRequest, Option<u64>),
        payload: Vec<u8>,
        cx: &mut Cx<'_>,
    ) -> CallId {
        let how = How::default().on(reason);
        let asking = Asking { to: self.home, how, landing: None, when: When::Now, shown: false, forgotten: false };
        let asked = Asked { epoch: self.asking_epoch(), request, after, time: self.release(request, cx) };
        cx.ask_as(asking, &asked, payload).expect("headers of scalars are short")
    }

    /// At home: lets ranks use the value in place, if `usable`. Once they may not, that is final.
    fn admit_to_value(&mut self, usable: bool) {
        let Some(word) = self.value.as_ref().and_then(Value::word) else {
            return;
        };
        self.closed |= !usable;
        match self.closed {
            true => word.shut(),
            false => word.open(self.scopes.ledger.settled),
        }
    }
}

impl Served for Scalar {
    type Work = ScalarWork;
    type Batch = ();
    /// True if the rank has entered the scope.
    type Arrival = bool;

    const CALLS: &'static str = READ_MOSTLY;

    fn scopes(&self) -> &Scopes<Self> {
        &self.scopes
    }

    fn scopes_mut(&mut self) -> &mut Scopes<Self> {
        &mut self.scopes
    }

    fn attempt(&mut self, work: &mut Work<ScalarWork>, payload: &[u8], cx: &mut Cx<'_>) -> Outcome {
        match &work.what {
            ScalarWork::Request(asked) => {
                self.join(asked.time.clone());
                match self.serve(work.from, asked, payload, cx) {
                    Ok(None) => Outcome::Park,
                    Ok(Some(answer)) => Outcome::Done(Ok(Payload::Bytes(self.with_time(answer).into()))),
                    Err(error) => Outcome::Done(Err(error)),
                }
            }
            ScalarWork::Offer(op) => Outcome::applied(self.update(Some(*op), payload, cx)),
        }
    }

    fn batch(&self, _: Rank, _: &Opening, (): ()) -> Result<ScalarWork, Malformed> {
        Err(Malformed)
    }

    fn header(message: ScopeMessage<()>) -> impl Serialize {
        message
    }

    fn settled(&mut self, epoch: Epoch, _: Rule, cx: &mut Cx<'_>) {
        self.settle(epoch, cx);
    }
}

impl SharedObject for Scalar {
    fn deliver(&mut self, from: Rank, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed> {
        match postcard::from_bytes::<Message>(header).map_err(|_| Malformed)? {
            Message::Come { epoch, opening, time } => {
                self.join(time);
                self.scopes.opened(from, epoch, &opening, cx);
                self.has_come(from, epoch, &opening);
            }
            Message::Part { epoch, opening, offers, contributes, time } => {
                self.join(time);
                self.scopes.opened(from, epoch, &opening, cx);
                self.has_ended(from, epoch, offers, contributes.then(|| payload.into_vec()));
            }
            Message::Over { epoch, time } => {
                self.join(time);
                self.scopes.ledger.conclude(epoch);
            }
            Message::Spread { epoch, number, answered, time } => {
                self.join(time);
                self.receive_value(epoch, (number, answered), payload.bytes(), cx);
            }
            Message::Seen { epoch, seen } => self.has_seen(from, epoch, seen),
            Message::Offer { epoch, seq, op } => {
                let (due, what) = (Due::Within { epoch, seq }, ScalarWork::Offer(op));
                scope::work(self, Work { from, due, then: Then::Nothing, what }, payload, cx);
            }
        }
        Ok(())
    }

    fn request(&mut self, call: Call, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed> {
        let asked: Asked = postcard::from_bytes(header).map_err(|_| Malformed)?;
        let (due, then) = (Due::After(Window::WHOLE, asked.epoch), Then::Answer(call.id));
        scope::work(self, Work { from: call.from, due, then, what: ScalarWork::Request(asked) }, payload, cx);
        Ok(())
    }

    fn advance(&mut self, cx: &mut Cx<'_>) {
        // Messages end scopes, too.
        self.scopes.has_changed = true;
        scope::advance(self, cx);
        self.spread(cx);
        self.set_permit(cx.is_live(), cx.open_guards());
    }

    fn failed(&mut self, cx: &mut Cx<'_>) {
        self.scopes.failed(cx);
    }

    fn shut(&mut self) {
        self.set_permit(false, &[]);
    }

    fn awaits(&self, wait: Wait, name: &ObjectName) -> Awaited {
        let (wait, me) = (ScalarWait::from(wait), self.scopes.ledger.me());
        // A home that waits has done its own part.
        let ranks = self.awaited(wait).into_iter().filter(|rank| *rank != me).collect();
        Awaited { ranks, doing: self.doing(wait, name) }
    }

    answered_by_scopes!();

    fn holds(&self, held: &mut Holds<'_>) {
        scope::holds(self, held);
        if let Some(obstacle) = self.scope_to_end() {
            held.work(0..=u64::MAX, obstacle);
        }
    }

    fn wait_kind(&self, _: Wait) -> Kind {
        Kind::Scalar
    }

    fn watch_looks(&self) {
        self.permit.watch();
        if let Some(replicated) = &self.replicated {
            replicated.replica.watch();
        }
    }

    fn describe(&self, _: &[u8], _: bool) -> &'static str {
        Kind::Scalar.name()
    }
}

impl Scalar {
    /// Sets the accesses that the calling thread may make without the kernel, with these guards open on this rank.
    fn set_permit(&mut self, usable: bool, open: &[OpenGuard]) {
        let Ledger { epoch, settled, .. } = self.scopes.ledger;
        if !usable && let Some(replicated) = &self.replicated {
            replicated.replica.close();
        }
        self.admit_to_value(usable);
        // A guard that only reads does not forbid operations: each of them is atomic.
        let is_mine = usable && !self.check && settled >= epoch && !open.iter().any(|guard| guard.mutable);
        self.permit.set(epoch, 0, if is_mine { READ | WRITE } else { 0 });
    }

    fn awaited(&self, wait: ScalarWait) -> Vec<Rank> {
        if self.home != self.scopes.ledger.me() {
            return vec![self.home];
        }
        if let ScalarWait::Load(epoch) = wait
            && self.scopes.ledger.settled + 1 == epoch
            && self.is_of(epoch, Protocol::ReadMostly)
            && let Some(record) = self.scopes.ledger.find(epoch)
        {
            let missing = record.from.iter().enumerate().filter(|(_, arrival)| !arrival.kept);
            return missing.map(|(rank, _)| Rank::new(rank)).collect();
        }
        let ScalarWait::Scope(wait) = wait else {
            return self.scopes.ledger.first_awaited((Window::WHOLE, self.scopes.ledger.epoch)).unwrap_or_default();
        };
        self.scopes.awaited(wait)
    }

    fn doing(&self, wait: ScalarWait, name: &ObjectName) -> String {
        match wait {
            ScalarWait::Load(_) => {
                let opened = self.scopes.ledger.last.as_ref().map_or("scope", |last| &last.name);
                format!("opens a {opened} of {name}")
            }
            ScalarWait::Scope(wait) => self.scopes.doing(wait, name),
        }
    }

    /// At home: the ranks that must enter the next scope, or end it, before it can end.
    fn scope_to_end(&self) -> Option<Obstacle> {
        let me = Some(self.home).filter(|home| *home == self.scopes.ledger.me())?;
        let next = self.scopes.ledger.settled + 1;
        let record = self.scopes.ledger.find(next)?;
        // A ReadMostly shows a value once all ranks have entered, and ends once all ranks have ended it.
        let is_mostly = Protocol::ReadMostly.is_of(self.scopes.ledger.opening(next)?);
        let coming = is_mostly && record.from.iter().any(|arrival| !arrival.kept);
        let lacking = record.from.iter().enumerate().filter(|(rank, arrival)| match coming {
            true => !arrival.kept,
            false if *rank == me.index() => !record.mine_complete,
            false => !arrival.complete,
        });
        let (mine, behind): (Vec<_>, _) = lacking.map(|(rank, _)| Rank::new(rank)).partition(|rank| *rank == me);
        Some(Obstacle { by_itself: !mine.is_empty(), behind })
    }
}
