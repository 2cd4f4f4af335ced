//! `OwnerComputes`: each rank computes on the part that it owns, in place and without messages (paper, Table 2).

mod show;

use super::elements::{ShowsElements, ShowsElementsMut};
use super::{Behaviour, OwnerComputes, OwnerComputesMut, Scope, Taken, kind};
use crate::memory::{Array, View, typed};
use crate::object::Cx;
use crate::scope::ScopeWait;
use crate::vector::asking::GATE;
use crate::vector::check::Held;
use crate::vector::core::VectorCore;
use crate::window::{Window, common};
use crate::{Element, GVector, Result, Site};
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

/// This rank's own part for reading, held from the first slice on.
pub struct Owner<T> {
    part: Part,
    shown: OnceCell<View<T>>,
}

/// This rank's own part for writing, held from the first slice on.
pub struct OwnerMut<T> {
    part: Part,
    taken: OnceCell<Array<T>>,
}

/// The elements that a guard shows.
pub(super) struct Part {
    /// Local indices.
    local: Range<usize>,
    /// The global index of the first element.
    first: usize,
    /// Checking mode.
    checked: Option<Box<Checked>>,
}

struct Checked {
    window: Window,
    /// The guard's line.
    line: Site,
    /// The slice that the program holds, if any.
    held: OnceCell<Option<Held>>,
}

impl Part {
    pub(super) fn new<T: Element>(vector: &GVector<T>, window: Window, site: &Site) -> Self {
        let checked = || Box::new(Checked { window, line: site.clone(), held: OnceCell::new() });
        let own = vector.local_range();
        let part = common(&own, &window.range(vector.len()));
        let local = part.start - own.start..part.end - own.start;
        Part { local, first: part.start, checked: vector.shared.modes.check.then(checked) }
    }

    /// Global indices.
    #[inline]
    fn indices(&self) -> Range<usize> {
        self.first..self.first + self.local.len()
    }

    /// Notes that the program gets a slice. `written`: the slice's elements, if the program may write to them.
    fn hold<T: Element>(&self, vector: &GVector<T>, written: Option<&[T]>) {
        if let Some(Checked { window, line, held }) = self.checked.as_deref() {
            held.get_or_init(|| Held::begin(vector, *window, line, written));
        }
    }

    /// Notes that the program returns its slice, whose elements are `slice`.
    fn give_back<T: Element>(&mut self, vector: &GVector<T>, slice: &[T]) {
        if let Some(held) = self.checked.as_mut().and_then(|checked| checked.held.take()).flatten() {
            let (local, changed) = (self.local.clone(), held.changed(slice));
            vector.shared.let_go(move |object, cx| held.end(&local, changed, object.core(), cx));
        }
    }
}

/// A behaviour that shows this rank's own part, alone or with elements around it.
pub trait HasOwnPart: Behaviour {
    /// The global indices of the part.
    #[doc(hidden)]
    fn indices(&self) -> Range<usize>;

    /// The part, if the guard holds it already.
    #[doc(hidden)]
    fn held(&self) -> Option<&[Self::Element]>;

    /// The part. From now on the guard holds it.
    #[doc(hidden)]
    fn part<'a>(&'a self, vector: &GVector<Self::Element>) -> &'a [Self::Element];

    /// Element `index` of the vector, if the part has it. Otherwise the guard does not hold the part for this call.
    #[doc(hidden)]
    #[inline]
    fn own_get<'a>(&'a self, index: usize, vector: &GVector<Self::Element>) -> Option<&'a Self::Element> {
        let part = match self.held() {
            Some(part) => part,
            None if self.indices().contains(&index) => self.part(vector),
            None => &[],
        };
        part.get(index.wrapping_sub(self.indices().start))
    }
}

/// A behaviour that shows this rank's own part and nothing else.
pub trait ShowsOwnPart: HasOwnPart {}

