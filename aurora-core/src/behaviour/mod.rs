//! Scoped behaviours (paper section 2): guards that change how a shared vector is accessed inside a lexical scope.
//!
//! Every behaviour is a [`Scope`]: one generic guard that registers itself with the kernel, has the methods of its
//! kind, and ends the scope when it is dropped. `src/behaviour/README.md` has the rules.

pub(crate) mod accumulate;
mod batched_reads;
pub(crate) mod buffers;
mod combined;
mod elements;
pub(crate) mod halo;
mod marks;
mod owner;
pub(crate) mod paged;
pub(crate) mod read_cache;
pub(crate) mod release;
mod rows;
mod shown;
mod slice;

pub use batched_reads::{BatchedIter, BatchedPairs, BatchedQueue};
pub use guards::*;
pub use kinds::*;
pub use read_cache::Blocks;
pub use slice::{Slice, SliceMut};

use crate::memory::Shortage;
use crate::object::GuardId;
use crate::vector::{GVector, Taken};
use crate::window::Window;
use crate::{Element, Error, Result, Site};
use std::marker::PhantomData;
use std::ops::Range;

/// The kinds of scopes and their traits, as programs see them: `aurora_core::kinds`.
pub mod kinds {
    pub use super::Behaviour;
    pub use super::accumulate::Accumulated;
    pub use super::batched_reads::Batched;
    pub use super::buffers::Buffered;
    pub use super::combined::Combined;
    pub use super::elements::{ShowsElements, ShowsElementsMut};
    pub use super::halo::Haloed;
    pub use super::owner::{HasOwnPart, Owner, OwnerMut, ShowsOwnPart};
    pub use super::paged::Pages;
    pub use super::read_cache::{Cached, Streamed};
    pub use super::release::{Alone, PutOnly, Together};
}

/// The guards, as programs see them: in `aurora_core` and its prelude.
pub mod guards {
    use super::*;

    /// The rank's own part, for reading: [`GVector::owner_computes`].
    pub type OwnerComputes<'v, T> = Scope<'v, Owner<T>>;
    /// The rank's own part, for writing: [`GVector::owner_computes_mut`].
    pub type OwnerComputesMut<'v, T> = Scope<'v, OwnerMut<T>>;
    /// The whole vector, for reading: [`GVector::read_cache`].
    pub type ReadCache<'v, T> = Scope<'v, Cached<T>>;
    /// The rank's own rows and some around them, for reading: [`GVector::halo_cache`].
    pub type HaloCache<'v, T> = Scope<'v, Haloed<Owner<T>>>;
    /// The rank's own rows, for writing, and some around them: [`GVector::halo_cache_mut`].
    pub type HaloCacheMut<'v, T> = Scope<'v, Haloed<OwnerMut<T>>>;
    /// The whole vector, for reading while it arrives: [`GVector::read_cache_blocks`].
    pub type ReadCacheBlocks<'v, T> = Scope<'v, Streamed<T>>;
    /// The whole vector by pages, for reading: [`GVector::paged`].
    pub type Paged<'v, T> = Scope<'v, Pages<T, false>>;
    /// The whole vector by pages, for reading and writing: [`GVector::paged_mut`].
    pub type PagedMut<'v, T> = Scope<'v, Pages<T, true>>;
    /// Buffered writes by all ranks together: [`GVector::release_c`].
    pub type ReleaseC<'v, T, O = PutOnly> = Scope<'v, Together<T, O>>;
    /// Updates by all ranks, each into a partial copy of its own: [`GVector::accumulate`].
    pub type Accumulate<'v, T, O> = Scope<'v, Accumulated<T, O>>;
    /// The whole vector, for reading and writing: [`GVector::read_cache_release_c`].
    pub type ReadCacheReleaseC<'v, T> = Scope<'v, Combined<T>>;
    /// Many elements, read in batches: [`GVector::batched_reads`].
    pub type BatchedReads<'v, T> = Scope<'v, Batched<T>>;
    /// Buffered writes by one rank alone: [`GVector::release_alone`].
    pub type ReleaseAlone<'v, T, O = PutOnly> = Scope<'v, Alone<T, O>>;
}

/// Makes a type a kind of scope. `Debug` of a kind shows its name only; `Debug` of the guard shows the rest.
macro_rules! kind {
    ([$($generics:tt)*] $kind:ty) => {
        impl<$($generics)*> crate::behaviour::sealed::Sealed for $kind {}

        impl<$($generics)*> std::fmt::Debug for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(<Self as crate::behaviour::Behaviour>::NAME)
            }
        }
    };
}
pub(crate) use kind;

/// A kind of scope: the state of its guard, and its end. Not for users to implement.
pub trait Behaviour: sealed::Sealed + Sized {
    /// The type of the vector's elements.
    type Element: Element;

    /// The public name.
    #[doc(hidden)]
    const NAME: &'static str;

    /// True if the guard borrows the vector mutably.
    #[doc(hidden)]
    const WRITES: bool = false;

    /// True if the end of the scope sends messages.
    #[doc(hidden)]
    const SENDS: bool = false;

    /// Ends the loan of this rank's own part. Returns it if it was for writing; the caller gives it to
    /// [`VectorCore::take_back`](crate::vector::core::VectorCore::take_back).
    #[doc(hidden)]
    fn hand_back(&mut self, _: &GVector<Self::Element>) -> Option<Taken> {
        None
    }

    /// Sends the buffered writes. If `checked`, waits as [`Scope::finish`] describes.
    #[doc(hidden)]
    fn close(&mut self, vector: &GVector<Self::Element>, _: &Site, _checked: bool) -> Result<()> {
        self.abandon(vector);
        Ok(())
    }

