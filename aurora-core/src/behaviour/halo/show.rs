//! The elements that a HaloCache shows: by global index, by row, and as slices.

use super::Haloed;
use super::geometry::{Boundary, Halo};
use crate::behaviour::elements::{ShowsElements, ShowsElementsMut};
use crate::behaviour::owner::{HasOwnPart, OwnerMut};
use crate::behaviour::{HaloCacheMut, Scope, ShowsOwnPart};
use crate::vector::{GVector, GlobalRead, GlobalWrite};
use crate::{Element, Result, Site};
use std::ops::{Index, IndexMut, Range};

#[derive(Clone, Copy)]
pub(super) enum Place {
    /// Index in this rank's own part.
    Own(usize),
    /// Index in the halo.
    Around(usize),
}

/// An own element is always shown from the own part, also if a periodic halo contains it.
impl<O: ShowsOwnPart> Scope<'_, Haloed<O>> {
    /// The halo with which the scope was opened.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let h = v.halo_cache(2)?;
    /// assert_eq!(h.halo(), Halo::fixed(2));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn halo(&self) -> Halo {
        self.state.halo
    }

    /// The halo before this rank's own part: its last element is just before the part. A fixed end shortens it.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let h = v.halo_cache(2)?;
    /// assert_eq!(h.before(), if world.is_root() { &[][..] } else { &[30, 40] }); // rank 1 owns 5..10
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn before(&self) -> &[O::Element] {
        &self.state.around[..self.state.reach.0]
    }

    /// The halo behind this rank's own part, in order: the first element is the one just behind the part.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let h = v.halo_cache(2)?;
    /// assert_eq!(h.behind(), if world.is_root() { &[50, 60][..] } else { &[] }); // rank 0 owns 0..5
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn behind(&self) -> &[O::Element] {
        &self.state.around[self.state.reach.0..]
    }

    /// Row `row` of the matrix, in the own part or in the halo, by its global number.
    ///
    /// # Panics
    /// If neither of them contains the row.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let table = GVector::<u64>::from_fn(world, MatrixDim::new(4, 3), |i| i as u64)?;
    /// let h = table.halo_cache(1)?; // rank 0 owns rows 0..2, rank 1 owns rows 2..4
    /// assert_eq!(h.row(1), [3, 4, 5]); // shown on both
    /// assert_eq!(h.row(2), [6, 7, 8]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn row(&self, row: usize) -> &[O::Element] {
        let (own, cols) = (self.vector.local_range(), self.cols());
        let at = row.saturating_mul(cols).wrapping_sub(own.start);
        if at < own.len() { &self.local()[at..at + cols] } else { self.row_around(row) }
    }

    #[inline(never)]
    #[track_caller]
    fn row_around(&self, row: usize) -> &[O::Element] {
        let cols = self.cols();
        match self.place(row.saturating_mul(cols)) {
            Some(Place::Around(at)) => &self.state.around[at..at + cols],
            _ => self.no_row(row),
        }
    }

    #[inline]
    pub(super) fn place(&self, index: usize) -> Option<Place> {
        let own = self.vector.local_range();
        let local = index.wrapping_sub(own.start);
        if local < own.len() { Some(Place::Own(local)) } else { self.place_around(index, own) }
    }

    fn place_around(&self, index: usize, own: Range<usize>) -> Option<Place> {
        let (len, (before, behind)) = (self.vector.len(), self.state.reach);
        // The distance around the ends, if they are periodic.
        let around = match self.state.halo.boundary {
            _ if index >= len => return None,
            Boundary::Fixed => None,
            Boundary::Periodic => Some(len),
        };
        let (ahead, back) = if index < own.start {
            (around.map(|len| index + len - own.end), Some(own.start - index))
        } else {
            (Some(index - own.end), around.map(|len| own.start + len - index))
        };
        match (ahead, back) {
            (Some(ahead), _) if ahead < behind => Some(Place::Around(before + ahead)),
            (_, Some(back)) if back <= before => Some(Place::Around(before - back)),
            _ => None,
        }
    }

    /// The first global index shown and one past the last; of a periodic halo modulo the length.
    pub(super) fn shown(&self) -> Range<usize> {
        let (own, len, (before, behind)) = (self.indices(), self.vector.len().max(1), self.state.reach);
        match self.state.halo.boundary {
            Boundary::Fixed => own.start - before..own.end + behind,
            Boundary::Periodic => (own.start + (len - before % len)) % len..(own.end + behind % len) % len,
        }
    }
}