impl<T: Element> ShowsOwnPart for Owner<T> {}
impl<T: Element> ShowsOwnPart for OwnerMut<T> {}

impl<T> Owner<T> {
    pub(super) fn of(part: Part) -> Self {
        Owner { part, shown: OnceCell::new() }
    }
}

impl<T> OwnerMut<T> {
    pub(super) fn of(part: Part) -> Self {
        OwnerMut { part, taken: OnceCell::new() }
    }
}

kind!([T: Element] Owner<T>);
kind!([T: Element] OwnerMut<T>);

impl<T: Element> Behaviour for Owner<T> {
    type Element = T;
    const NAME: &'static str = "OwnerComputes";

    fn close(&mut self, vector: &GVector<T>, site: &Site, checked: bool) -> Result<()> {
        vector.sound_if_checked(site, checked)
    }

    fn hand_back(&mut self, vector: &GVector<T>) -> Option<Taken> {
        self.part.give_back::<T>(vector, &[]);
        self.shown.take();
        None
    }

    fn abandon(&mut self, vector: &GVector<T>) {
        self.hand_back(vector);
    }
}

impl<T: Element> Behaviour for OwnerMut<T> {
    type Element = T;
    const NAME: &'static str = "OwnerComputes";
    const WRITES: bool = true;

    fn close(&mut self, vector: &GVector<T>, site: &Site, checked: bool) -> Result<()> {
        vector.sound_if_checked(site, checked)
    }

    fn hand_back(&mut self, vector: &GVector<T>) -> Option<Taken> {
        let part = self.taken.take().filter(|part| !part.is_empty())?;
        self.part.give_back(vector, &part);
        Some(Taken { at: self.part.local.start * size_of::<T>(), part: Arc::new(part) })
    }

    fn abandon(&mut self, vector: &GVector<T>) {
        if let Some(taken) = self.hand_back(vector) {
            vector.shared.let_go(move |object, _| object.core().take_back(taken));
        }
    }
}

impl<T: Element> HasOwnPart for Owner<T> {
    #[inline]
    fn indices(&self) -> Range<usize> {
        self.part.indices()
    }

    #[inline]
    fn held(&self) -> Option<&[T]> {
        self.shown.get().map(|shown| &**shown)
    }

    #[inline]
    fn part<'a>(&'a self, vector: &GVector<T>) -> &'a [T] {
        self.held().unwrap_or_else(|| self.show(vector))
    }
}

impl<T: Element> Owner<T> {
    #[cold]
    fn show(&self, vector: &GVector<T>) -> &[T] {
        self.shown.get_or_init(|| {
            let local = &self.part.local;
            self.part.hold::<T>(vector, None);
            if local.is_empty() {
                return View::of(Arc::default(), 0..0);
            }
            let shared = vector.shared.tidy(|object, _| {
                let block = object.core().block_mut();
                block.share_part(&block.bytes_of(local))
            });
            let shared = shared.expect("no write guard can exist together with a shared one");
            let from = local.start - shared.first().map_or(local.start, |(at, _)| at / size_of::<T>());
            let mut pieces = shared.into_iter().map(|(_, piece)| typed::<T>(piece));
            match (pieces.next(), pieces.next()) {
                (Some(piece), None) => View::of(piece, from..from + local.len()),
                // Other guards hold the block in several pieces: this one shows a copy.
                (first, second) => {
                    let pieces: Vec<_> = first.into_iter().chain(second).chain(pieces).collect();
                    let all = pieces.iter().flat_map(|piece| piece.iter().copied());
                    let copy = all.skip(from).take(local.len()).collect::<Vec<_>>();
                    View::of(Arc::new(copy.into()), 0..local.len())
                }
            }
        })
    }
}

impl<T: Element> HasOwnPart for OwnerMut<T> {
    #[inline]
    fn indices(&self) -> Range<usize> {
        self.part.indices()
    }

    #[inline]
    fn held(&self) -> Option<&[T]> {
        self.taken.get().map(|taken| &**taken)
    }