    /// Returns the lent elements after a panic. Nothing of the unfinished scope is sent.
    #[doc(hidden)]
    fn abandon(&mut self, vector: &GVector<Self::Element>);
}

pub(crate) mod sealed {
    #[allow(unnameable_types, reason = "behaviours are those of this crate")]
    pub trait Sealed {}
}

/// An open scoped behaviour: a guard whose `Drop` ends the scope.
///
/// Dropping the guard sends the remaining writes; the next use of the vector waits for the other ranks.
/// [`Scope::finish`] is the checked end: it returns errors at once. After a drop, the next use or `run` returns them.
///
/// A guard belongs to the thread that opened it: it is neither `Send` nor `Sync`, and a closure for other threads
/// that names the guard does not compile. The elements that the guard shows are ordinary data, so borrow them first:
/// `let all = guard.as_slice();`, `let mine = guard.local();`, `local_mut()`, `par_rows()`.
///
/// A guard must not be forgotten or leaked: ranks that wait for it get [`Error::Leaked`](crate::Error::Leaked).
#[must_use = "a scope ends when its guard is dropped: keep it, as in `let _guard = ...` (`let _ = ...` drops it at once)"]
pub struct Scope<'v, B: Behaviour> {
    pub(crate) vector: &'v GVector<B::Element>,
    /// The part of the vector that the scope is about. `shown` has its indices.
    pub(crate) window: Window,
    shown: Range<usize>,
    pub(crate) site: Site,
    pub(crate) state: B,
    /// `None` after the end of the scope.
    guard: Option<GuardId>,
    not_send: PhantomData<*const B>,
}

impl<'v, B: Behaviour> Scope<'v, B> {
    /// Opens a scope whose end all ranks await. Then retries parked batches: ranks that opened the scope earlier may
    /// have sent batches that wait for this opening.
    fn open_together(vector: &'v GVector<B::Element>, window: Window, site: Site, state: B) -> Self {
        Self::open_as((true, true), (vector, window, site), state)
    }

    /// Opens a scope that is entered, or that this rank opens alone.
    pub(crate) fn open(vector: &'v GVector<B::Element>, window: Window, site: Site, state: B) -> Self {
        Self::open_as((B::WRITES, false), (vector, window, site), state)
    }

    fn open_as(
        (mutable, awaited): (bool, bool),
        (vector, window, site): (&'v GVector<B::Element>, Window, Site),
        state: B,
    ) -> Self {
        let guard = vector.shared.tidy(|object, cx| {
            let guard = object.core().open_guard((B::NAME, &site), (mutable, awaited), window, cx);
            if awaited {
                object.core().retry();
            }
            guard
        });
        Self::new((vector, window, site), state, guard)
    }

    /// A scope whose guard is registered.
    fn new((vector, window, site): (&'v GVector<B::Element>, Window, Site), state: B, guard: GuardId) -> Self {
        let shown = window.range(vector.len());
        Scope { vector, window, shown, site, state, guard: Some(guard), not_send: PhantomData }
    }

    /// Ends the scope and reports errors: the checked form of dropping the guard.
    ///
    /// For a [`ReleaseC`], a [`ReadCacheReleaseC`], an [`Accumulate`], a [`Paged`] or a [`PagedMut`], returns when
    /// every rank has ended its scope and all writes to this rank's block are applied; for a [`ReleaseAlone`], when its
    /// writes are applied; for [`ReadCacheBlocks`], when the whole vector is here; for other scopes, at once.
    ///
    /// # Errors
    /// `Mismatch`, `Leaked` or `Poisoned` of the vector; the error that ended the job.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let mut scope = v.release_c()?;
    /// let me = world.rank().index();
    /// scope.put(9 - me, me as u64)?;
    /// scope.finish()?; // an error of the scope is returned here
    /// assert_eq!((v.at(9)?, v.at(8)?), (0, 1));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("flush", "MPI_Win_flush", "shmem_quiet", "wait_all"))]
    pub fn finish(mut self) -> Result<()> {
        self.end(true)
    }

    fn end(&mut self, checked: bool) -> Result<()> {
        let (vector, guard) = (self.vector, self.guard.take());
        // Lives until the guard is deregistered: requests parked behind its block may take long.
        let mut _call = None;
        let close = |broken_off, taken: &mut Option<Taken>| {
            if broken_off {
                self.state.abandon(vector);
                return Ok(());
            }
            _call = B::SENDS.then(|| vector.shared.bulk_call(B::NAME));
            *taken = self.state.hand_back(vector);
            self.state.close(vector, &self.site, checked)
        };
        vector.shared.end_guard(guard, close, |object, taken| {
            taken.into_iter().for_each(|taken| object.core().take_back(taken));
            object.core().retry();
        })
    }
}

impl<T: Element> GVector<T> {
    /// Reports to all ranks that this rank has no memory for a scope: otherwise they would wait for this rank.
    fn short_of(&self, shortage: Shortage, purpose: &str, site: &Site) -> Error {
        let error = shortage.error(self.shared.me, purpose, self.name(), site);
        self.shared.tidy(|_, cx| cx.fail(error.clone()));
        error
    }
}

impl<B: Behaviour> Drop for Scope<'_, B> {
    fn drop(&mut self) {
        self.vector.shared.end_dropped(|| self.end(false));
    }
}

impl<B: Behaviour> std::fmt::Debug for Scope<'_, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {:?}, opened at {}", B::NAME, self.vector, self.site)
    }
}
