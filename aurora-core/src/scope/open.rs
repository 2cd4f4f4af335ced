//! A collective scope of writes that the program has open on an object with parts.

use super::check::Noted;
use super::scoped::{LENT, PartBatch, PartWork, Scoped};
use super::{Entered, Opening, Part, end_here, end_to};
use crate::object::{GuardId, Shared};
use crate::window::Window;
use crate::{Error, Result, Site};
use aurora_net::{Payload, Rank};
use serde::Serialize;
use std::fmt;

/// A batch of this many bytes does not travel with the end of a scope: its owner gets it at once.
const FULL: usize = 64 << 10;

/// Sends a batch of writes to the rank that owns them: the batch, and its payload.
pub type SendBatch<'a, P> = &'a mut dyn FnMut(Rank, <P as Part>::Batch, Payload) -> Result<()>;

/// The writes of a rank in a scope that are not sent yet.
pub trait Writes<P: Part> {
    /// Sends all writes in batches, in their order, to their owners. This rank can be one of them. About 64 KiB are a
    /// good batch, and an empty one is a message too. At the end of the scope a shorter last batch to an owner travels
    /// with the message of the end.
    ///
    /// # Errors
    /// Any error makes the object faulty on all ranks, because the writes are lost.
    fn flush(&mut self, send: SendBatch<'_, P>) -> Result<()>;
}

/// A collective scope of writes, open on this rank: [`Shared::open_scope`] opens it. It is also the scope's guard.
///
/// Dropping it ends the scope: it sends the remaining writes and does not wait. [`finish`](OpenScope::finish) is the
/// checked end. A guard belongs to its thread, and must not be forgotten.
#[must_use = "a scope ends when its guard is dropped: keep it, as in `let mut scope = ...`"]
pub struct OpenScope<'s, P: Part, W: Writes<P>> {
    shared: &'s Shared<Scoped<P>>,
    scope: Entered,
    /// The writes that are not sent yet.
    pub writes: W,
    /// Checking mode: notes of the writes.
    noted: Option<Noted>,
    /// `None` after the end of the scope.
    guard: Option<GuardId>,
}

impl<P: Part> Shared<Scoped<P>> {
    /// Collective. Opens a scope in which every rank may write to every part. The writes are seen after the scope: the
    /// next request of any rank comes after all writes of all ranks. Waits for no rank, unless this rank is eight
    /// scopes ahead.
    ///
    /// The line of `opening` is the line of the scope in errors. The handle of an object should be borrowed mutably
    /// while the scope lives.
    ///
    /// # Errors
    /// `Leaked` if a guard was forgotten; `Mismatch`, with both lines, if another rank is known to have opened a
    /// different scope; the error that ended the object or the job.
    pub fn open_scope<W: Writes<P>>(&self, opening: Opening, writes: W) -> Result<OpenScope<'_, P, W>> {
        let (site, name) = (opening.site.clone(), opening.behaviour());
        let scope = self.enter((name, opening), true, &site)?;
        let guard = self.tidy(|_, cx| cx.open_guard((name, &site), (true, true), Window::WHOLE));
        let noted = self.modes.check.then(|| Noted::new(self.size));
        Ok(OpenScope { shared: self, scope, writes, noted, guard: Some(guard) })
    }
}

