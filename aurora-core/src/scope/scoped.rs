//! A part as a shared object.

use super::check::{Access, Checker, How, Notes, Noting};
use super::part::{Part, Turn};
use super::{Due, Ledger, Opening, Outcome, ScopeMessage, ScopeWait, Scopes, Served, Then, Work};
use crate::ids::Epoch;
use crate::kernel::message::malformed;
use crate::memory::Allowance;
use crate::object::{Awaited, Call, Cx, Making, Malformed, Plan, Shared, SharedObject, Wait, decode};
use crate::ops::OpId;
use crate::race::{Opened, Origin};
use crate::window::Window;
use crate::{Kind, ObjectName, Result, Site, World};
use aurora_net::{Payload, Rank, Received};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::result;

/// A [`Part`] and its collective scopes: the shared object of a [`Shared<Scoped<P>>`](Shared).
///
/// The program's calls are methods of the handle: [`request`](Shared::request) and its kin,
/// [`open_scope`](Shared::open_scope), [`lend`](Shared::lend) and [`meet`](Shared::meet). Requests for parts do not go
/// through [`Shared::ask`]: their headers also have the sender's scopes.
pub struct Scoped<P: Part> {
    pub(crate) part: P,
    pub(crate) scopes: Scopes<Self>,
    pub(super) allowance: Allowance,
    /// Checking mode: the accesses to keys.
    pub(crate) check: Option<Box<Checker>>,
}

impl World {
    /// Collective. Makes a shared object with collective scopes, in which each rank has a [`Part`].
    ///
    /// ```
    /// use aurora_core::object::{Payload, Plan};
    /// use aurora_core::ops::{OpId, Sum};
    /// use aurora_core::prelude::*;
    /// use aurora_core::scope::{Access, OpenScope, Opening, Outcome, Part, SendBatch, Turn, Writes};
    ///
    /// /// Votes, counted on rank 0. A request has no data, and its answer is the count.
    /// struct Votes(u8);
    ///
    /// impl Part for Votes {
    ///     type Request = ();
    ///     type Batch = u8;
    ///
    ///     fn is_write((): &()) -> bool {
    ///         false
    ///     }
    ///
    ///     fn serve(&mut self, (): &mut (), _: &[u8], turn: &mut Turn<'_, '_>) -> Outcome {
    ///         let seen = turn.accessed(Access::Read, "votes");
    ///         Outcome::Done(seen.map(|()| vec![self.0].into()))
    ///     }
    ///
    ///     fn apply(&mut self, votes: &mut u8, _: &[u8], _: &mut Turn<'_, '_>) -> Outcome {
    ///         self.0 += *votes;
    ///         Outcome::applied(Ok(()))
    ///     }
    /// }
    ///
    /// /// The votes of a rank.
    /// struct Mine(u8);
    ///
    /// impl Writes<Votes> for Mine {
    ///     fn flush(&mut self, send: SendBatch<'_, Votes>) -> Result<()> {
    ///         send(Rank::new(0), std::mem::take(&mut self.0), Payload::Empty)
    ///     }
    /// }
    ///
    /// Config::threads(3).run(|world| {
    ///     let votes = world.share_part(Plan::new("votes", &()), |_| Ok(Votes(0)))?;
    ///     let mut scope = votes.open_scope(Opening::writes("Election").with_op::<Sum>(), Mine(0))?;
    ///     scope.updated(Rank::new(0), "votes"); // for the race detector
    ///     scope.writes.0 += 2;
    ///     scope.finish()?;
    ///     assert_eq!(votes.request(Rank::new(0), "count", (), vec![])?, [6]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`share`](World::share).
    pub fn share_part<P: Part>(
        &self,
        plan: Plan,
        make: impl FnOnce(&Making<'_>) -> Result<P>,
    ) -> Result<Shared<Scoped<P>>> {
        self.share(plan, |making| Ok(Scoped::new(make(making)?, (making.rank, making.size), making.checks())))
    }
}

/// A request, and the last scope that its sender has entered before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Stamped<R> {
    pub(crate) epoch: Epoch,
    pub(crate) request: R,
    /// Checking mode: the origin of the access.
    pub(crate) origin: Option<Box<Origin>>,
}

/// A batch of a scope of writes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum PartBatch<B> {
    Writes(B),
    /// Checking mode: notes of the writes in the next batches.
    Notes,
}

/// A piece of work for a part. A batch has the operation of updates in its scope.
pub(crate) enum PartWork<P: Part> {
    Request(Stamped<P::Request>),
    Batch(Option<OpId>, PartBatch<P::Batch>),
}

