//! Collective scopes for [shared objects](crate::object) of your own.
//!
//! In a *collective scope* of writes every rank may write to every rank's part of an object. The writes are buffered,
//! travel in batches, and are seen after the scope: the next access of any rank comes after all writes of all ranks.
//! No rank waits at the beginning of a scope, and at its end only a rank that uses the object at once.
//!
//! An object is a [`Part`] on each rank. [`World::share_part`](crate::World::share_part) makes it, and returns a handle
//! with these calls:
//!
//! | call | effect |
//! |---|---|
//! | [`request`](crate::object::Shared::request) | one rank asks a part, after the scopes that it has entered |
//! | [`request_each`](crate::object::Shared::request_each) | many requests to many ranks at the same time |
//! | [`open_scope`](crate::object::Shared::open_scope) | all ranks open a scope of [`Writes`]: [`OpenScope`] |
//! | [`lend`](crate::object::Shared::lend) | a guard of one rank shows or takes its own part |
//! | [`meet`](crate::object::Shared::meet) | all ranks meet, and each acts on its own part |
//!
//! The part only serves requests and applies batches. The layer orders them, limits the batches under way, and reports
//! ranks that open different scopes, forgotten guards, waits that cannot end, panics, and, if the part names the
//! accessed keys, races: each with the lines of both ranks. `examples/counting_map.rs` is a whole object.

// The objects of this crate are `Served` and keep `Scopes`: README.md in this folder.

mod calls;
pub(crate) mod check;
mod early;
mod ends;
mod entered;
#[cfg(test)]
mod layer;
mod ledger;
mod message;
mod open;
mod opening;
mod part;
mod record;
mod scoped;
mod settling;
#[cfg(test)]
mod tests;
mod waits;
mod work;

pub(crate) use entered::{Entered, apply_own, end_here, end_to, send};
pub(crate) use ledger::{Ledger, SCOPES_AHEAD};
pub(crate) use message::{ScopeMessage, deliver};
pub(crate) use opening::Rule;
pub(crate) use record::Record;
#[cfg(test)]
pub(crate) use scoped::{PartBatch, Stamped};
pub(crate) use waits::ScopeWait;
pub(crate) use work::{Due, Then, Work, advance, contain, holds, work};

pub use check::Access;
pub use open::{OpenScope, SendBatch, Writes};
pub use opening::Opening;
pub use part::{Part, Turn};
pub use scoped::Scoped;
pub use work::Outcome;

use crate::error::A_CALL;
use crate::ids::Epoch;
use crate::object::{Cx, Malformed, SharedObject};
use crate::race::{Released, Time};
use crate::window::Window;
use crate::{Error, Kind};
use aurora_net::Rank;
use ends::{Ends, defer_lost_writes};
use ledger::Disagreement;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::time::Instant;
use work::{Parked, Step};

/// A shared object with collective scopes.
pub(crate) trait Served: SharedObject + Sized {
    /// The object's part of a piece of work.
    type Work;
    /// The object's part of the header of a batch of writes.
    type Batch: Serialize + DeserializeOwned;
    /// The data that the object keeps of each rank in each scope that is not `settled`.
    type Arrival: Clone + Default;

    /// The behaviour in which operations of the program run for requests of other ranks, as errors call it.
    const CALLS: &'static str = A_CALL;

    /// True if a piece of work may take long: others have their turn after 100 us, also between two pieces.
    const IN_STEPS: bool = false;

    fn scopes(&self) -> &Scopes<Self>;
    fn scopes_mut(&mut self) -> &mut Scopes<Self>;

