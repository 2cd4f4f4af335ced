//! The elements that an `OwnerComputes` shows: by global index, by row, and as a slice.

use super::{HasOwnPart, ShowsOwnPart};
use crate::behaviour::{OwnerComputesMut, Scope};
use crate::vector::{GlobalRead, GlobalWrite};
use crate::{Element, Result, Site};
use std::ops::{Index, IndexMut, Range};

/// The kind of an access to an element or row that this rank does not own. The panic's advice depends on it.
#[derive(Clone, Copy, PartialEq)]
enum Aim {
    Read,
    Write,
}

impl<B: HasOwnPart> Scope<'_, B> {
    /// This rank's part. Its element 0 is element `indices().start` of the vector (the paper's C-style pointer).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let own = v.owner_computes()?;
    /// let first = own.indices().start as u64;
    /// assert_eq!(own.local()[..2], [10 * first, 10 * (first + 1)]); // a slice counts from 0
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn local(&self) -> &[B::Element] {
        self.state.part(self.vector)
    }

    /// The global indices of this rank's part.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::new(world, 7)?;
    /// let own = v.owner_computes()?;
    /// assert_eq!(own.indices(), if world.is_root() { 0..4 } else { 4..7 });
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn indices(&self) -> Range<usize> {
        self.state.indices()
    }

    /// Equal to [`indices`](Scope::indices). The vector has a method of this name, too, so one loop runs on both.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let range = v.local_range();
    /// let own = v.owner_computes()?;
    /// assert_eq!(own.local_range(), range);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn local_range(&self) -> Range<usize> {
        self.indices()
    }

    /// The global numbers of the matrix rows that are shown whole. If the vector is no matrix, each element is a row.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let table = GVector::<u64>::new(world, MatrixDim::new(5, 10))?;
    /// let own = table.owner_computes()?;
    /// assert_eq!(own.rows(), if world.is_root() { 0..3 } else { 3..5 });
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn rows(&self) -> Range<usize> {
        let (own, cols) = (self.indices(), self.cols());
        own.start.div_ceil(cols)..(own.end / cols).max(own.start.div_ceil(cols))
    }

    #[inline]
    pub(in crate::behaviour) fn cols(&self) -> usize {
        self.vector.row_len().max(1)
    }
}

