//! `OwnerComputes`: each rank computes on the part that it owns, in place and without messages (paper, Table 2).

mod show;

use super::{Behaviour, OwnerComputes, OwnerComputesMut, Scope, sealed};
use crate::Site;
use crate::element::Element;
use crate::error::Result;
use crate::memory::{Array, typed};
use crate::vector::GVector;
use crate::vector::waits::VectorWait;
use crate::window::{Window, common};
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

/// Holds this rank's own part for reading, from the first slice on.
pub struct Owner<T> {
    /// Local indices of the part.
    pub(super) local: Range<usize>,
    shown: OnceCell<Shown<T>>,
}

/// Holds this rank's own part for writing, from the first slice on.
pub struct OwnerMut<T> {
    pub(super) local: Range<usize>,
    taken: OnceCell<Array<T>>,
}

/// Elements of this rank's block that no code may write to.
struct Shown<T> {
    /// The memory in which they lie, from element `from` on.
    pieces: Vec<Arc<Array<T>>>,
    from: usize,
    /// A copy of all of them, if other guards hold the block in several pieces.
    copy: Option<Array<T>>,
}

/// A behaviour that shows this rank's own part, alone or with what lies around it.
pub trait HasOwnPart: Behaviour {
    #[doc(hidden)]
    fn part<'a>(&'a self, vector: &GVector<Self::Element>) -> &'a [Self::Element];
}

/// A behaviour that shows this rank's own part and nothing else.
pub trait ShowsOwnPart: HasOwnPart {}

impl<T: Element> ShowsOwnPart for Owner<T> {}
impl<T: Element> ShowsOwnPart for OwnerMut<T> {}

impl<T> Owner<T> {
    pub(super) fn of(local: Range<usize>) -> Self {
        Owner { local, shown: OnceCell::new() }
    }
}

impl<T> OwnerMut<T> {
    pub(super) fn of(local: Range<usize>) -> Self {
        OwnerMut { local, taken: OnceCell::new() }
    }
}

impl<T> sealed::Sealed for Owner<T> {}
impl<T> sealed::Sealed for OwnerMut<T> {}

impl<T: Element> Behaviour for Owner<T> {
    type Element = T;
    const NAME: &'static str = "OwnerComputes";

    fn abandon(&mut self, _: &GVector<T>) {
        self.shown.take();
    }
}

impl<T: Element> Behaviour for OwnerMut<T> {
    type Element = T;
    const NAME: &'static str = "OwnerComputes";

    fn abandon(&mut self, vector: &GVector<T>) {
        if let Some(part) = self.taken.take().filter(|part| !part.is_empty()) {
            let at = self.local.start * size_of::<T>();
            vector.link.let_go(move |object, _| object.block.give_back_part(at, Arc::new(part)));
        }
    }
}

impl<T: Element> Shown<T> {
    fn new(vector: &GVector<T>, local: &Range<usize>) -> Self {
        if local.is_empty() {
            return Shown { pieces: Vec::new(), from: 0, copy: None };
        }
        let shared = vector.link.tidy_on(|object, _| {
            let bytes = object.block.bytes_of(local);
            object.block.share_part(&bytes)
        });
        let shared = shared.expect("no write guard can exist beside a shared one");
        let from = local.start - shared.first().map_or(local.start, |(at, _)| at / size_of::<T>());
        let pieces: Vec<_> = shared.into_iter().map(|(_, piece)| typed::<T>(piece)).collect();
        let copy = (pieces.len() > 1).then(|| {
            let all = pieces.iter().flat_map(|piece| piece.iter().copied());
            Array::from(all.skip(from).take(local.len()).collect::<Vec<_>>())
        });
        Shown { pieces, from, copy }
    }

    #[inline]
    fn elements(&self, len: usize) -> &[T] {
        match (&self.copy, self.pieces.first()) {
            (Some(copy), _) => copy,
            (None, Some(piece)) => &piece[self.from..self.from + len],
            (None, None) => &[],
        }
    }
}

impl<T: Element> HasOwnPart for Owner<T> {
    #[inline]
    fn part<'a>(&'a self, vector: &GVector<T>) -> &'a [T] {
        self.shown.get_or_init(|| Shown::new(vector, &self.local)).elements(self.local.len())
    }
}

impl<T: Element> HasOwnPart for OwnerMut<T> {
    #[inline]
    fn part<'a>(&'a self, vector: &GVector<T>) -> &'a [T] {
        self.take(vector)
    }
}

impl<T: Element> OwnerMut<T> {
    #[inline]
    fn take(&self, vector: &GVector<T>) -> &Array<T> {
        self.taken.get().unwrap_or_else(|| self.take_anew(vector))
    }

