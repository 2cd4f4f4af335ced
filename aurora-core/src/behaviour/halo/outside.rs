//! Errors and panics for elements and rows that a HaloCache does not show, or that cannot be written.

use super::Haloed;
use super::geometry::{Boundary, Halo};
use super::show::Place;
use crate::behaviour::{HaloCacheMut, Scope, ShowsOwnPart};
use crate::{Element, Result, Site};
use std::ops::Range;

impl<O: ShowsOwnPart> Scope<'_, Haloed<O>> {
    #[cold]
    #[inline(never)]
    #[track_caller]
    pub(super) fn no_index(&self, index: usize) -> ! {
        let len = self.vector.len();
        if index >= len {
            panic!("index {index} is outside a vector of {len} elements{}", self.beyond(index, len));
        }
        let (shown, wrap) = (self.in_words(self.shown()), self.wrap_hint(index));
        panic!("index {index} is outside {shown}: use a wider halo, or `at` of the vector outside of this scope{wrap}")
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    pub(super) fn no_row(&self, row: usize) -> ! {
        let (shown, cols) = (self.shown(), self.cols());
        let (all, whole) = self.all_rows();
        let hint = self.rows_hint(row, &self.indices());
        if row >= all {
            let why = if hint.is_empty() { self.beyond(row, all) } else { hint.into() };
            panic!("row {row} is outside {whole}{why}");
        }
        let rows = self.in_words(shown.start / cols..shown.end / cols);
        let wrap = self.wrap_hint(row * cols);
        panic!("row {row} is outside rows {rows}: use a wider halo, or `read_cache` of the matrix{wrap}{hint}")
    }

    /// The shown range of indices or rows, in words.
    fn in_words(&self, Range { start, end }: Range<usize>) -> String {
        let around = if self.state.halo.boundary == Boundary::Periodic { " around the ends" } else { "" };
        format!("{start}..{end}{around}, the part and the halo that this rank shows")
    }

    /// A hint for an element that a periodic halo would show.
    fn wrap_hint(&self, index: usize) -> &'static str {
        let (own, len, Halo { width, boundary }) = (self.indices(), self.vector.len(), self.state.halo);
        let around = (own.start + len - index).min(index + len + 1 - own.end);
        if boundary == Boundary::Fixed && around <= width.saturating_mul(self.cols()) {
            "; around the ends, which are fixed here, `Halo::periodic` shows it"
        } else {
            ""
        }
    }

    /// The reason why there is nothing beyond the ends of `len` elements or rows.
    fn beyond(&self, index: usize, len: usize) -> String {
        match self.state.halo.boundary {
            Boundary::Fixed => {
                ": beyond a fixed end there is no halo; leave the border out, or use `Halo::periodic`".into()
            }
            Boundary::Periodic if len > 0 => format!(": around the ends it has the number {}", index % len),
            Boundary::Periodic => String::new(),
        }
    }

    pub(super) fn outside<R>(&self, index: usize, shown: &Range<usize>, site: Site) -> Result<R> {
        self.vector.check_index(index, &site)?;
        Err(self.vector.not_shown(index, shown, format!("a HaloCache ({})", self.state.halo), site))
    }
}

impl<T: Element> HaloCacheMut<'_, T> {
    #[cold]
    #[inline(never)]
    #[track_caller]
    pub(super) fn not_writable(&self, index: usize) -> ! {
        if index >= self.vector.len() {
            self.no_index(index);
        }
        let (Range { start, end }, advice) = (self.indices(), advice(self.place(index)));
        panic!("index {index} is outside {start}..{end}, which this rank owns: {advice}")
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    pub(super) fn row_not_writable(&self, row: usize, Range { start, end }: Range<usize>) -> ! {
        if row >= self.all_rows().0 {
            self.no_row(row);
        }
        let (advice, hint) = (advice(self.place(row * self.cols())), self.rows_hint(row, &self.indices()));
        panic!("row {row} is outside rows {start}..{end}, which this rank owns: {advice}{hint}")
    }
}

fn advice(place: Option<Place>) -> &'static str {
    match place {
        Some(_) => "the halo is read-only, its owner writes it",
        None => "use `put` or `release_c` of the vector outside of this scope",
    }
}