impl<T: Element> HaloCacheMut<'_, T> {
    /// This rank's own part, for writing.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let mut h = v.halo_cache_mut(1)?;
    /// h.local_mut().fill(7);
    /// h.refresh()?;
    /// assert_eq!((h[4], h[5]), (7, 7)); // one of the two is in the halo
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn local_mut(&mut self) -> &mut [T] {
        self.state.own.part_mut(self.vector)
    }

    /// [`before`](Scope::before), this rank's own part for writing, and [`behind`](Scope::behind).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let mut h = v.halo_cache_mut(Halo::periodic(1))?;
    /// let (before, own, behind) = h.parts_mut();
    /// own[0] = before[0] + behind[0];
    /// assert_eq!(h.local()[0], if world.is_root() { 90 + 50 } else { 40 });
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn parts_mut(&mut self) -> (&[T], &mut [T], &[T]) {
        let (before, behind) = self.state.around.split_at(self.state.reach.0);
        (before, self.state.own.part_mut(self.vector), behind)
    }

    /// Own row `row` of the matrix, by its global number, for writing.
    ///
    /// # Panics
    /// If it is not one of [`rows`](Scope::rows).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut table = GVector::<u64>::new(world, MatrixDim::new(4, 3))?;
    /// let mut h = table.halo_cache_mut(1)?;
    /// for row in h.rows() {
    ///     h.row_mut(row).fill(row as u64);
    /// }
    /// h.refresh()?;
    /// assert_eq!((h.row(1), h.row(2)), (&[1, 1, 1][..], &[2, 2, 2][..])); // one of them is in the halo
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        let (own, cols) = (self.vector.local_range(), self.cols());
        let at = row.saturating_mul(cols).wrapping_sub(own.start);
        if at >= own.len() {
            self.row_not_writable(row, self.rows());
        }
        &mut self.local_mut()[at..at + cols]
    }
}

/// By global index, in the own part or in the halo.
impl<O: ShowsOwnPart> Index<usize> for Scope<'_, Haloed<O>> {
    type Output = O::Element;

    #[inline]
    #[track_caller]
    fn index(&self, index: usize) -> &O::Element {
        match self.get(index) {
            Some(element) => element,
            None => self.no_index(index),
        }
    }
}

/// By global row and column, in the own part or in the halo.
impl<O: ShowsOwnPart> Index<(usize, usize)> for Scope<'_, Haloed<O>> {
    type Output = O::Element;

    #[inline]
    #[track_caller]
    fn index(&self, cell: (usize, usize)) -> &O::Element {
        match self.get(self.index_of(cell)) {
            Some(element) => element,
            None => self.no_row(cell.0),
        }
    }
}

/// Own elements by global index.
impl<T: Element> IndexMut<usize> for HaloCacheMut<'_, T> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, index: usize) -> &mut T {
        let own = self.vector.local_range();
        if !own.contains(&index) {
            self.not_writable(index);
        }
        &mut self.local_mut()[index - own.start]
    }
}

/// Own elements by global row and column.
impl<T: Element> IndexMut<(usize, usize)> for HaloCacheMut<'_, T> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, cell: (usize, usize)) -> &mut T {
        let col = self.index_of((0, cell.1));
        &mut self.row_mut(cell.0)[col]
    }
}

impl<O: ShowsOwnPart> HasOwnPart for Haloed<O> {
    #[inline]
    fn indices(&self) -> Range<usize> {
        self.own.indices()
    }

    #[inline]
    fn held(&self) -> Option<&[O::Element]> {
        self.own.held()
    }

    #[inline]
    fn part<'a>(&'a self, vector: &GVector<O::Element>) -> &'a [O::Element] {
        self.own.part(vector)
    }
}

/// Iterators show the own part only; access by global index shows the halo, too.
impl<O: ShowsOwnPart> ShowsElements for Haloed<O> {
    #[inline]
    fn elements<'a>(&'a self, vector: &GVector<O::Element>) -> (usize, &'a [O::Element]) {
        (self.own.indices().start, self.own.part(vector))
    }

    #[inline]
    fn get<'a>(scope: &'a Scope<'_, Self>, index: usize) -> Option<&'a O::Element> {
        match scope.place(index)? {
            Place::Own(at) => Some(&scope.local()[at]),
            Place::Around(at) => Some(&scope.state.around[at]),
        }
    }
}

impl<T: Element> ShowsElementsMut for Haloed<OwnerMut<T>> {
    fn elements_mut(&mut self, vector: &GVector<T>) -> &mut [T] {
        self.own.part_mut(vector)
    }
}

impl<O: ShowsOwnPart> GlobalRead<O::Element> for Scope<'_, Haloed<O>> {
    fn len(&self) -> usize {
        self.vector.len()
    }

    #[track_caller]
    fn at(&self, index: usize) -> Result<O::Element> {
        match self.get(index) {
            Some(element) => Ok(*element),
            None => self.outside(index, &self.shown(), Site::here()),
        }
    }
}

impl<T: Element> GlobalWrite<T> for HaloCacheMut<'_, T> {
    #[track_caller]
    fn put(&mut self, index: usize, value: T) -> Result<()> {
        let own = self.vector.local_range();
        if own.contains(&index) {
            self.local_mut()[index - own.start] = value;
            return Ok(());
        }
        self.outside(index, &own, Site::here())
    }
}
