//! The public seam of the scope layer: a rank's part of an object, and its turns to work.

use super::Outcome;
use super::check::{Access, How, Noting, Place};
use super::work::Step;
use crate::Error;
use crate::memory::Allowance;
use crate::object::Cx;
use crate::ops::OpId;
use aurora_net::Rank;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::Any;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// The memory of a part in errors.
const ITS_PART: &str = "its part";

/// A rank's part of a shared object with collective scopes: [`World::share_part`](crate::World::share_part) makes the
/// object.
///
/// A part does two kinds of work. It *serves* requests of ranks, each after the scopes that the rank has entered
/// before. It *applies* batches of writes, each inside its scope. The layer does all else: it orders the work, keeps
/// work that is not due, limits the batches under way, finds ranks that open different scopes, forgotten guards, waits
/// that cannot end, and, in checking mode, races.
///
/// `examples/counting_map.rs` is a whole object; [`GMap`](crate::GMap) is another.
pub trait Part: Any + Send + Sized {
    /// The header of a request. The data travels in the payload: a header has at most 1000 bytes.
    type Request: Serialize + DeserializeOwned + Send;
    /// The header of a batch of writes. A field that serde skips can keep the progress of long work, or this rank's
    /// writes to its own part, which need no encoding.
    type Batch: Serialize + DeserializeOwned + Send;

    /// True if a piece of work may take longer than 100 us. It then returns [`Outcome::Interrupted`] as soon as
    /// [`Turn::is_over`], and is called again, with the same `request` or `batch`, after other objects had their turn.
    const IN_STEPS: bool = false;

    /// Returns true if a request changes the part. A rank with a forgotten guard that reads may make no such request.
    fn is_write(request: &Self::Request) -> bool;

    /// Serves a request of [`Turn::from`]: this rank, or another. [`Outcome::Park`]: it has changed nothing, and is
    /// called again after each change of the part. If a guard holds it up, [`is_lent`](Part::is_lent) has to be true.
    fn serve(&mut self, request: &mut Self::Request, payload: &[u8], turn: &mut Turn<'_, '_>) -> Outcome;

    /// Applies a batch of writes. It may only be parked while a guard has the part. An error is the fault of the
    /// object, on all ranks.
    fn apply(&mut self, batch: &mut Self::Batch, payload: &[u8], turn: &mut Turn<'_, '_>) -> Outcome;

    /// Returns true if a guard of this rank's program has the part or a piece of it, so that work may have to wait for
    /// its end. The layer uses the answer to find waits that cannot end.
    fn is_lent(&self) -> bool {
        false
    }
}

/// The turn of a part to do a piece of work. It derefs to [`Cx`].
pub struct Turn<'t, 'c> {
    pub(super) cx: &'t mut Cx<'c>,
    pub(super) from: Rank,
    pub(super) op: Option<OpId>,
    pub(super) step: &'t Step,
    pub(super) allowance: &'t mut Allowance,
    pub(super) noting: Option<Noting<'t>>,
}

impl Turn<'_, '_> {
    /// The rank whose request or batch this is.
    pub fn from(&self) -> Rank {
        self.from
    }

    /// The operation of the scope of a batch ([`Opening::with_op`](super::Opening::with_op)).
    pub fn op(&self) -> Option<OpId> {
        self.op
    }

    /// Returns true if other objects should have their turn: [`Part::IN_STEPS`].
    pub fn is_over(&self) -> bool {
        self.step.is_over(self.cx)
    }

    /// Checking mode: a request accesses a key of this part. Call it for each access of [`Part::serve`], before the
    /// answer. The writer itself notes the writes of a scope ([`OpenScope::wrote`](super::OpenScope::wrote)): in
    /// [`Part::apply`] this does nothing.
    ///
    /// # Errors
    /// [`Error::Race`], which is the fault of the object: the access races with an earlier one.
    #[inline]
    pub fn accessed(&mut self, access: Access, key: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        if self.noting.is_some() { self.note(access, Place::of(key)) } else { Ok(()) }
    }

    #[cold]
    fn note(&mut self, access: Access, place: Option<Place>) -> Result<(), Error> {
        let Some(Noting { check, origin, by }) = &mut self.noting else {
            return Ok(());
        };
        check.note(*by, origin, How::bare(access.into()), place.into_iter().collect(), self.cx)
    }

    /// Takes about `bytes` bytes of this machine's memory, before the part keeps them. The layer looks at the free
    /// memory from time to time, so that an object that grows ends with an error before the system kills the process.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], which is the fault of the object.
    #[inline]
    pub fn take_memory(&mut self, bytes: usize) -> Result<(), Error> {
        let made_at = |cx: &Cx<'_>| cx.made_at().clone();
        self.allowance.take(bytes).map_err(|shortage| self.cx.no_memory(shortage, ITS_PART, &made_at(self.cx)))
    }
}

impl<'c> Deref for Turn<'_, 'c> {
    type Target = Cx<'c>;

    fn deref(&self) -> &Cx<'c> {
        self.cx
    }
}

impl<'c> DerefMut for Turn<'_, 'c> {
    fn deref_mut(&mut self) -> &mut Cx<'c> {
        self.cx
    }
}

impl fmt::Debug for Turn<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("from", &self.from).field("cx", self.cx).finish_non_exhaustive()
    }
}