    /// Does a piece of work that is due.
    fn attempt(&mut self, work: &mut Work<Self::Work>, payload: &[u8], cx: &mut Cx<'_>) -> Outcome;

    /// The work of a batch that has arrived in the scope of this opening.
    ///
    /// # Errors
    /// No rank of this build sends such a batch.
    fn batch(&self, from: Rank, opening: &Opening, batch: Self::Batch) -> Result<Self::Work, Malformed>;

    /// The header of a message about scopes.
    fn header(message: ScopeMessage<Self::Batch>) -> impl Serialize;

    /// True if an opening can be an opening of this object.
    fn fits(&self, opening: &Opening) -> bool {
        opening.window == Window::WHOLE
    }

    /// This rank enters a scope.
    fn enter(&mut self, opening: Opening, cx: &mut Cx<'_>) -> Result<Epoch, Error> {
        self.scopes_mut().enter(opening, cx)
    }

    /// An epoch is `settled`.
    fn settled(&mut self, epoch: Epoch, _rule: Rule, _cx: &mut Cx<'_>) {
        self.scopes_mut().ledger.forget(epoch);
    }

    /// True if work has to wait until the program gives something back.
    fn is_lent(&self) -> bool {
        false
    }

    /// True if work that is due, and that nothing is known to hold up, waits for the program of any rank. False: a
    /// transfer or a step is under way.
    fn may_be_parked(&self) -> bool {
        false
    }
}

/// The scopes of one object on one rank.
pub(crate) struct Scopes<S: Served> {
    pub(crate) ledger: Ledger<S::Arrival>,
    /// True if [`advance`] has to look: an epoch may be `settled`, or parked work done.
    pub(crate) has_changed: bool,
    pub(crate) step: Step,
    /// If the calling thread waits for scopes to end: their part of the object, and their last epoch.
    pub(crate) awaited: (Window, Epoch),
    parked: VecDeque<Parked<S::Work>>,
    /// By owners: batches of this rank that the owner has not applied.
    outstanding: Vec<usize>,
    /// Checking mode: the times at the ends of scopes.
    released: Option<Released>,
    ends: Ends,
}

impl<S: Served> Scopes<S> {
    pub(crate) fn new(me: Rank, size: usize, checks: bool) -> Self {
        Scopes {
            ledger: Ledger::new(me, size),
            has_changed: true,
            step: Step::default(),
            awaited: (Window::WHOLE, 0),
            parked: VecDeque::new(),
            outstanding: vec![0; size],
            released: checks.then(Released::default),
            ends: Ends::new(size),
        }
    }

    /// The work that waits.
    pub(crate) fn parked(&self) -> impl ExactSizeIterator<Item = &S::Work> {
        self.parked.iter().map(|parked| &parked.work.what)
    }

    /// Enters a scope in the ledger.
    pub(crate) fn enter(&mut self, opening: Opening, cx: &mut Cx<'_>) -> Result<Epoch, Error> {
        // Ranks that have entered the scope before may have sent batches that wait for this entry.
        self.has_changed = true;
        self.ledger.enter_as(opening, cx.name()).inspect_err(|error| cx.fail(error.clone()))
    }

    /// Another rank has opened a scope, which must be the same on all ranks.
    pub(crate) fn opened(&mut self, from: Rank, epoch: Epoch, opening: &Opening, cx: &mut Cx<'_>) {
        if let Err(error) = self.ledger.opened_by(from, epoch, opening, cx.name()) {
            cx.fail(error);
        }
    }

    /// This rank has done its part of a scope under [`Rule::Met`].
    pub(crate) fn end_met(&mut self, epoch: Epoch) {
        self.ledger.set_settled(epoch);
        self.ledger.forget(epoch);
        self.has_changed = true;
    }

    /// Ready when all earlier scopes of a part are `settled`, so that it may be used (written, if `mutable`).
    pub(crate) fn poll_usable(&mut self, mutable: bool, window: Window, cx: &mut Cx<'_>) -> Option<Result<(), Error>> {
        if let Err(error) = cx.usable_in(mutable, window) {
            return Some(Err(error));
        }
        if self.ledger.pending(window, self.ledger.epoch).is_none() {
            self.acquire(window, cx);
            return Some(Ok(()));
        }
        self.awaited = (window, self.ledger.epoch);
        None
    }

    /// Ready when a scope of this part is `settled`.
    pub(crate) fn poll_settled(&mut self, scope: (Window, Epoch), cx: &mut Cx<'_>) -> Option<Result<(), Error>> {
        self.awaited = scope;
        self.acquire(scope.0, cx);
        cx.sound_if(self.ledger.is_settled(scope.1))
    }

    /// An owner has applied a batch of this rank.
    fn has_room(&mut self, owner: Rank) {
        let outstanding = &mut self.outstanding[owner.index()];
        *outstanding = outstanding.saturating_sub(1);
    }

    /// A rank has ended or announced its part of a scope, and releases its earlier accesses.
    pub(crate) fn released(&mut self, epoch: Epoch, window: Window, time: Option<&Time>) {
        if let (Some(released), Some(time)) = (&mut self.released, time) {
            released.add(epoch, window, time, |epoch| self.ledger.is_settled(epoch));
        }
    }

    /// Orders the next accesses of this rank's program after the `settled` scopes of a part.
    pub(crate) fn acquire(&mut self, window: Window, cx: &mut Cx<'_>) {
        let ledger = &self.ledger;
        if let Some(released) = &mut self.released {
            let over = |epoch| epoch <= ledger.epoch && ledger.is_settled(epoch);
            released.acquire(window, over, cx.order_mut());
        }
    }