impl<P: Part, W: Writes<P>> OpenScope<'_, P, W> {
    /// The line that has opened the scope.
    pub fn site(&self) -> &Site {
        self.scope.site()
    }

    /// Checking mode: the calling line writes a key of this owner. It races with accesses of other ranks to the key,
    /// also in this scope.
    #[inline]
    #[track_caller]
    pub fn wrote(&mut self, owner: Rank, key: &(impl Serialize + ?Sized)) {
        self.note((owner, true), key, &Site::here());
    }

    /// Checking mode: the calling line updates a key of this owner by the operation of the scope
    /// ([`Opening::with_op`]). Two updates do not race.
    #[inline]
    #[track_caller]
    pub fn updated(&mut self, owner: Rank, key: &(impl Serialize + ?Sized)) {
        self.note((owner, self.scope.opening.op.is_none()), key, &Site::here());
    }

    #[inline]
    fn note(&mut self, write: (Rank, bool), key: &(impl Serialize + ?Sized), line: &Site) {
        if let Some(noted) = &mut self.noted {
            noted.note(self.shared, write, key, line);
        }
    }

    /// True in checking mode.
    #[inline]
    pub(crate) fn checks(&self) -> bool {
        self.noted.is_some()
    }

    /// Sends the writes that are buffered. Waits for owners that have many batches of this rank to apply.
    ///
    /// # Errors
    /// The error of [`Writes::flush`], or the error that prevents that a batch is sent: both are the fault of the
    /// object.
    pub fn flush(&mut self) -> Result<()> {
        let opened = self.scope.site().clone();
        let (shared, behaviour) = (self.shared, self.scope.opening.behaviour());
        let flushed = shared.poisoned_by_panics((behaviour, Some(&opened)), || {
            self.send_notes(true)?;
            let OpenScope { scope, writes, .. } = self;
            flush(writes, &mut |owner, batch, payload| send(shared, scope, (owner, true), (batch, payload)))
        });
        // The program may go on without the lost writes, so the object must fail.
        flushed.inspect_err(|error| shared.tidy(|_, cx| cx.fail(error.clone())))
    }

    fn send_notes(&mut self, waits: bool) -> Result<()> {
        let OpenScope { shared, scope, noted, .. } = self;
        for (owner, notes) in noted.iter_mut().flat_map(Noted::take) {
            let (site, op) = (scope.site().clone(), scope.opening.op);
            match owner == shared.me {
                true => shared.apply_own(scope, waits, (PartWork::Batch(op, PartBatch::Notes), &notes), &site),
                false => {
                    let notes = || Payload::Bytes(notes.into());
                    shared.send_batch(scope, (owner, waits), PartBatch::Notes, notes, &site)
                }
            }?;
        }
        Ok(())
    }

    /// Ends the scope and reports errors: the checked form of dropping the guard. Returns when all ranks have ended the
    /// scope and all writes to this rank's part are applied.
    ///
    /// # Errors
    /// `Mismatch`, `Leaked` or `Poisoned` of the object; the error of [`Writes::flush`] or [`Part::apply`] on this
    /// rank, and that of another rank if it is known here: otherwise a later use returns it; the error that ended the
    /// job.
    pub fn finish(mut self) -> Result<()> {
        self.end(true)
    }

    fn end(&mut self, checked: bool) -> Result<()> {
        let (shared, guard) = (self.shared, self.guard.take());
        let close = |broken_off, (): &mut ()| if broken_off { Ok(()) } else { self.close(checked) };
        shared.end_guard(guard, close, |scoped, ()| scoped.scopes.has_changed = true)
    }

    fn close(&mut self, checked: bool) -> Result<()> {
        let shared = self.shared;
        let _call = shared.bulk_call(self.scope.opening.behaviour());
        let ended = self.end_to_all().inspect_err(|error| {
            // Otherwise the other ranks would wait for this rank.
            shared.tidy(|_, cx| cx.fail(error.clone()));
        });
        ended?;
        if checked { shared.await_end(&self.scope, self.scope.site()) } else { Ok(()) }
    }

    fn end_to_all(&mut self) -> Result<()> {
        let shared = self.shared;
        if self.checks() {
            self.scope.time = shared.tidy(|_, cx| cx.release());
        }
        self.send_notes(false)?;
        let OpenScope { scope, writes, .. } = self;
        // The last batch to each owner travels with the end. Other ranks get theirs before this rank applies its own.
        let mut last: Vec<_> = (0..shared.size).map(|_| None).collect();
        let mut own = Vec::new();
        flush(writes, &mut |owner, batch, payload| {
            if owner == shared.me {
                own.push((batch, payload));
                return Ok(());
            }
            let before = last.get_mut(owner.index()).and_then(Option::take);
            before.map_or(Ok(()), |before| send(shared, scope, (owner, false), before))?;
            match last.get_mut(owner.index()) {
                Some(last) if payload.len() < FULL => *last = Some((batch, payload)),
                _ => send(shared, scope, (owner, false), (batch, payload))?,
            }
            Ok(())
        })?;
        for owner in shared.me.others(shared.size) {
            let last = last[owner.index()].take().map(|(batch, payload)| (PartBatch::Writes(batch), payload));
            shared.on(scope.site(), |_, cx| {
                if last.is_some() || scope.sent[owner.index()] > 0 {
                    cx.sound()?;
                }
                end_to::<Scoped<P>>(scope, owner, last, cx);
                Ok(())
            })?;
        }
        own.into_iter().try_for_each(|batch| send(shared, scope, (shared.me, false), batch))?;
        shared.on(scope.site(), |scoped, cx| {
            end_here(scoped, scope, None, cx);
            Ok(())
        })
    }
}

/// Flushes writes. An error of `send` counts, whether [`Writes::flush`] returns it or not.
fn flush<P: Part>(writes: &mut impl Writes<P>, send: SendBatch<'_, P>) -> Result<()> {
    let mut failed = Ok(());
    let flushed = writes.flush(&mut |owner, batch, payload| {
        send(owner, batch, payload).inspect_err(|error| failed = Err(error.clone()))
    });
    flushed.and(failed)
}

/// Sends a batch to its owner as soon as the owner may get another batch, or at once unless `waits`.
fn send<P: Part>(
    shared: &Shared<Scoped<P>>,
    scope: &mut Entered,
    (owner, waits): (Rank, bool),
    (batch, payload): (P::Batch, Payload),
) -> Result<()> {
    let (batch, site) = (PartBatch::Writes(batch), scope.site().clone());
    if owner.index() >= shared.size {
        return Err(Error::NoSuchRank { rank: owner, size: shared.size, site });
    }
    if let Payload::Lent { .. } = payload {
        return Err(shared.tidy(|_, cx| cx.error(LENT)));
    }
    if owner != shared.me {
        return shared.send_batch(scope, (owner, waits), batch, || payload, &site);
    }
    let bytes: &[u8] = match &payload {
        Payload::Bytes(bytes) => bytes,
        Payload::Shared(buffer) => buffer,
        Payload::Empty | Payload::Lent { .. } => &[],
    };
    shared.apply_own(scope, waits, (PartWork::Batch(scope.opening.op, batch), bytes), &site)
}

impl<P: Part, W: Writes<P>> Drop for OpenScope<'_, P, W> {
    fn drop(&mut self) {
        self.shared.end_dropped(|| self.end(false));
    }
}

impl<P: Part, W: Writes<P>> fmt::Debug for OpenScope<'_, P, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {:?}, opened at {}", self.scope.opening.name, self.shared, self.scope.site())
    }
}
