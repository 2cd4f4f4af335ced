//! Doing requests and batches: at once, in steps, or later if they must wait.

use super::{Rule, ScopeMessage, Served};
use crate::ids::{CallId, Epoch};
use crate::object::{Call, Cx, Holds, How, Obstacle};
use crate::window::Window;
use crate::{Error, Kind, Site, notice};
use aurora_net::bootstrap::capture;
use aurora_net::{Buffer, Payload, Rank, Received};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// The time that an object works before others have their turn.
const STEP: Duration = Duration::from_micros(100);

/// A request of another rank, or a batch of writes.
#[derive(Clone, Debug)]
pub(crate) struct Work<W> {
    pub(crate) from: Rank,
    pub(crate) due: Due,
    pub(crate) then: Then,
    /// The object's part.
    pub(crate) what: W,
}

/// The place of a piece of work among the scopes of its object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Due {
    /// Once all scopes of this part up to this epoch are `settled`.
    After(Window, Epoch),
    /// In the scope `epoch`: once earlier scopes of its part are `settled`, and `seq` batches of its rank are applied.
    Within { epoch: Epoch, seq: u64 },
    /// No scope delays it.
    Now,
}

impl Due {
    /// The scope of a batch, or the last scope before a request.
    pub(crate) fn epoch(self) -> Epoch {
        match self {
            Due::Within { epoch, .. } | Due::After(_, epoch) => epoch,
            Due::Now => 0,
        }
    }

    /// The scope of a batch.
    pub(crate) fn scope(self) -> Option<Epoch> {
        if let Due::Within { epoch, .. } = self { Some(epoch) } else { None }
    }
}

/// The message that follows a piece of work.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Then {
    Answer(CallId),
    /// The sender of a batch waits for room.
    Acknowledge,
    Nothing,
}

/// The result of an attempt to do a piece of work.
#[derive(Debug)]
pub enum Outcome {
    /// The answer to a request; nothing after a batch.
    Done(Result<Payload, Error>),
    /// Other ranks, or this rank's program, have to act first.
    Park,
    /// A part is done. The rest follows soon, after other work.
    Interrupted,
}

impl Outcome {
    /// The answer to a request, in a buffer of its own.
    pub(crate) fn answer(bytes: Vec<u8>) -> Self {
        Outcome::Done(Ok(Buffer::own(bytes).into()))
    }

    /// The end of a batch.
    pub fn applied(applied: Result<(), Error>) -> Self {
        Outcome::Done(applied.map(|()| Payload::Empty))
    }
}

/// A piece of work that waits, and its payload.
pub(super) struct Parked<W> {
    pub(super) work: Work<W>,
    pub(super) payload: Received,
}

/// The time of an object for work in one call.
#[derive(Debug, Default)]
pub(crate) struct Step {
    until: Option<Instant>,
    /// The time at which work was interrupted.
    interrupted: Option<Instant>,
}

impl Step {
    /// Begins the time for work of this call, unless it has begun.
    pub(crate) fn begin(&mut self, cx: &Cx<'_>) {
        self.until.get_or_insert_with(|| cx.now() + STEP);
    }

    /// True if other objects should have their turn. A faulty object only answers parked work, without a pause: its
    /// timers may be gone.
    pub(crate) fn is_over(&self, cx: &Cx<'_>) -> bool {
        cx.is_sound() && self.until.is_some_and(|until| cx.now() >= until)
    }

    /// Work is interrupted: the rest follows soon.
    pub(super) fn interrupt(&mut self, cx: &Cx<'_>) {
        self.interrupted = Some(cx.now());
    }

    pub(super) fn interrupted(&self) -> Option<Instant> {
        self.interrupted
    }

    /// True if work was interrupted.
    pub(super) fn resume(&mut self) -> bool {
        self.interrupted.take().is_some()
    }
}