    /// The time that earlier scopes of the same part have released.
    pub(crate) fn released_before(&self, epoch: Epoch) -> Time {
        let before = |released: &Released| {
            let window = self.ledger.scope_of(epoch).0;
            released.before(epoch, window, |epoch| self.ledger.is_settled(epoch))
        };
        self.released.as_ref().map_or_else(Time::default, before)
    }

    /// The kind under which writes are counted.
    pub(crate) fn writing(&self) -> Kind {
        let kind = self.ledger.last.as_ref().filter(|last| last.has_writes()).map(|last| last.kind);
        kind.unwrap_or(Kind::Flush)
    }

    /// The object has become faulty. Parked requests are now answered with the fault.
    pub(crate) fn failed(&mut self, cx: &mut Cx<'_>) {
        self.has_changed = true;
        self.step.resume();
        defer_lost_writes(&self.ledger, cx);
    }

    /// True if no work waits for its next step: the object can be freed.
    pub(crate) fn is_idle(&self) -> bool {
        self.step.interrupted().is_none()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.step.interrupted()
    }

    /// Interrupted work goes on.
    pub(crate) fn handle_timeout(&mut self) {
        self.has_changed |= self.step.resume();
    }

    pub(crate) fn drop_notice(&mut self, cx: &mut Cx<'_>) -> Vec<u8> {
        self.ends.drop_notice(&self.ledger, cx)
    }
}

/// The methods of [`SharedObject`] that the scopes of an object answer.
macro_rules! answered_by_scopes {
    () => {
        fn entered(&self) -> u64 {
            crate::scope::Served::scopes(self).ledger.epoch
        }

        fn digest(&self) -> u64 {
            crate::scope::Served::scopes(self).ledger.digest()
        }

        fn claim(&self, name: &crate::error::ObjectName, _: aurora_net::Rank) -> crate::error::Claim {
            crate::scope::Served::scopes(self).ledger.last_claim(name)
        }

        fn drop_notice(&mut self, cx: &mut crate::object::Cx<'_>) -> Vec<u8> {
            crate::scope::Served::scopes_mut(self).drop_notice(cx)
        }

        fn peer_dropped(
            &mut self,
            from: aurora_net::Rank,
            notice: &[u8],
            cx: &mut crate::object::Cx<'_>,
        ) -> Result<(), crate::object::Malformed> {
            crate::scope::peer_dropped(self, (from, notice), cx)
        }
    };
}
pub(crate) use answered_by_scopes;

/// Further methods of [`SharedObject`], for an object whose work and waits are all of its scopes.
macro_rules! worked_by_scopes {
    () => {
        crate::scope::worked_by_scopes!(else awaits);

        fn awaits(&self, wait: crate::object::Wait, name: &crate::error::ObjectName) -> crate::object::Awaited {
            let wait = crate::scope::ScopeWait::of(wait).expect("the object has no waits of its own");
            crate::object::Awaited { ranks: self.scopes.awaited(wait), doing: self.scopes.doing(wait, name) }
        }
    };
    (else awaits) => {
        fn advance(&mut self, cx: &mut crate::object::Cx<'_>) {
            crate::scope::advance(self, cx);
        }

        fn failed(&mut self, cx: &mut crate::object::Cx<'_>) {
            self.scopes.failed(cx);
        }

        fn poll_timeout(&self) -> Option<std::time::Instant> {
            self.scopes.poll_timeout()
        }

        fn handle_timeout(&mut self, _: std::time::Instant, _: &mut crate::object::Cx<'_>) {
            self.scopes.handle_timeout();
        }

        fn is_idle(&self, faulty: bool) -> bool {
            faulty || self.scopes.is_idle()
        }

        fn holds(&self, held: &mut crate::object::Holds<'_>) {
            crate::scope::holds(self, held);
        }
    };
}
pub(crate) use worked_by_scopes;

/// Another rank has dropped its handle, with this notice.
pub(crate) fn peer_dropped<S: Served>(
    object: &mut S,
    (from, notice): (Rank, &[u8]),
    cx: &mut Cx<'_>,
) -> Result<(), Malformed> {
    let entered = Ends::read(notice, |last| object.fits(last))?;
    let Scopes { ends, ledger, .. } = object.scopes_mut();
    ends.peer_dropped((from, entered), ledger, cx);
    Ok(())
}
