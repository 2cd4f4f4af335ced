//! `OwnerComputes`: each rank computes on the part that it owns, in place and without messages (paper, Table 2).

mod show;

use super::{Behaviour, OwnerComputes, OwnerComputesMut, Scope, sealed};
use crate::Site;
use crate::element::Element;
use crate::error::Result;
use crate::memory::{Array, typed};
use crate::vector::GVector;
use crate::vector::check::Held;
use crate::vector::waits::VectorWait;
use crate::window::{Window, common};
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

/// This rank's own part for reading, held from the first slice on.
pub struct Owner<T> {
    part: Part,
    shown: OnceCell<Shown<T>>,
}

/// This rank's own part for writing, held from the first slice on.
pub struct OwnerMut<T> {
    part: Part,
    taken: OnceCell<Array<T>>,
}

/// The elements that a guard shows, as local indices.
pub(super) struct Part {
    local: Range<usize>,
    window: Window,
    /// Checking mode: the guard's line. `held`: the slice that the program holds, if any.
    line: Option<Site>,
    held: OnceCell<Option<Held>>,
}

impl Part {
    pub(super) fn new<T: Element>(vector: &GVector<T>, window: Window, site: &Site) -> Self {
        let line = vector.link.modes.check.then(|| site.clone());
        Part { local: vector.own_part(window), window, line, held: OnceCell::new() }
    }

    /// Notes that the program gets a slice. `written`: the slice's elements, if the program may write to them.
    fn hold<T: Element>(&self, vector: &GVector<T>, written: Option<&[T]>) {
        if let Some(line) = &self.line {
            self.held.get_or_init(|| Held::begin(vector, self.window, line, written));
        }
    }

    /// Notes that the program returns its slice, whose elements are `slice`.
    fn give_back<T: Element>(&mut self, vector: &GVector<T>, slice: &[T]) {
        if let Some(held) = self.held.take().flatten() {
            let (local, changed) = (self.local.clone(), held.changed(slice));
            vector.link.let_go(move |object, cx| held.end(&local, changed, object, cx));
        }
    }
}

/// Elements of this rank's block that no code may write to.
struct Shown<T> {
    /// The memory in which the elements lie, from element `from` on.
    pieces: Vec<Arc<Array<T>>>,
    from: usize,
    /// A copy of all of them, if other guards hold the block in several pieces.
    copy: Option<Array<T>>,
}

/// A behaviour that shows this rank's own part, alone or with elements around it.
pub trait HasOwnPart: Behaviour {
    #[doc(hidden)]
    fn part<'a>(&'a self, vector: &GVector<Self::Element>) -> &'a [Self::Element];
}

/// A behaviour that shows this rank's own part and nothing else.
pub trait ShowsOwnPart: HasOwnPart {}

impl<T: Element> ShowsOwnPart for Owner<T> {}
impl<T: Element> ShowsOwnPart for OwnerMut<T> {}

impl<T> Owner<T> {
    /// The local index of the first element.
    pub(super) fn first(&self) -> usize {
        self.part.local.start
    }

    pub(super) fn of(part: Part) -> Self {
        Owner { part, shown: OnceCell::new() }
    }
}

impl<T> OwnerMut<T> {
    /// The local index of the first element.
    pub(super) fn first(&self) -> usize {
        self.part.local.start
    }

    pub(super) fn of(part: Part) -> Self {
        OwnerMut { part, taken: OnceCell::new() }
    }
}

impl<T> sealed::Sealed for Owner<T> {}
impl<T> sealed::Sealed for OwnerMut<T> {}

impl<T: Element> Behaviour for Owner<T> {
    type Element = T;
    const NAME: &'static str = "OwnerComputes";

    fn close(&mut self, vector: &GVector<T>, site: &Site, checked: bool) -> Result<()> {
        self.abandon(vector);
        vector.sound_if_checked(site, checked)
    }

    fn abandon(&mut self, vector: &GVector<T>) {
        self.part.give_back::<T>(vector, &[]);
        self.shown.take();
    }
}

impl<T: Element> Behaviour for OwnerMut<T> {
    type Element = T;
    const NAME: &'static str = "OwnerComputes";