impl<P: Part> Scoped<P> {
    pub(crate) fn new(part: P, (me, size): (Rank, usize), checks: bool) -> Self {
        let (scopes, check) = (Scopes::new(me, size, checks), checks.then(Box::default));
        Scoped { part, scopes, allowance: Allowance::default(), check }
    }

    /// This rank's part.
    pub fn part(&self) -> &P {
        &self.part
    }

    /// This rank's part, to change it. Work that has waited for the change is done after the call.
    pub fn part_mut(&mut self) -> &mut P {
        self.scopes.has_changed = true;
        &mut self.part
    }

    /// The part has freed all memory that it has [taken](Turn::take_memory).
    pub fn freed(&mut self) {
        self.allowance = Allowance::default();
    }

    /// Ready when all earlier scopes are `settled`, so that the object may be used (written, if `mutable`).
    pub(crate) fn poll_usable(&mut self, mutable: bool, cx: &mut Cx<'_>) -> Option<Result<()>> {
        self.scopes.poll_usable(mutable, Window::WHOLE, cx)
    }

    /// Serves a request of this rank itself. `None`: not yet.
    pub(super) fn serve_own(
        &mut self,
        request: &mut P::Request,
        payload: &[u8],
        line: &Site,
        cx: &mut Cx<'_>,
    ) -> Option<Result<Vec<u8>>> {
        if let Err(error) = self.poll_usable(P::is_write(request), cx)? {
            return Some(Err(error));
        }
        if P::IN_STEPS {
            self.scopes.step.begin(cx);
        }
        let Scoped { part, scopes, allowance, check } = self;
        let (from, step) = (cx.me(), &scopes.step);
        let origin = check.is_some().then(|| Origin::here(line, cx.order()));
        let by = (from, scopes.ledger.epoch);
        let noting = check.as_deref_mut().zip(origin.as_ref());
        let noting = noting.map(|(check, origin)| Noting { check, origin, by });
        let mut turn = Turn { cx, from, op: None, step, allowance, noting };
        let served = part.serve(request, payload, &mut turn);
        match owned(served, &turn) {
            Outcome::Done(answer) => {
                self.has_written(P::is_write(request));
                Some(answer.map(into_vec))
            }
            Outcome::Park => None,
            Outcome::Interrupted => {
                self.scopes.step.interrupt(cx);
                None
            }
        }
    }

    /// Parked work may wait for the write.
    fn has_written(&mut self, is_write: bool) {
        self.scopes.has_changed |= is_write && self.scopes.parked().len() > 0;
    }

    /// Applies a batch of notes: the writes of a rank in the scope of this epoch.
    fn apply_notes(
        &mut self,
        (from, epoch): (Rank, Epoch),
        op: Option<OpId>,
        notes: &[u8],
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        let Some(notes) = Notes::decode(notes).filter(|notes| op.is_some() || notes.only_inserts()) else {
            cx.fail_job(malformed(from));
            return Err(malformed(from));
        };
        let Some(check) = &mut self.check else {
            return Ok(());
        };
        let before = self.scopes.released_before(epoch);
        let opened = self.scopes.ledger.opening_of(from, epoch).map(Opened::from);
        for (origin, is_put, place) in notes.into_iter() {
            let access = if is_put { None } else { op }.map_or(Access::Write, Access::Update);
            let how = How::within(epoch, opened.clone(), access.into());
            let time = origin.time.joined(&before);
            check.note((from, epoch - 1), &Origin { time, ..origin }, how, vec![place], cx)?;
        }
        Ok(())
    }

    /// All ranks have met: no earlier access races with a later one.
    pub(super) fn forget_accesses(&mut self) {
        if let Some(check) = &mut self.check {
            **check = Checker::default();
        }
    }
}

/// A part has no memory that the transport may read later.
fn owned(served: Outcome, cx: &Cx<'_>) -> Outcome {
    match served {
        Outcome::Done(Ok(Payload::Lent { .. })) => Outcome::Done(Err(cx.error(LENT))),
        served => served,
    }
}

/// A payload of a part that is not its own.
pub(super) const LENT: &str = "a `Part` cannot lend memory: give the bytes as a `Vec<u8>` or a `Buffer`";

/// The answer of a rank to itself.
fn into_vec(answer: Payload) -> Vec<u8> {
    match answer {
        Payload::Bytes(bytes) => bytes.into(),
        Payload::Shared(buffer) => buffer.to_vec(),
        Payload::Empty | Payload::Lent { .. } => Vec::new(),
    }
}