    #[cold]
    fn take_anew(&self, vector: &GVector<T>) -> &Array<T> {
        self.taken.get_or_init(|| {
            if self.local.is_empty() {
                return Array::default();
            }
            let part = vector.link.tidy_on(|object, _| object.take_part(&self.local));
            let part = typed::<T>(part.expect("one write guard of a part at a time"));
            // No other code can hold it: open guards were excluded when this guard was opened.
            Arc::try_unwrap(part).unwrap_or_else(|shared| Array::clone(&shared))
        })
    }

    #[inline]
    pub(super) fn part_mut(&mut self, vector: &GVector<T>) -> &mut [T] {
        if self.taken.get().is_none() {
            self.take(vector);
        }
        self.taken.get_mut().expect("just taken")
    }
}

impl<T: Element> GVector<T> {
    /// Opens `OwnerComputes` for reading: this rank's own part, as a slice. No message.
    ///
    /// While a slice is borrowed, remote writes to the part wait; remote reads are served.
    ///
    /// # Errors
    /// Those of earlier collective scopes, for whose end it waits; `Leaked` if a write guard was forgotten; in
    /// [checking mode](crate::Config::check) [`Error::Unflushed`](crate::Error::Unflushed) if another rank's write to
    /// the part is not flushed.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(2).run(|world| {
    ///     let v = GVector::<u64>::from_fn(world, 7, |i| i as u64)?; // rank 0 owns 0..4, rank 1 owns 4..7
    ///     let mine = v.owner_computes()?;
    ///     for i in mine.indices() {
    ///         assert_eq!(mine[i], i as u64); // global indices
    ///     }
    ///     assert_eq!(mine.local().len(), mine.indices().len()); // the same as a slice, which begins with its element 0
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn owner_computes(&self) -> Result<OwnerComputes<'_, T>> {
        self.open_owner(Window::WHOLE, Site::here())
    }

    pub(crate) fn open_owner(&self, window: Window, site: Site) -> Result<OwnerComputes<'_, T>> {
        self.link.wait_on(VectorWait::Settle, &site, |object, cx| {
            object.poll_usable(false, window, cx).map(|settled| settled.map(|()| object.block.await_latch_holders()))
        })?;
        self.check_read(self.own_part(window), window, <Owner<T> as Behaviour>::NAME, &site)?;
        let state = Owner::of(self.own_part(window));
        Ok(Scope::open(self, window, site, state, false, false))
    }

    /// Opens `OwnerComputes` for writing: this rank's own part, as a mutable slice. No message.
    ///
    /// While a slice is borrowed, every remote access to the part waits.
    ///
    /// # Errors
    /// As [`owner_computes`](GVector::owner_computes); `Leaked` if any guard was forgotten.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(2).run(|world| {
    ///     let mut table = GVector::<u64>::new(world, MatrixDim::new(5, 10))?; // whole rows on each rank
    ///     let mut mine = table.owner_computes_mut()?;
    ///     for row in mine.rows() {
    ///         for col in 0..10 {
    ///             mine[(row, col)] = (row * col) as u64;
    ///         }
    ///     }
    ///     drop(mine); // what waits for this rank's part is served from here on
    ///     world.barrier()?; // nothing is collective here: without it a rank reads what its owner may not have written
    ///     assert_eq!(table.at(4 * 10 + 9)?, 36);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn owner_computes_mut(&mut self) -> Result<OwnerComputesMut<'_, T>> {
        self.open_owner_mut(Window::WHOLE, Site::here())
    }

    /// The caller has exclusive use of that part.
    pub(crate) fn open_owner_mut(&self, window: Window, site: Site) -> Result<OwnerComputesMut<'_, T>> {
        self.link.wait_on(VectorWait::Settle, &site, |object, cx| object.poll_usable(true, window, cx))?;
        self.check_read(self.own_part(window), window, <OwnerMut<T> as Behaviour>::NAME, &site)?;
        self.link.wait_on(VectorWait::Gate, &site, |object, cx| {
            object.poll_exclusive(window, cx).map(|open| open.map(|()| object.block.await_latch_holders()))
        })?;
        let state = OwnerMut::of(self.own_part(window));
        Ok(Scope::open(self, window, site, state, true, false))
    }

    /// The elements of a window that this rank owns, by local indices.
    pub(super) fn own_part(&self, window: Window) -> Range<usize> {
        let own = self.local_range();
        let part = common(&own, &window.range(self.len()));
        part.start - own.start..part.end - own.start
    }
}
