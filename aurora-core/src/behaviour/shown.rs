//! The elements that a scope shows. Only this module checks global indices and turns them into places among them.

use super::{Behaviour, Scope};
use crate::{Error, Result, Site};
use std::ops::Range;

impl<B: Behaviour> Scope<'_, B> {
    /// The elements of the vector that the scope is about: all elements, or the elements of a [`Slice`](crate::Slice).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// assert_eq!(v.read_cache()?.window(), 0..10);
    /// let part = v.slice(2..5).read_cache()?;
    /// assert_eq!(part.window(), 2..5);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn window(&self) -> Range<usize> {
        self.shown.clone()
    }

    /// Checks that the window contains element `index`; else returns the error of `at` and `put`.
    #[inline]
    #[track_caller]
    pub(crate) fn check_shown(&self, index: usize) -> Result<()> {
        if self.shown.contains(&index) { Ok(()) } else { self.not_shown(index, &self.shown, Site::here()) }
    }

    /// Checks that the window contains `len` elements from `start` on.
    #[track_caller]
    pub(crate) fn check_shown_range(&self, start: usize, len: usize) -> Result<()> {
        let (shown, end, site) = (&self.shown, start.saturating_add(len), Site::here());
        if end > self.vector.len() {
            let (len, object) = (self.vector.len(), self.vector.name());
            return Err(Error::RangeOutside { start, end, len, object, site });
        }
        if len > 0 && (start < shown.start || end > shown.end) {
            return self.not_shown(if start < shown.start { start } else { end - 1 }, shown, site);
        }
        Ok(())
    }

    /// Element `index`, given all elements of the window.
    #[inline]
    #[track_caller]
    pub(crate) fn element<'a>(&self, shown: &'a [B::Element], index: usize) -> &'a B::Element {
        match shown.get(index.wrapping_sub(self.shown.start)) {
            Some(element) => element,
            None => self.panic_outside(index),
        }
    }

    /// The element in this row and column, given all elements of the window.
    #[inline]
    #[track_caller]
    pub(crate) fn cell<'a>(&self, shown: &'a [B::Element], cell: (usize, usize)) -> &'a B::Element {
        let index = self.index_of(cell);
        match shown.get(index.wrapping_sub(self.shown.start)) {
            Some(element) => element,
            None => self.panic_no_cell(cell, index),
        }
    }

    /// The place of element `index` in the window. Panics if it is outside.
    #[inline]
    #[track_caller]
    pub(crate) fn place_of(&self, index: usize) -> usize {
        if !self.shown.contains(&index) {
            self.panic_outside(index);
        }
        index - self.shown.start
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn panic_outside(&self, index: usize) -> ! {
        let (start, end, len) = (self.shown.start, self.shown.end, self.vector.len());
        match self.window.is_whole() {
            true => panic!("index {index} is outside a vector of {len} elements"),
            false => panic!("index {index} is outside {start}..{end}, the slice that this {} shows", B::NAME),
        }
    }

    /// The index of a matrix element, if the window contains it. Panics if it does not.
    #[inline]
    #[track_caller]
    pub(crate) fn index_in_window(&self, cell: (usize, usize)) -> usize {
        let index = self.index_of(cell);
        if !self.shown.contains(&index) {
            self.panic_no_cell(cell, index);
        }
        index
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn panic_no_cell(&self, (row, col): (usize, usize), index: usize) -> ! {
        let ((all, whole), Range { start, end }) = (self.all_rows(), self.shown.clone());
        assert!(row < all, "row {row} is outside {whole}");
        panic!(
            "row {row}, column {col} (index {index}) is outside {start}..{end}, the slice that this {} shows",
            B::NAME
        )
    }

    /// The place of a range in the window. Panics if it is outside.
    #[track_caller]
    pub(crate) fn places_of(&self, range: Range<usize>) -> Range<usize> {
        let (start, end, shown) = (range.start, range.end, &self.shown);
        if start > end || start < shown.start || end > shown.end {
            match self.window.is_whole() {
                true => panic!("range {start}..{end} is outside a vector of {} elements", self.vector.len()),
                false => panic!(
                    "range {start}..{end} is outside {}..{}, the slice that this {} shows",
                    shown.start,
                    shown.end,
                    B::NAME
                ),
            }
        }
        start - shown.start..end - shown.start
    }

    /// The place of a matrix row in the window. If the vector is no matrix, each element is a row.
    #[track_caller]
    pub(crate) fn places_of_row(&self, row: usize) -> Range<usize> {
        let cols = self.vector.row_len();
        let rows = self.vector.len() / cols.max(1);
        assert!(row < rows, "row {row} is outside a matrix of {rows} rows");
        let elements = row * cols..(row + 1) * cols;
        assert!(
            self.shown.start <= elements.start && elements.end <= self.shown.end,
            "row {row} is outside elements {}..{}, the slice that this {} shows",
            self.shown.start,
            self.shown.end,
            B::NAME
        );
        self.places_of(elements)
    }

    /// The number of rows of the whole, and a description of it. Without a matrix each element is a row.
    pub(crate) fn all_rows(&self) -> (usize, String) {
        match (self.vector.dim(), self.vector.len()) {
            (Some(dim), _) => (dim.rows, format!("a matrix of {} rows", dim.rows)),
            (None, len) => (len, format!("a vector of {len} elements")),
        }
    }

    /// A hint for a row that is not shown and whose number is the index of a shown element.
    pub(crate) fn rows_hint(&self, row: usize, indices: &Range<usize>) -> &'static str {
        let is_matrix = self.vector.dim().is_some_and(|dim| dim.cols > 1);
        match is_matrix && indices.contains(&row) {
            true => " (`indices()` are those of elements, `rows()` those of rows)",
            false => "",
        }
    }

    /// A hint for a row and a column of a vector that was made without columns.
    #[cold]
    fn matrix_hint(&self) -> &'static str {
        self.vector.dim().map_or(" (the vector is no matrix: make it with rows and columns)", |_| "")
    }

    /// The index of a matrix element.
    #[inline]
    #[track_caller]
    pub(crate) fn index_of(&self, (row, col): (usize, usize)) -> usize {
        let cols = self.vector.row_len();
        assert!(col < cols, "column {col} is outside 0..{cols}{}", self.matrix_hint());
        row.saturating_mul(cols).saturating_add(col)
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn not_shown<R>(&self, index: usize, shown: &Range<usize>, site: Site) -> Result<R> {
        self.vector.check_index(index, &site)?;
        Err(self.vector.not_shown(index, shown, B::NAME, site))
    }
}
