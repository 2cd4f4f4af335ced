//! A scalar as its rank's kernel knows it.

use super::message::{Asked, Message, ScalarRequest};
use super::scopes::READ_MOSTLY;
use super::{Replicated, Spreading, Value};
use crate::epoch::{Ends, Ledger, Opening, defer_lost_writes};
use crate::error::{Claim, ObjectName};
use crate::ids::{CallId, Epoch};
use crate::kernel::asking::{Asking, When};
use crate::kernel::{Core, Reason};
use crate::memory::{Permit, READ, WRITE};
use crate::object::{Awaited, Call, Cx, Holds, How, Malformed, Obstacle, OpenGuard, SharedObject, Until, Wait};
use crate::operation::{OpId, Operations};
use crate::race::Time;
use crate::stats::Kind;
use crate::window::Window;
use crate::{Error, Site};
use aurora_net::{Payload, Rank, Received};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Applies an operand to an encoded value.
pub(crate) type ScalarFn = fn(current: &[u8], operand: &[u8]) -> Option<Vec<u8>>;

/// The error, at this line, for a type whose values cannot be read as it has written them.
pub(crate) type Unfit = fn(&Site) -> Error;

pub(crate) struct Scalar {
    pub(super) home: Rank,
    pub(super) ledger: Ledger,
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
    parked: VecDeque<Parked>,
    ends: Ends,
}

/// A wait of the program's thread at a scalar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ScalarWait {
    /// For the end of an earlier scope on all ranks.
    Settle,
    /// For the value that the scope of this epoch shows.
    Load(Epoch),
}

impl From<ScalarWait> for Wait {
    fn from(wait: ScalarWait) -> Wait {
        match wait {
            // Epochs begin with 1.
            ScalarWait::Settle => Wait { number: 0, until: Until::Ended },
            ScalarWait::Load(epoch) => Wait { number: epoch, until: Until::Came },
        }
    }
}

impl From<Wait> for ScalarWait {
    fn from(wait: Wait) -> ScalarWait {
        if wait.number == 0 { ScalarWait::Settle } else { ScalarWait::Load(wait.number) }
    }
}

/// A piece of work that cannot be done yet.
pub(super) struct Parked {
    from: Rank,
    work: Work,
    payload: Received,
}

#[derive(Clone, Debug)]
pub(super) enum Work {
    /// A request; of this rank itself if it has no number.
    Request(Option<CallId>, Asked),
    /// An operand in a ReadMostly; no rank waits for an answer.
    Offer { epoch: Epoch, seq: u64, op: OpId },
}

impl Scalar {
    pub(crate) fn new(core: &Core, home: Rank, value: Option<Value>, of_type: (Operations<ScalarFn>, Unfit)) -> Self {
        let (ops, unfit) = of_type;
        Scalar {
            home,
            ledger: Ledger::new(core.me, core.size),
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
            parked: VecDeque::new(),
            ends: Ends::new(core.size),
        }
    }

    /// Does a piece of work or parks it; true if it is done.
    fn work(&mut self, mut parked: Parked, cx: &mut Cx<'_>) -> bool {
        let (from, work) = (parked.from, parked.work.clone());
        let opened = if let Work::Offer { epoch, .. } = work { self.site_of(epoch) } else { None };
        let within = (READ_MOSTLY, opened);
        let payload = &parked.payload;
        let outcome = self.contain(within, cx, |scalar, cx| scalar.attempt(from, work.clone(), payload.bytes(), cx));
        let answer = match outcome {
            Some(Ok(None)) => {
                // The payload may stay parked for long, and its sender needs the memory back.
                parked.payload.detach();
                self.parked.push_back(parked);
                return false;
            }
            Some(Ok(Some(answer))) => Ok(answer),
            Some(Err(error)) => Err(error),
            None => cx.sound().map(|()| Vec::new()),
        };
        match (work, answer) {
            (Work::Request(Some(id), _), answer) => {
                cx.answer(Call { from, id }, answer.map(|answer| Payload::Bytes(self.with_time(answer).into())));
            }
            (_, Err(error)) => cx.fail(error),
            (_, Ok(_)) => {}
        }
        if let Received::Bytes(buffer) = parked.payload {
            cx.out.recycle(buffer);
        }
        true
    }

