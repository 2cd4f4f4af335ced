//! `OwnerComputes`: each rank computes on the part that it owns, in place and without messages (paper, Table 2).

use super::{Behaviour, OwnerComputes, OwnerComputesMut, Scope, sealed};
use crate::element::Element;
use crate::error::Result;
use crate::global::{GVector, GlobalRead, GlobalWrite};
use crate::memory::{Array, typed};
use crate::service::watch::What;
use crate::{Error, Site};
use std::cell::OnceCell;
use std::ops::{Index, IndexMut, Range};
use std::sync::Arc;

/// Holds our block for reading, from the first slice on.
pub struct Owner<T> {
    shown: OnceCell<Arc<Array<T>>>,
}

/// Holds our block for writing, from the first slice on.
pub struct OwnerMut<T> {
    taken: OnceCell<Array<T>>,
}

/// A behaviour that shows this rank's own part.
pub trait ShowsOwnPart: Behaviour {
    /// The part.
    #[doc(hidden)]
    fn part<'a>(&'a self, vector: &GVector<Self::Element>) -> &'a [Self::Element];
}

impl<T> Default for Owner<T> {
    fn default() -> Self {
        Owner { shown: OnceCell::new() }
    }
}

impl<T> Default for OwnerMut<T> {
    fn default() -> Self {
        OwnerMut { taken: OnceCell::new() }
    }
}

impl<T> sealed::Sealed for Owner<T> {}
impl<T> sealed::Sealed for OwnerMut<T> {}

impl<T: Element> Behaviour for Owner<T> {
    type Element = T;
    const NAME: &'static str = "OwnerComputes";

    fn close(&mut self, _: &GVector<T>, _: &Site, _: bool) -> Result<()> {
        self.shown.take();
        Ok(())
    }

    fn abandon(&mut self, _: &GVector<T>) {
        self.shown.take();
    }
}

impl<T: Element> Behaviour for OwnerMut<T> {
    type Element = T;
    const NAME: &'static str = "OwnerComputes";

    fn close(&mut self, vector: &GVector<T>, _: &Site, _: bool) -> Result<()> {
        self.abandon(vector);
        Ok(())
    }

    fn abandon(&mut self, vector: &GVector<T>) {
        if let Some(block) = self.taken.take() {
            vector.link.tidy(|service, _| {
                if let Some(object) = service.objects.get_mut(&vector.id) {
                    object.block.give_back(Arc::new(block));
                }
            });
        }
    }
}

impl<T: Element> ShowsOwnPart for Owner<T> {
    fn part<'a>(&'a self, vector: &GVector<T>) -> &'a [T] {
        self.shown.get_or_init(|| {
            let shared =
                vector.link.tidy(|service, _| service.objects.get_mut(&vector.id).and_then(|o| o.block.share()));
            typed(shared.expect("no write guard can exist beside a shared one"))
        })
    }
}

impl<T: Element> ShowsOwnPart for OwnerMut<T> {
    fn part<'a>(&'a self, vector: &GVector<T>) -> &'a [T] {
        self.take(vector)
    }
}

impl<T: Element> OwnerMut<T> {
    fn take(&self, vector: &GVector<T>) -> &Array<T> {
        self.taken.get_or_init(|| {
            let block = vector.link.tidy(|service, _| service.take_block(vector.id));
            let block = typed::<T>(block.expect("one write guard at a time"));
            // Nobody else can hold it: open guards were looked for when this one was made.
            Arc::try_unwrap(block).unwrap_or_else(|shared| Array::clone(&shared))
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
    /// While a slice is held out remote writes to the part wait; remote reads are served.
    ///
    /// # Errors
    /// Those of earlier collective scopes, whose end it waits for; `Leaked` where a write guard was forgotten.
    #[track_caller]
    pub fn owner_computes(&self) -> Result<OwnerComputes<'_, T>> {
        let site = Site::here();
        self.link.wait(What::Settle { object: self.id }, &site, |service, out| {
            service.settled(self.id, false, out).map(|object| object.map(drop))
        })?;
        Ok(Scope::open(self, site, Owner::default(), false, false))
    }

    /// Opens `OwnerComputes` for writing: this rank's own part, as a mutable slice. No message.
    ///
    /// While a slice is held out every remote access to the part waits.
    ///
    /// # Errors
    /// Those of earlier collective scopes, whose end it waits for; `Leaked` where a guard was forgotten.
    #[track_caller]
    pub fn owner_computes_mut(&mut self) -> Result<OwnerComputesMut<'_, T>> {
        let site = Site::here();
        self.link.wait(What::Settle { object: self.id }, &site, |service, out| {
            service.settled(self.id, true, out).map(|object| object.map(drop))
        })?;
        self.link.wait(What::Gate { object: self.id }, &site, |service, out| {
            service.gate(self.id, out).map(|object| object.map(drop))
        })?;
        Ok(Scope::open(self, site, OwnerMut::default(), true, false))
    }
}

impl<B: ShowsOwnPart> Scope<'_, B> {
    /// This rank's part: element 0 of the slice is element `indices().start` of the vector (the paper's C-style pointer).
    pub fn local(&self) -> &[B::Element] {
        self.state.part(self.vector)
    }