/// Settles epochs and does parked work, as far as possible, or until the step is over.
pub(crate) fn advance<S: Served>(object: &mut S, cx: &mut Cx<'_>) {
    let has_changed = std::mem::take(&mut object.scopes_mut().has_changed);
    while has_changed && object.scopes().step.interrupted.is_none() {
        let mut worked = settle(object, cx);
        // One by one: if a user's operation panics, the work behind it must be answered all the same.
        for _ in 0..object.scopes().parked.len() {
            let Some(Parked { work, payload }) = object.scopes_mut().parked.pop_front() else {
                break;
            };
            let is_done = self::work(object, work, payload, cx);
            worked |= is_done;
            let step = &mut object.scopes_mut().step;
            if is_done && S::IN_STEPS && step.is_over(cx) {
                step.interrupt(cx);
            }
            if step.interrupted.is_some() {
                break;
            }
        }
        if !worked {
            break;
        }
        cx.progress();
    }
    object.scopes_mut().step.until = None;
}

/// Settles the next epoch, if possible.
fn settle<S: Served>(object: &mut S, cx: &mut Cx<'_>) -> bool {
    let settled = object.scopes_mut().ledger.try_settle();
    if let Some((epoch, rule)) = settled {
        object.settled(epoch, rule, cx);
    }
    settled.is_some()
}

/// Does a piece of work or parks it; true if it is done.
pub(crate) fn work<S: Served>(object: &mut S, mut work: Work<S::Work>, mut payload: Received, cx: &mut Cx<'_>) -> bool {
    match attempt(object, &mut work, payload.bytes(), cx) {
        Outcome::Done(answer) => finish(object, &work, answer, cx),
        outcome => {
            // The work may stay parked for long, and its sender needs the memory back.
            payload.detach();
            park(object, Parked { work, payload }, &outcome, cx);
            return false;
        }
    }
    if let Received::Bytes(buffer) = payload {
        cx.recycle(buffer);
    }
    true
}

pub(super) fn park<S: Served>(object: &mut S, parked: Parked<S::Work>, outcome: &Outcome, cx: &Cx<'_>) {
    let scopes = object.scopes_mut();
    scopes.parked.push_back(parked);
    if matches!(outcome, Outcome::Interrupted) {
        scopes.step.interrupt(cx);
    }
}

/// Sends the message that follows a piece of work.
pub(super) fn finish<S: Served>(
    object: &mut S,
    Work { from, due, then, .. }: &Work<S::Work>,
    answer: Result<Payload, Error>,
    cx: &mut Cx<'_>,
) {
    match (*then, answer) {
        (Then::Answer(id), answer) => cx.answer(Call { from: *from, id }, answer),
        (_, Err(error)) => {
            // The writes are lost. The program may not use the object again.
            if cx.is_sound() {
                cx.defer(error.clone());
            }
            cx.fail(error);
        }
        (Then::Acknowledge, Ok(_)) if *from == cx.me() => object.scopes_mut().has_room(*from),
        (Then::Acknowledge, Ok(_)) => {
            let opening = due.scope().and_then(|epoch| object.scopes().ledger.opening(epoch));
            let kind = opening.map_or(Kind::Flush, |opening| opening.kind);
            cx.send(*from, &S::header(ScopeMessage::BatchDone), Payload::Empty, How { kind, lazy: true, reason: None });
        }
        (Then::Nothing, Ok(_)) => {}
    }
}

/// Does a piece of work, if it is due and nothing holds it up. If an operation of the program panics in it, the object
/// is poisoned. In this rank's own work the panic then continues, because the program is in a call on the object. In
/// work of other ranks it is caught, because any call, or the daemon, may do that work.
pub(super) fn attempt<S: Served>(object: &mut S, work: &mut Work<S::Work>, payload: &[u8], cx: &mut Cx<'_>) -> Outcome {
    if let Err(fault) = cx.sound() {
        return Outcome::Done(Err(fault));
    }
    let (from, due) = (work.from, work.due);
    if !is_due(object, from, due) {
        return Outcome::Park;
    }
    if S::IN_STEPS {
        object.scopes_mut().step.begin(cx);
    }
    let outcome = if from == cx.me() {
        let caught = catch_unwind(AssertUnwindSafe(|| object.attempt(work, payload, cx)));
        caught.unwrap_or_else(|panic| {
            // Without a scope of its own it is poisoned by the kernel, which knows the guard of the call.
            if let Some((behaviour, opened)) = scope_of(object, due) {
                cx.poison(&behaviour, Some(opened));
            }
            resume_unwind(panic)
        })
    } else {
        capture(cx.me(), || object.attempt(work, payload, cx)).unwrap_or_else(|failure| {
            let (behaviour, opened) = scope_of(object, due).unzip();
            let error = cx.poison(behaviour.as_deref().unwrap_or(S::CALLS), opened);
            notice::operation_panicked(&failure, &error);
            cx.defer(error.clone());
            Outcome::Done(Err(error))
        })
    };
    if let (Outcome::Done(Ok(_)), Some(epoch)) = (&outcome, due.scope()) {
        object.scopes_mut().ledger.record(epoch).from[from.index()].applied += 1;
    }
    outcome
}