    fn close(&mut self, vector: &GVector<T>, site: &Site, checked: bool) -> Result<()> {
        self.abandon(vector);
        vector.sound_if_checked(site, checked)
    }

    fn abandon(&mut self, vector: &GVector<T>) {
        if let Some(part) = self.taken.take().filter(|part| !part.is_empty()) {
            self.part.give_back(vector, &part);
            let at = self.part.local.start * size_of::<T>();
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
        let shared = shared.expect("no write guard can exist together with a shared one");
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
        let local = &self.part.local;
        let shown = self.shown.get_or_init(|| {
            self.part.hold::<T>(vector, None);
            Shown::new(vector, local)
        });
        shown.elements(local.len())
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
            if self.part.local.is_empty() {
                return Array::default();
            }
            let part = vector.link.tidy_on(|object, _| object.take_part(&self.part.local));
            let part = typed::<T>(part.expect("one write guard of a part at a time"));
            // No other code can hold it: open guards were excluded when this guard was opened.
            let part = Arc::try_unwrap(part).unwrap_or_else(|shared| Array::clone(&shared));
            self.part.hold(vector, Some(&part));
            part
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
    /// Opens `OwnerComputes` for reading: this rank's own part, as a slice. Sends no message.
    ///
    /// From the first slice to the end of the guard, remote writes to the part wait; remote reads are served.
    ///
    /// # Errors
    /// Errors of earlier collective scopes, for whose end the call waits; `Leaked` if a write guard was forgotten.
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
    ///     assert_eq!(mine.local().len(), mine.indices().len()); // the part as a slice, which counts from 0
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("local", "local_data", "forall"))]
    #[track_caller]
    pub fn owner_computes(&self) -> Result<OwnerComputes<'_, T>> {
        self.open_owner(Window::WHOLE, Site::here())
    }

    pub(crate) fn open_owner(&self, window: Window, site: Site) -> Result<OwnerComputes<'_, T>> {
        self.link.wait_on(VectorWait::Settle, &site, |object, cx| {
            object.poll_usable(false, window, cx).map(|settled| settled.map(|()| object.block.await_latch_holders()))
        })?;
        let state = Owner::of(Part::new(self, window, &site));
        Ok(Scope::open(self, window, site, state, false, false))
    }

    /// Opens `OwnerComputes` for writing: this rank's own part, as a mutable slice. Sends no message.
    ///
    /// From the first slice to the end of the guard, every remote access to the part waits.
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
    ///     drop(mine); // now accesses of other ranks to this rank's part are served
    ///     world.barrier()?; // the scope is not collective: without a barrier the owner may not have written yet
    ///     assert_eq!(table.at(4 * 10 + 9)?, 36);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("mut_local_data", "NGA_Access"))]
    #[track_caller]
    pub fn owner_computes_mut(&mut self) -> Result<OwnerComputesMut<'_, T>> {
        self.open_owner_mut(Window::WHOLE, Site::here())
    }

    /// The caller has exclusive use of the window.
    pub(crate) fn open_owner_mut(&self, window: Window, site: Site) -> Result<OwnerComputesMut<'_, T>> {
        self.link.wait_on(VectorWait::Settle, &site, |object, cx| object.poll_usable(true, window, cx))?;
        self.link.wait_on(VectorWait::Gate, &site, |object, cx| {
            object.poll_exclusive(window, cx).map(|open| open.map(|()| object.block.await_latch_holders()))
        })?;
        let state = OwnerMut::of(Part::new(self, window, &site));
        Ok(Scope::open(self, window, site, state, true, false))
    }

    /// The checked end of a guard reports a race that was found at its end.
    fn sound_if_checked(&self, site: &Site, checked: bool) -> Result<()> {
        if checked && self.link.modes.check { self.link.on(site, |_, cx| cx.sound()) } else { Ok(()) }
    }

    /// The elements of a window that this rank owns, by local indices.
    pub(super) fn own_part(&self, window: Window) -> Range<usize> {
        let own = self.local_range();
        let part = common(&own, &window.range(self.len()));
        part.start - own.start..part.end - own.start
    }
}