impl<B: ShowsOwnPart> Scope<'_, B> {
    /// Row `row` of the matrix, by its global number.
    ///
    /// # Panics
    /// If it is not one of [`rows`](Scope::rows).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let table = GVector::<u64>::from_fn(world, MatrixDim::new(4, 3), |i| i as u64)?;
    /// let own = table.owner_computes()?;
    /// for row in own.rows() {
    ///     assert_eq!(own.row(row)[0], 3 * row as u64);
    /// }
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn row(&self, row: usize) -> &[B::Element] {
        let range = self.row_range(row, Aim::Read);
        &self.local()[range]
    }

    #[cold]
    fn part_in_words(&self) -> &'static str {
        if self.window.is_whole() {
            "the part that this rank owns"
        } else {
            "the part of the slice that this rank owns"
        }
    }

    #[inline]
    #[track_caller]
    fn row_range(&self, row: usize, aim: Aim) -> Range<usize> {
        let (rows, cols) = (self.rows(), self.cols());
        if !rows.contains(&row) {
            self.no_row(row, rows, aim);
        }
        let start = row * cols - self.indices().start;
        start..start + cols
    }

    /// Element `index`. `row`: the row of that index, if the program named a cell.
    #[inline]
    #[track_caller]
    fn own_element(&self, index: usize, row: Option<usize>) -> &B::Element {
        match self.state.own_get(index, self.vector) {
            Some(element) => element,
            None => self.no_element(index, row, Aim::Read),
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn no_element(&self, index: usize, row: Option<usize>, aim: Aim) -> ! {
        let own = self.indices();
        // The first and the last row of a slice may be shown in part.
        let rows = own.start / self.cols()..own.end.div_ceil(self.cols());
        if let Some(row) = row.filter(|row| !rows.contains(row)) {
            self.no_row(row, rows, aim);
        }
        let len = self.vector.len();
        assert!(index < len, "index {index} is outside a vector of {len} elements");
        let (others, local) = match aim {
            Aim::Read => ("`at` or `read_cache`", "local"),
            Aim::Write => ("`put` or `release_c`", "local_mut"),
        };
        let from_0 = match index < own.len() {
            true => format!("; counted from 0 in this part it is `{local}()[{index}]`"),
            false => String::new(),
        };
        let (Range { start, end }, part) = (own, self.part_in_words());
        panic!("index {index} is outside {start}..{end}, {part}: use {others} of the vector{from_0}")
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn no_row(&self, row: usize, Range { start, end }: Range<usize>, aim: Aim) -> ! {
        let (all, whole) = self.all_rows();
        let hint = self.rows_hint(row, &self.indices());
        assert!(row < all, "row {row} is outside {whole}{hint}");
        let others = if aim == Aim::Read { "read_cache" } else { "release_c" };
        panic!("row {row} is outside rows {start}..{end}, {}: use `{others}` of the matrix{hint}", self.part_in_words())
    }
}

impl<T: Element> OwnerComputesMut<'_, T> {
    /// This rank's part, for writing.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let mut own = v.owner_computes_mut()?;
    /// own.local_mut().fill(world.rank().index() as u64);
    /// drop(own);
    /// world.barrier()?;
    /// assert_eq!((v.at(0)?, v.at(9)?), (0, 1));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn local_mut(&mut self) -> &mut [T] {
        self.state.part_mut(self.vector)
    }

    /// Element `index`, for writing. `row`: the row of that index, if the program named a cell.
    #[inline]
    #[track_caller]
    fn own_element_mut(&mut self, index: usize, row: Option<usize>) -> &mut T {
        let own = self.indices();
        if !own.contains(&index) {
            self.no_element(index, row, Aim::Write);
        }
        &mut self.local_mut()[index - own.start]
    }

    /// Row `row` of the matrix, by its global number, for writing.
    ///
    /// # Panics
    /// If it is not one of [`rows`](Scope::rows).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut table = GVector::<u64>::new(world, MatrixDim::new(4, 3))?;
    /// let mut own = table.owner_computes_mut()?;
    /// for row in own.rows() {
    ///     own.row_mut(row).fill(row as u64);
    /// }
    /// drop(own);
    /// assert_eq!(table.read_cache()?.row(3), [3, 3, 3]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        let range = self.row_range(row, Aim::Write);
        &mut self.local_mut()[range]
    }
}

/// By global index.
impl<B: ShowsOwnPart> Index<usize> for Scope<'_, B> {
    type Output = B::Element;

    #[inline]
    #[track_caller]
    fn index(&self, index: usize) -> &B::Element {
        self.own_element(index, None)
    }
}

/// By global row and column.
impl<B: ShowsOwnPart> Index<(usize, usize)> for Scope<'_, B> {
    type Output = B::Element;

    #[inline]
    #[track_caller]
    fn index(&self, cell: (usize, usize)) -> &B::Element {
        self.own_element(self.index_of(cell), Some(cell.0))
    }
}

impl<T: Element> IndexMut<usize> for OwnerComputesMut<'_, T> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, index: usize) -> &mut T {
        self.own_element_mut(index, None)
    }
}

impl<T: Element> IndexMut<(usize, usize)> for OwnerComputesMut<'_, T> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, cell: (usize, usize)) -> &mut T {
        self.own_element_mut(self.index_of(cell), Some(cell.0))
    }
}

impl<B: ShowsOwnPart> GlobalRead<B::Element> for Scope<'_, B> {
    fn len(&self) -> usize {
        self.vector.len()
    }

    #[inline]
    #[track_caller]
    fn at(&self, index: usize) -> Result<B::Element> {
        match self.state.own_get(index, self.vector) {
            Some(element) => Ok(*element),
            None => self.not_shown(index, &self.indices(), Site::here()),
        }
    }
}

impl<T: Element> GlobalWrite<T> for OwnerComputesMut<'_, T> {
    #[inline]
    #[track_caller]
    fn put(&mut self, index: usize, value: T) -> Result<()> {
        match self.state.own_get_mut(index, self.vector) {
            Some(element) => *element = value,
            None => return self.not_shown(index, &self.indices(), Site::here()),
        }
        Ok(())
    }
}