/// Does an action that calls operations of the program on data of other ranks. `None`: it has panicked, as inside this
/// behaviour, opened at this line; the object is poisoned, and all ranks get the error.
pub(crate) fn contain<R>(
    (behaviour, opened): (&str, Option<Site>),
    cx: &mut Cx<'_>,
    action: impl FnOnce(&mut Cx<'_>) -> R,
) -> Option<R> {
    let outcome = capture(cx.me(), || action(cx)).inspect_err(|failure| {
        let error = cx.poison(behaviour, opened);
        notice::operation_panicked(failure, &error);
        cx.defer(error);
    });
    outcome.ok()
}

/// The behaviour of a batch, and its line on this rank.
fn scope_of<S: Served>(object: &S, due: Due) -> Option<(String, Site)> {
    let mine = object.scopes().ledger.find(due.scope()?)?.mine.as_ref()?;
    Some((mine.name.to_string(), mine.site.clone()))
}

fn is_due<S: Served>(object: &S, from: Rank, due: Due) -> bool {
    let ledger = &object.scopes().ledger;
    match due {
        Due::After(window, epoch) => ledger.pending(window, epoch).is_none(),
        Due::Within { epoch, seq } => {
            let is_next = || ledger.find(epoch).is_some_and(|record| record.from[from.index()].applied == seq);
            ledger.may_apply(epoch) && ledger.may_apply_from(epoch, from) && is_next()
        }
        Due::Now => true,
    }
}

/// Reports the parked work, for the watch.
pub(crate) fn holds<S: Served>(object: &S, held: &mut Holds<'_>) {
    for Parked { work, .. } in &object.scopes().parked {
        match obstacle(object, work.from, work.due) {
            Obstacle { by_itself: false, behind } if behind.is_empty() && object.may_be_parked() => {
                held.call_any(work.from, (0..object.scopes().ledger.size).map(Rank::new));
            }
            obstacle => held.call(work.from, obstacle),
        }
    }
}

/// The reason why a piece of parked work waits.
pub(super) fn obstacle<S: Served>(object: &S, from: Rank, due: Due) -> Obstacle {
    let ledger = &object.scopes().ledger;
    // A batch is part of its scope and waits for earlier scopes only; a request waits for the scope too.
    let ((window, upto), scope) = match due {
        Due::After(window, epoch) => ((window, epoch), None),
        Due::Within { epoch, .. } => ((ledger.scope_of(epoch).0, epoch.saturating_sub(1)), Some(epoch)),
        // All ranks have arrived at a sync before, so its messages are under way.
        Due::Now => return Obstacle::default(),
    };
    if let Some(next) = ledger.pending(window, upto) {
        let record = ledger.find(next);
        let behind = match record.and_then(|record| record.mine.as_ref()).map(|opening| opening.rule) {
            // The scope is not known yet, or has ended on all other ranks.
            None | Some(Rule::Met) => Vec::new(),
            Some(_) => ledger.awaited(next).collect(),
        };
        return Obstacle { by_itself: !record.is_some_and(|record| record.mine_complete), behind };
    }
    let me = ledger.me();
    let before: Vec<_> = scope.into_iter().flat_map(|epoch| ledger.awaited_before(epoch, from)).collect();
    let is_early = scope.is_some_and(|epoch| ledger.epoch < epoch);
    let by_itself = is_early || object.is_lent() || before.contains(&me);
    Obstacle { by_itself, behind: before.into_iter().filter(|rank| *rank != me).collect() }
}