    /// Does a piece of work and returns the answer, which may have no receiver. `None`: the work must be parked.
    pub(super) fn attempt(
        &mut self,
        from: Rank,
        work: Work,
        payload: &[u8],
        cx: &mut Cx<'_>,
    ) -> Result<Option<Vec<u8>>, Error> {
        cx.sound()?;
        match work {
            Work::Request(_, asked) if self.ledger.pending(Window::WHOLE, asked.epoch).is_some() => Ok(None),
            Work::Request(_, asked) => {
                self.join(asked.time.clone());
                self.serve(from, asked, payload, cx)
            }
            Work::Offer { epoch, seq, op } => {
                let is_due = self.ledger.may_apply(epoch) && self.ledger.may_apply_from(epoch, from);
                if !is_due || self.ledger.record(epoch).from[from.index()].applied != seq {
                    return Ok(None);
                }
                self.update(Some(op), payload, cx)?;
                self.ledger.record(epoch).from[from.index()].applied += 1;
                Ok(Some(Vec::new()))
            }
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

    /// Another rank has opened a scope, which must be the same on all ranks.
    fn opened(&mut self, from: Rank, epoch: Epoch, opening: &Opening, cx: &mut Cx<'_>) {
        if let Err(error) = self.ledger.opened_by(from, epoch, opening, &cx.frame.name) {
            cx.fail(error);
        }
    }

    /// At home: lets ranks use the value in place, if `usable`. Once they may not, that is final.
    fn admit_to_value(&mut self, usable: bool) {
        let Some(word) = self.value.as_ref().and_then(Value::word) else {
            return;
        };
        self.closed |= !usable;
        match self.closed {
            true => word.shut(),
            false => word.open(self.ledger.settled),
        }
    }
}

impl SharedObject for Scalar {
    fn deliver(&mut self, from: Rank, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed> {
        match postcard::from_bytes::<Message>(header).map_err(|_| Malformed)? {
            Message::Come { epoch, opening, time } => {
                self.join(time);
                self.opened(from, epoch, &opening, cx);
                self.has_come(from, epoch, &opening);
            }
            Message::Part { epoch, opening, offers, contributes, time } => {
                self.join(time);
                self.opened(from, epoch, &opening, cx);
                self.has_ended(from, epoch, offers, contributes.then(|| payload.into_vec()));
            }
            Message::Over { epoch, time } => {
                self.join(time);
                self.ledger.conclude(epoch);
            }
            Message::Spread { epoch, number, answered, time } => {
                self.join(time);
                self.told(epoch, (number, answered), payload.bytes(), cx);
            }
            Message::Seen { epoch, seen } => self.has_seen(from, epoch, seen),
            Message::Offer { epoch, seq, op } => {
                self.work(Parked { from, work: Work::Offer { epoch, seq, op }, payload }, cx);
            }
        }
        Ok(())
    }

    fn request(&mut self, call: Call, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed> {
        let asked = postcard::from_bytes(header).map_err(|_| Malformed)?;
        let work = Work::Request(Some(call.id), asked);
        self.work(Parked { from: call.from, work, payload }, cx);
        Ok(())
    }

    /// Settles epochs and does parked work for as long as possible.
    fn advance(&mut self, cx: &mut Cx<'_>) {
        loop {
            let settled = self.ledger.try_settle();
            if let Some((epoch, _)) = settled {
                self.settle(epoch, cx);
            }
            let mut worked = false;
            // One by one: if a user's operation panics, the work behind it must be answered all the same.
            for _ in 0..self.parked.len() {
                if let Some(parked) = self.parked.pop_front() {
                    worked |= self.work(parked, cx);
                }
            }
            if settled.is_none() && !worked {
                break;
            }
            cx.progress();
        }
        self.spread(cx);
        self.set_permit(cx.core.is_usable() && cx.is_sound(), &cx.frame.open);
    }

    fn failed(&mut self, cx: &mut Cx<'_>) {
        defer_lost_writes(&self.ledger, cx);
    }

    fn shut(&mut self) {
        self.set_permit(false, &[]);
    }

    fn entered(&self) -> u64 {
        self.ledger.epoch
    }

    fn digest(&self) -> u64 {
        self.ledger.entered()
    }

    fn claim(&self, name: &ObjectName, _: Rank) -> Claim {
        self.ledger.last_claim(name)
    }

    fn drop_notice(&mut self, cx: &mut Cx<'_>) -> Vec<u8> {
        self.ends.drop_notice(&self.ledger, cx)
    }

    fn peer_dropped(&mut self, from: Rank, notice: &[u8], cx: &mut Cx<'_>) -> Result<(), Malformed> {
        self.ends.peer_dropped((from, notice), |_| true, &self.ledger, cx)
    }

    fn awaits(&self, wait: Wait, name: &ObjectName) -> Awaited {
        let (wait, me) = (ScalarWait::from(wait), self.ledger.me());
        // A home that waits has done its own part.
        let ranks = self.awaited(wait).into_iter().filter(|rank| *rank != me).collect();
        Awaited { ranks, doing: self.doing(wait, name) }
    }

    fn holds(&self, held: &mut Holds<'_>) {
        self.parked.iter().for_each(|parked| held.call(parked.from, self.obstacle(parked.from, &parked.work)));
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
        let Ledger { epoch, settled, .. } = self.ledger;
        if !usable && let Some(replicated) = &self.replicated {
            replicated.replica.close();
        }
        self.admit_to_value(usable);
        // A guard that only reads does not forbid operations: each of them is atomic.
        let is_mine = usable && !self.check && settled >= epoch && !open.iter().any(|guard| guard.mutable);
        self.permit.set(epoch, 0, if is_mine { READ | WRITE } else { 0 });
    }

    fn awaited(&self, wait: ScalarWait) -> Vec<Rank> {
        if self.home != self.ledger.me() {
            return vec![self.home];
        }
        if let ScalarWait::Load(epoch) = wait
            && self.ledger.settled + 1 == epoch
            && self.is_of(epoch, READ_MOSTLY)
            && let Some(record) = self.ledger.find(epoch)
        {
            let missing = record.from.iter().enumerate().filter(|(_, arrival)| !arrival.came);
            return missing.map(|(rank, _)| Rank::new(rank)).collect();
        }
        self.ledger.first_awaited((Window::WHOLE, self.ledger.epoch)).unwrap_or_default()
    }

    fn doing(&self, wait: ScalarWait, name: &ObjectName) -> String {
        let mostly = self.ledger.last.as_ref().is_some_and(|last| last.name == READ_MOSTLY);
        match wait {
            ScalarWait::Load(_) if mostly => format!("opens a ReadMostly of {name}"),
            ScalarWait::Load(_) => format!("opens a ReadCache of {name}"),
            ScalarWait::Settle => format!("waits for the end of a scope of {name}"),
        }
    }

    /// At home: the ranks that must enter the next scope, or end it, before it can end.
    fn scope_to_end(&self) -> Option<Obstacle> {
        let me = Some(self.home).filter(|home| *home == self.ledger.me())?;
        let next = self.ledger.settled + 1;
        let record = self.ledger.find(next)?;
        // A ReadMostly shows a value once all ranks have entered, and ends once all ranks have ended it.
        let is_mostly = self.ledger.opening(next)?.name == READ_MOSTLY;
        let coming = is_mostly && record.from.iter().any(|arrival| !arrival.came);
        let lacking = record.from.iter().enumerate().filter(|(rank, arrival)| match coming {
            true => !arrival.came,
            false if *rank == me.index() => !record.mine_complete,
            false => !arrival.complete,
        });
        let (mine, behind): (Vec<_>, _) = lacking.map(|(rank, _)| Rank::new(rank)).partition(|rank| *rank == me);
        Some(Obstacle { by_itself: !mine.is_empty(), behind })
    }

    /// The ranks for which a piece of parked work waits.
    fn obstacle(&self, from: Rank, work: &Work) -> Obstacle {
        let ledger = &self.ledger;
        let (epoch, upto, is_offer) = match work {
            Work::Request(_, Asked { epoch, .. }) => (*epoch, *epoch, false),
            Work::Offer { epoch, .. } => (*epoch, epoch.saturating_sub(1), true),
        };
        if let Some(next) = ledger.pending(Window::WHOLE, upto) {
            let is_known = ledger.find(next).is_some_and(|record| record.mine.is_some());
            let behind = if is_known { ledger.awaited(next).collect() } else { Vec::new() };
            let complete = ledger.find(next).is_some_and(|record| record.mine_complete);
            return Obstacle { by_itself: !complete, behind };
        }
        let before: Vec<_> = if is_offer { ledger.awaited_before(epoch, from).collect() } else { Vec::new() };
        let by_itself = is_offer && ledger.epoch < epoch || before.contains(&ledger.me());
        Obstacle { by_itself, behind: before.into_iter().filter(|rank| *rank != ledger.me()).collect() }
    }
}