    #[inline]
    fn part<'a>(&'a self, vector: &GVector<T>) -> &'a [T] {
        self.held().unwrap_or_else(|| self.take(vector))
    }
}

impl<T: Element> OwnerMut<T> {
    #[cold]
    fn take(&self, vector: &GVector<T>) -> &[T] {
        self.taken.get_or_init(|| {
            if self.part.local.is_empty() {
                return Array::default();
            }
            let part = vector.shared.tidy(|object, _| object.core().take_part(&self.part.local));
            let part = typed::<T>(part.expect("one write guard of a part at a time"));
            // No other code can hold it: open guards were excluded when this guard was opened.
            let part = Arc::try_unwrap(part).unwrap_or_else(|shared| Array::clone(&shared));
            self.part.hold(vector, Some(&part));
            part
        })
    }

    /// As [`own_get`](HasOwnPart::own_get), for writing.
    #[inline]
    fn own_get_mut(&mut self, index: usize, vector: &GVector<T>) -> Option<&mut T> {
        let own = self.part.indices();
        own.contains(&index).then(|| &mut self.part_mut(vector)[index - own.start])
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
        let state = Owner::of(Part::new(self, window, &site));
        let guard = self.shared.wait_on(ScopeWait::Settle, &site, |object, cx| {
            let core = object.core();
            let usable = core.scopes_mut().poll_usable(false, window, cx)?;
            Some(usable.map(|()| {
                core.block_mut().await_latch_holders();
                core.open_guard((Owner::<T>::NAME, &site), (false, false), window, cx)
            }))
        })?;
        Ok(Scope::new((self, window, site), state, guard))
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
        let state = OwnerMut::of(Part::new(self, window, &site));
        let open = |core: &mut VectorCore, cx: &mut Cx<'_>| {
            let exclusive = core.poll_exclusive(window, cx)?;
            Some(exclusive.map(|()| {
                core.block_mut().await_latch_holders();
                core.open_guard((OwnerMut::<T>::NAME, &site), (true, false), window, cx)
            }))
        };
        let opened = self.shared.wait_on(ScopeWait::Settle, &site, |object, cx| {
            let usable = object.core().scopes_mut().poll_usable(true, window, cx)?;
            Some(usable.and_then(|()| open(object.core(), cx).transpose()))
        })?;
        let guard =
            opened.map_or_else(|| self.shared.wait_on(GATE, &site, |object, cx| open(object.core(), cx)), Ok)?;
        Ok(Scope::new((self, window, site), state, guard))
    }

    /// The checked end of a guard reports a race that was found at its end.
    fn sound_if_checked(&self, site: &Site, checked: bool) -> Result<()> {
        if checked && self.shared.modes.check { self.shared.on(site, |_, cx| cx.sound()) } else { Ok(()) }
    }
}

impl<T: Element> ShowsElements for Owner<T> {
    #[inline]
    fn elements<'a>(&'a self, vector: &GVector<T>) -> (usize, &'a [T]) {
        (self.indices().start, self.part(vector))
    }

    #[inline]
    fn get<'a>(scope: &'a Scope<'_, Self>, index: usize) -> Option<&'a T> {
        scope.state.own_get(index, scope.vector)
    }
}

impl<T: Element> ShowsElements for OwnerMut<T> {
    #[inline]
    fn elements<'a>(&'a self, vector: &GVector<T>) -> (usize, &'a [T]) {
        (self.indices().start, self.part(vector))
    }

    #[inline]
    fn get<'a>(scope: &'a Scope<'_, Self>, index: usize) -> Option<&'a T> {
        scope.state.own_get(index, scope.vector)
    }
}

impl<T: Element> ShowsElementsMut for OwnerMut<T> {
    fn elements_mut(&mut self, vector: &GVector<T>) -> &mut [T] {
        self.part_mut(vector)
    }
}
