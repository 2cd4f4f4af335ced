//! `ReadCache` and `ReleaseC` in one (paper, Table 2): a copy of the whole vector, whose written elements are sent.

use crate::behaviour::buffers::Buffered;
use crate::behaviour::elements::{ShowsElements, shows_window};
use crate::behaviour::marks::Marks;
use crate::behaviour::read_cache::Cached;
use crate::behaviour::release::{PutOnly, Together};
use crate::behaviour::{Behaviour, ReadCacheReleaseC, Scope, kind};
use crate::memory::Array;
use crate::vector::{GVector, GlobalWrite};
use crate::window::Window;
use crate::{Element, Result, Site};
use std::ops::{IndexMut, Range};

/// The loaded elements and, from the first write on, a copy of them.
pub struct Combined<T: Element> {
    loaded: Cached<T>,
    /// Taken on entry: a write cannot report a lack of memory.
    copy: Array<T>,
    copied: bool,
    written: Marks,
    /// The global index of the first element shown.
    pub(in crate::behaviour) first: usize,
    release: Together<T, PutOnly>,
}

impl<T: Element> Combined<T> {
    #[inline]
    pub(in crate::behaviour) fn shown(&self) -> &[T] {
        if self.copied { &self.copy } else { self.loaded.shown() }
    }

    #[inline]
    fn writable(&mut self) -> &mut [T] {
        if !self.copied {
            self.make_copy();
        }
        &mut self.copy
    }

    #[cold]
    fn make_copy(&mut self) {
        self.copy.copy_from_slice(self.loaded.shown());
        self.copied = true;
        // Ranks that wait to write to the loaded memory no longer wait for this guard.
        self.loaded.let_go();
    }
}

kind!([T: Element] Combined<T>);

impl<T: Element> Behaviour for Combined<T> {
    type Element = T;
    const NAME: &'static str = "ReadCache + ReleaseC";
    const SENDS: bool = true;

    fn close(&mut self, vector: &GVector<T>, site: &Site, checked: bool) -> Result<()> {
        let Combined { copy, written, first, release, .. } = self;
        let mut writer = release.writer(vector, site);
        let mut write = |run: Range<usize>| writer.write_run(None, *first + run.start, &copy[run]);
        let sent = written.runs_in(0..copy.len()).try_for_each(&mut write);
        self.abandon(vector);
        sent?;
        self.release.close(vector, site, checked)
    }

    /// Keeps the memory of the copy for the next scope.
    fn abandon(&mut self, vector: &GVector<T>) {
        self.loaded.let_go();
        self.copied = false;
        self.written = Marks::default();
        vector.private.set(std::mem::take(&mut self.copy));
    }
}

impl<T: Element> GVector<T> {
    /// Collective. Opens a `ReadCache` and a `ReleaseC` in one: a private copy of the whole vector, as it is when all
    /// ranks have entered. A rank reads its own writes in the copy, so `v[i] += x` works. The written elements go to
    /// their owners at the end, and are seen after the scope.
    ///
    /// If two ranks write one element, the value of one of them stays, also with `+=`. For sums use
    /// [`release_c_with`](GVector::release_c_with).
    ///
    /// # Errors
    /// As [`read_cache`](GVector::read_cache) and [`release_c`](GVector::release_c). The copy needs memory on entry,
    /// in addition to the memory of the ReadCache: [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::CacheLimit`](crate::Error::CacheLimit).
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(2).run(|world| {
    ///     let mut v = GVector::<u64>::from_fn(world, 6, |i| i as u64)?;
    ///     let mut all = v.read_cache_release_c()?;
    ///     // Each rank a half, neighbours read across the border.
    ///     for i in if world.is_root() { 0..3 } else { 3..6 } {
    ///         all[i] += 10 * all[(i + 5) % 6];
    ///     }
    ///     drop(all);
    ///     assert_eq!(v.at(0)?, 50);
    ///     assert_eq!(v.at(3)?, 23); // from the value of element 2 on entry
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn read_cache_release_c(&mut self) -> Result<ReadCacheReleaseC<'_, T>> {
        self.open_combined(Window::WHOLE, Site::here())
    }

    /// The caller has exclusive use of the window.
    pub(crate) fn open_combined(&self, window: Window, site: Site) -> Result<ReadCacheReleaseC<'_, T>> {
        const COPY: &str = "the copy of a ReadCache + ReleaseC";
        let shown = window.range(self.len());
        let mut copy = self.private.take();
        let short = |shortage| self.short_of(shortage, COPY, &site);
        let is_kept = copy.len() == shown.len();
        if !is_kept {
            self.admit_copy(COPY, shown.len() * size_of::<T>(), &site)?;
        }
        let written = Marks::new(shown.len()).map_err(short)?;
        if !is_kept {
            copy = Array::zeroed(shown.len()).map_err(short)?;
        }
        let loaded = self.load(<Combined<T> as Behaviour>::NAME, window, &site)?;
        let release = self.enter_release(None, window, &site)?;
        let state = Combined { loaded, copy, copied: false, written, first: shown.start, release };
        Ok(Scope::open_together(self, window, site, state))
    }
}

impl<T: Element> ReadCacheReleaseC<'_, T> {
    /// Row `row`, for writing. All its elements count as written.
    ///
    /// # Panics
    /// If the guard does not show this row.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut table = GVector::<u64>::new(world, MatrixDim::new(4, 3))?;
    /// let mut all = table.read_cache_release_c()?;
    /// let me = world.rank().index();
    /// all.row_mut(3 - me).fill(me as u64); // a row of the other rank
    /// drop(all);
    /// assert_eq!((table.at(9)?, table.at(6)?), (0, 1));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        let places = self.places_of_row(row);
        self.written_at(places)
    }

    /// The elements of a range, for writing. All of them count as written.
    ///
    /// # Panics
    /// If the guard does not show all of them.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let mut all = v.read_cache_release_c()?;
    /// all.slice_mut(if world.is_root() { 2..6 } else { 6..10 }).reverse();
    /// drop(all);
    /// assert_eq!((v.at(2)?, v.at(9)?), (50, 60));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn slice_mut(&mut self, range: Range<usize>) -> &mut [T] {
        let places = self.places_of(range);
        self.written_at(places)
    }

    fn written_at(&mut self, places: Range<usize>) -> &mut [T] {
        self.state.writable();
        self.state.written.mark_all(places.clone());
        &mut self.state.copy[places]
    }
}

/// By global index. The element counts as written.
impl<T: Element> IndexMut<usize> for ReadCacheReleaseC<'_, T> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, index: usize) -> &mut T {
        let place = self.place_of(index);
        self.state.writable();
        self.state.written.mark(place);
        &mut self.state.copy[place]
    }
}

/// By global row and column. The element counts as written.
impl<T: Element> IndexMut<(usize, usize)> for ReadCacheReleaseC<'_, T> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, cell: (usize, usize)) -> &mut T {
        let index = self.index_in_window(cell);
        &mut self[index]
    }
}

impl<T: Element> GlobalWrite<T> for ReadCacheReleaseC<'_, T> {
    #[track_caller]
    fn put(&mut self, index: usize, value: T) -> Result<()> {
        self.check_shown(index)?;
        self[index] = value;
        Ok(())
    }
}

impl<T: Element> ShowsElements for Combined<T> {
    #[inline]
    fn elements<'a>(&'a self, _: &GVector<T>) -> (usize, &'a [T]) {
        (self.first, self.shown())
    }
}

shows_window!(ReadCacheReleaseC);