impl<P: Part> Served for Scoped<P> {
    type Work = PartWork<P>;
    type Batch = PartBatch<P::Batch>;
    type Arrival = ();

    const IN_STEPS: bool = P::IN_STEPS;

    fn scopes(&self) -> &Scopes<Self> {
        &self.scopes
    }

    fn scopes_mut(&mut self) -> &mut Scopes<Self> {
        &mut self.scopes
    }

    fn attempt(&mut self, work: &mut Work<Self::Work>, payload: &[u8], cx: &mut Cx<'_>) -> Outcome {
        let from = work.from;
        if let PartWork::Batch(op, PartBatch::Notes) = work.what {
            let epoch = work.due.scope().unwrap_or_default();
            return Outcome::applied(self.apply_notes((from, epoch), op, payload, cx));
        }
        let Scoped { part, scopes, allowance, check } = self;
        let mut turn = Turn { cx, from, op: None, step: &scopes.step, allowance, noting: None };
        match &mut work.what {
            PartWork::Request(Stamped { epoch, request, origin }) => {
                let noting = check.as_deref_mut().zip(origin.as_deref());
                turn.noting = noting.map(|(check, origin)| Noting { check, origin, by: (from, *epoch) });
                owned(part.serve(request, payload, &mut turn), &turn)
            }
            PartWork::Batch(op, PartBatch::Writes(batch)) => {
                turn.op = *op;
                part.apply(batch, payload, &mut turn)
            }
            PartWork::Batch(_, PartBatch::Notes) => unreachable!("notes are applied above"),
        }
    }

    fn batch(&self, _: Rank, opening: &Opening, batch: Self::Batch) -> result::Result<Self::Work, Malformed> {
        Ok(PartWork::Batch(opening.op, batch))
    }

    fn header(message: ScopeMessage<Self::Batch>) -> impl Serialize {
        message
    }

    fn is_lent(&self) -> bool {
        self.part.is_lent()
    }

    /// The part has parked the work: requests and writes of any rank may change the part.
    fn may_be_parked(&self) -> bool {
        self.scopes.step.interrupted().is_none()
    }
}

impl<P: Part> SharedObject for Scoped<P> {
    fn deliver(
        &mut self,
        from: Rank,
        header: &[u8],
        payload: Received,
        cx: &mut Cx<'_>,
    ) -> result::Result<(), Malformed> {
        let message = postcard::from_bytes(header).map_err(|_| Malformed)?;
        super::deliver(self, from, message, payload, cx)
    }

    fn request(
        &mut self,
        call: Call,
        header: &[u8],
        payload: Received,
        cx: &mut Cx<'_>,
    ) -> result::Result<(), Malformed> {
        let asked: Stamped<P::Request> = decode(header)?;
        let (due, then) = (Due::After(Window::WHOLE, asked.epoch), Then::Answer(call.id));
        let is_write = P::is_write(&asked.request);
        super::work(self, Work { from: call.from, due, then, what: PartWork::Request(asked) }, payload, cx);
        self.has_written(is_write);
        Ok(())
    }

    super::answered_by_scopes!();
    super::worked_by_scopes!(else awaits);

    fn awaits(&self, wait: Wait, name: &ObjectName) -> Awaited {
        let wait = ScopeWait::of(wait).expect("a part has no waits of its own");
        let mut ranks = self.scopes.awaited(wait);
        let Ledger { epoch, .. } = self.scopes.ledger;
        if wait == ScopeWait::Settle
            && self.scopes.ledger.pending(Window::WHOLE, epoch).is_none()
            && self.part.is_lent()
        {
            // The waiting program itself has the guard.
            ranks.push(self.scopes.ledger.me());
        }
        Awaited { ranks, doing: self.scopes.doing(wait, name) }
    }

    fn guard_ended(&mut self) {
        self.scopes.has_changed = true;
    }

    fn wait_kind(&self, _: Wait) -> Kind {
        Kind::Flush
    }

    fn describe(&self, header: &[u8], is_request: bool) -> &'static str {
        if is_request {
            return Kind::Access.name();
        }
        let message = postcard::from_bytes::<ScopeMessage<PartBatch<P::Batch>>>(header);
        message.map_or("message", |message| message.kind().name())
    }
}

impl<P: Part> fmt::Debug for Scoped<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scoped").field("epoch", &self.scopes.ledger.epoch).finish_non_exhaustive()
    }
}