    /// The global indices of this rank's part.
    pub fn indices(&self) -> Range<usize> {
        self.vector.local_range()
    }

    /// The global numbers of this rank's rows; of a vector that is no matrix every element is a row.
    pub fn rows(&self) -> Range<usize> {
        let (own, cols) = (self.indices(), self.cols());
        own.start / cols..own.end / cols
    }

    /// Row `row` of the matrix, by its global number.
    ///
    /// # Panics
    /// If it is not one of [`rows`](Self::rows).
    #[track_caller]
    pub fn row(&self, row: usize) -> &[B::Element] {
        let range = self.row_range(row);
        &self.local()[range]
    }

    fn cols(&self) -> usize {
        self.vector.dim().map_or(1, |dim| dim.cols.max(1))
    }

    #[inline]
    #[track_caller]
    fn row_range(&self, row: usize) -> Range<usize> {
        let (rows, cols) = (self.rows(), self.cols());
        assert!(
            rows.contains(&row),
            "row {row} is outside rows {}..{}, the part that this rank owns: use `read_cache` of the matrix",
            rows.start,
            rows.end
        );
        (row - rows.start) * cols..(row - rows.start + 1) * cols
    }

    #[inline]
    #[track_caller]
    fn local_index(&self, index: usize) -> usize {
        let own = self.indices();
        assert!(
            own.contains(&index),
            "index {index} is outside {}..{}, the part that this rank owns: use `at` or `read_cache` of the vector",
            own.start,
            own.end
        );
        index - own.start
    }

    #[inline]
    #[track_caller]
    fn local_cell(&self, (row, col): (usize, usize)) -> usize {
        let cols = self.cols();
        assert!(col < cols, "column {col} is outside 0..{cols}");
        let (own, index) = (self.indices(), row.saturating_mul(cols).saturating_add(col));
        assert!(
            own.contains(&index),
            "row {row} is outside rows {}..{}, the part that this rank owns: use `read_cache` of the matrix",
            own.start / cols,
            own.end / cols
        );
        index - own.start
    }
}

impl<T: Element> OwnerComputesMut<'_, T> {
    /// This rank's part, for writing.
    pub fn local_mut(&mut self) -> &mut [T] {
        self.state.part_mut(self.vector)
    }

    /// Row `row` of the matrix, by its global number, for writing.
    ///
    /// # Panics
    /// If it is not one of [`rows`](Scope::rows).
    #[track_caller]
    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        let range = self.row_range(row);
        &mut self.local_mut()[range]
    }
}

/// By global index.
impl<B: ShowsOwnPart> Index<usize> for Scope<'_, B> {
    type Output = B::Element;

    #[inline]
    #[track_caller]
    fn index(&self, index: usize) -> &B::Element {
        let local = self.local_index(index);
        &self.local()[local]
    }
}

/// By global row and column.
impl<B: ShowsOwnPart> Index<(usize, usize)> for Scope<'_, B> {
    type Output = B::Element;

    #[inline]
    #[track_caller]
    fn index(&self, cell: (usize, usize)) -> &B::Element {
        let local = self.local_cell(cell);
        &self.local()[local]
    }
}

impl<T: Element> IndexMut<usize> for OwnerComputesMut<'_, T> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, index: usize) -> &mut T {
        let local = self.local_index(index);
        &mut self.local_mut()[local]
    }
}

impl<T: Element> IndexMut<(usize, usize)> for OwnerComputesMut<'_, T> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, cell: (usize, usize)) -> &mut T {
        let local = self.local_cell(cell);
        &mut self.local_mut()[local]
    }
}

impl<B: ShowsOwnPart> Scope<'_, B> {
    #[track_caller]
    fn shown(&self, index: usize) -> Result<usize> {
        let site = Site::here();
        self.vector.check_index(index, &site)?;
        let own = self.indices();
        if own.contains(&index) {
            return Ok(index - own.start);
        }
        let (start, end) = (own.start, own.end);
        Err(Error::NotShown {
            index,
            start,
            end,
            behaviour: B::NAME.into(),
            object: Box::new(self.vector.name()),
            site,
        })
    }
}

impl<B: ShowsOwnPart> GlobalRead<B::Element> for Scope<'_, B> {
    fn len(&self) -> usize {
        self.vector.len()
    }

    #[track_caller]
    fn at(&self, index: usize) -> Result<B::Element> {
        let local = self.shown(index)?;
        Ok(self.local()[local])
    }
}

impl<T: Element> GlobalWrite<T> for OwnerComputesMut<'_, T> {
    #[track_caller]
    fn put(&mut self, index: usize, value: T) -> Result<()> {
        let local = self.shown(index)?;
        self.local_mut()[local] = value;
        Ok(())
    }
}
