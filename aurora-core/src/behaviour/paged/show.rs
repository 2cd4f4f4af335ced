//! Reading and writing a view: each call first fetches the absent pages, from all their owners at once.

use super::Pages;
use super::protocol::Paging;
use super::view::Wanted;
use crate::behaviour::{PagedMut, Scope};
use crate::kernel::asking::When;
use crate::kernel::message::malformed;
use crate::link::Asked;
use crate::memory::Shown;
use crate::vector::{GVector, GlobalRead, GlobalWrite};
use crate::{Element, Kind, Result, Site};
use std::ops::{Index, IndexMut, Range};

/// The approximate bytes of pages in one request to an owner, which copies them in one go.
const AT_ONCE: usize = 512 << 10;

impl<T: Element, const WRITES: bool> Pages<T, WRITES> {
    /// Brings the absent pages of these elements.
    #[inline]
    fn bring(&self, vector: &GVector<T>, elements: &Range<usize>, site: &Site) -> Result<()> {
        if self.view.borrow().has(elements) { Ok(()) } else { self.fetch(vector, vec![elements.clone()], site) }
    }

    #[cold]
    fn fetch(&self, vector: &GVector<T>, ranges: Vec<Range<usize>>, site: &Site) -> Result<()> {
        self.sound()?;
        let mut wanted = self.view.borrow().absent(ranges);
        let me = vector.shared.me;
        if let Some(own) = wanted.iter().position(|(owner, _)| *owner == me) {
            self.copy_own(vector, &wanted.remove(own).1, site)?;
        }
        if wanted.is_empty() {
            return Ok(());
        }
        // The next owner after this rank is asked first.
        let first = wanted.partition_point(|(owner, _)| *owner < me);
        wanted.rotate_left(first);
        let _call = vector.shared.bulk_call(super::NAME);
        while !wanted.is_empty() {
            let later: Vec<Wanted> = wanted.iter_mut().filter_map(|wanted| self.later(wanted)).collect();
            self.ask(vector, &wanted, site)?;
            wanted = later;
        }
        Ok(())
    }

    /// Cuts off the pages that are too many to ask for at once.
    fn later(&self, (owner, pages): &mut Wanted) -> Option<Wanted> {
        let page = self.view.borrow().len_of(*owner, 0);
        let most = (AT_ONCE / page).max(1);
        (pages.len() > most).then(|| (*owner, pages.split_off(most)))
    }

    fn copy_own(&self, vector: &GVector<T>, pages: &[u32], site: &Site) -> Result<()> {
        let me = vector.shared.me;
        let most = (AT_ONCE / self.view.borrow().len_of(me, 0)).max(1);
        for pages in pages.chunks(most) {
            let mut view = self.view.borrow_mut();
            let mut short = None;
            vector.shared.on(site, |object, cx| {
                let (paging, core) = object.with::<Paging>();
                paging.show_own(
                    core,
                    pages,
                    |page, bytes| short = short.take().or(view.fill(me, page, bytes).err()),
                    cx,
                )
            })?;
            if let Some(shortage) = short {
                return Err(vector.short_of(shortage, super::A_VIEW, site));
            }
        }
        Ok(())
    }

    /// Asks all these owners at once, and waits for their answers.
    fn ask(&self, vector: &GVector<T>, wanted: &[Wanted], site: &Site) -> Result<()> {
        let mut asked = Vec::with_capacity(wanted.len());
        for (owner, pages) in wanted {
            let ask = vector.shared.on(site, |object, cx| {
                let (paging, core) = object.with::<Paging>();
                paging.ask(core, (*owner, pages), When::Now, cx)
            })?;
            asked.push(Asked::new(&vector.shared, ask));
        }
        for ((owner, pages), asked) in wanted.iter().zip(asked) {
            let answer = vector.shared.received(asked.hand_over(), (super::NAME, Kind::Page), site)?;
            let (mut view, mut rest) = (self.view.borrow_mut(), answer.bytes());
            for page in pages {
                let (bytes, behind) =
                    rest.split_at_checked(view.len_of(*owner, *page)).ok_or_else(|| malformed(*owner))?;
                let filled = view.fill(*owner, *page, bytes);
                filled.map_err(|shortage| vector.short_of(shortage, super::A_VIEW, site))?;
                rest = behind;
            }
            if !rest.is_empty() {
                return Err(malformed(*owner));
            }
        }
        Ok(())
    }

    /// Prepares pages that are here for being written.
    fn open(&mut self, vector: &GVector<T>, elements: &Range<usize>, site: &Site) -> Result<()> {
        let opened = self.view.get_mut().twin(elements, site);
        opened.map_err(|shortage| vector.short_of(shortage, "the copies of pages that are written", site))
    }
}

impl<T: Element, const WRITES: bool> Scope<'_, Pages<T, WRITES>> {
    /// The elements of a range. Absent pages are fetched, in requests of up to 512 KiB to all their owners at once.
    ///
    /// # Errors
    /// [`Error::RangeOutside`](crate::Error::RangeOutside); [`Error::OutOfMemory`](crate::Error::OutOfMemory);
    /// `Poisoned`, `Leaked` or `Mismatch` of the vector; the error that ended the job.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let pages = v.paged()?;
    /// assert_eq!(pages.slice(4..7)?, [40, 50, 60]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn slice(&self, range: Range<usize>) -> Result<&[T]> {
        self.check_shown_range(range.start, range.end.saturating_sub(range.start))?;
        self.state.bring(self.vector, &range, &Site::here())?;
        let part = self.state.view.borrow_mut().show(&range);
        Ok(self.state.shown.show(part))
    }

    /// Row `row` of the matrix, by its global number. If the vector is no matrix, each element is a row. Errors as for
    /// [`slice`](Self::slice).
    ///
    /// # Panics
    /// If the matrix has no such row.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let table = GVector::<u64>::from_fn(world, MatrixDim::new(4, 3), |i| i as u64)?;
    /// let pages = table.paged()?;
    /// assert_eq!(pages.row(2)?, [6, 7, 8]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn row(&self, row: usize) -> Result<&[T]> {
        self.slice(self.places_of_row(row))
    }

    /// Fetches the absent pages of all these ranges, in requests of up to 512 KiB to all owners at once, so that they
    /// are here when the elements are read or written. For one range, [`slice`](Self::slice) has the same effect.
    ///
    /// # Errors
    /// As [`slice`](Self::slice); a range outside the vector is found before anything is fetched.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10_000, |i| 10 * i as u64)?;
    /// let pages = v.paged()?;
    /// pages.fetch([0..10, 4000..4010, 9990..10_000])?; // one request to each other owner
    /// assert_eq!(pages.at(9999)? - pages.at(4000)?, 59_990); // no request
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn fetch(&self, ranges: impl IntoIterator<Item = Range<usize>>) -> Result<()> {
        let ranges: Vec<_> = ranges.into_iter().collect();
        for range in &ranges {
            self.check_shown_range(range.start, range.len())?;
        }
        self.state.fetch(self.vector, ranges, &Site::here())
    }

    /// Element `index`. An absent page is fetched.
    ///
    /// # Errors
    /// [`Error::IndexOutside`](crate::Error::IndexOutside); else as [`slice`](Self::slice).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let pages = v.paged()?;
    /// assert_eq!(pages.at(9)?, 90);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn at(&self, index: usize) -> Result<T> {
        self.check_shown(index)?;
        if let Some(all) = self.state.view.borrow().here(index) {
            return Ok(bytemuck::cast_slice(all)[index]);
        }
        self.slice(index..index + 1).map(|element| element[0])
    }

    /// Number of elements of the whole vector.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let pages = v.paged()?;
    /// assert_eq!(pages.len(), 10);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.vector.len()
    }

    /// Returns true if the whole vector has no elements.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let pages = v.paged()?;
    /// assert!(!pages.is_empty());
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.vector.is_empty()
    }

    /// The global indices that this rank owns, as [`GVector::local_range`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::new(world, 7)?;
    /// let pages = v.paged()?;
    /// assert_eq!(pages.local_range(), if world.is_root() { 0..4 } else { 4..7 });
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn local_range(&self) -> Range<usize> {
        self.vector.local_range()
    }

    /// The global numbers of the rows that this rank owns, as [`GVector::local_rows`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let table = GVector::<u64>::new(world, MatrixDim::new(5, 10))?;
    /// let pages = table.paged()?;
    /// assert_eq!(pages.local_rows(), if world.is_root() { 0..3 } else { 3..5 });
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn local_rows(&self) -> Range<usize> {
        self.vector.local_rows()
    }
}

impl<T: Element> PagedMut<'_, T> {
    /// The elements of a range, for writing. Elements that have changed at the next [`sync`](Self::sync), or at the end
    /// of the scope, count as written. Other ranks may write other elements of the same pages.
    ///
    /// # Errors
    /// As [`slice`](Self::slice).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let mut pages = v.paged_mut()?;
    /// pages.slice_mut(if world.is_root() { 0..2 } else { 2..6 })?.fill(7);
    /// pages.sync()?;
    /// assert_eq!(pages.slice(0..7)?, [7, 7, 7, 7, 7, 7, 0]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn slice_mut(&mut self, range: Range<usize>) -> Result<&mut [T]> {
        self.check_shown_range(range.start, range.end.saturating_sub(range.start))?;
        let site = Site::here();
        self.state.bring(self.vector, &range, &site)?;
        self.state.shown = Shown::default();
        self.state.open(self.vector, &range, &site)?;
        let all: &mut [T] = bytemuck::cast_slice_mut(self.state.view.get_mut().memory_mut().bytes_mut());
        Ok(&mut all[range.start..range.end.max(range.start)])
    }

    /// Row `row` of the matrix, for writing. As [`row`](Self::row) and [`slice_mut`](Self::slice_mut).
    ///
    /// # Panics
    /// If the matrix has no such row.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut table = GVector::<u64>::new(world, MatrixDim::new(4, 3))?;
    /// let mut pages = table.paged_mut()?;
    /// for row in pages.local_rows() {
    ///     pages.row_mut(row)?.fill(row as u64);
    /// }
    /// pages.sync()?;
    /// assert_eq!(pages.row(3)?, [3, 3, 3]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn row_mut(&mut self, row: usize) -> Result<&mut [T]> {
        self.slice_mut(self.places_of_row(row))
    }

    /// Sets element `index`; an absent page is fetched first. Other ranks see the value after the next
    /// [`sync`](Self::sync), or after the scope. Errors as for [`at`](Self::at).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let mut pages = v.paged_mut()?;
    /// let me = world.rank().index();
    /// pages.put(9 - me, 7)?;
    /// pages.finish()?;
    /// assert_eq!((v.at(8)?, v.at(9)?), (7, 7));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn put(&mut self, index: usize, value: T) -> Result<()> {
        self.check_shown(index)?;
        self.state.shown = Shown::default();
        match self.state.view.get_mut().open(index) {
            Some(all) => bytemuck::cast_slice_mut(all)[index] = value,
            None => self.slice_mut(index..index + 1)?[0] = value,
        }
        Ok(())
    }
}

/// By global index. An absent page is fetched; if that fails, the access panics with the error and poisons the vector.
/// [`at`](PagedMut::at) is several times faster. For many elements, one long [`slice`](PagedMut::slice) is, too.
impl<T: Element, const WRITES: bool> Index<usize> for Scope<'_, Pages<T, WRITES>> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, index: usize) -> &T {
        let place = self.place_of(index);
        self.slice(place..place + 1).map_or_else(|error| panic!("{error}"), |element| &element[0])
    }
}

/// By global row and column; as by index.
impl<T: Element, const WRITES: bool> Index<(usize, usize)> for Scope<'_, Pages<T, WRITES>> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, cell: (usize, usize)) -> &T {
        &self[self.index_in_window(cell)]
    }
}

/// By global index. As for reading; the element counts as written if it changes.
impl<T: Element> IndexMut<usize> for PagedMut<'_, T> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, index: usize) -> &mut T {
        let place = self.place_of(index);
        self.slice_mut(place..place + 1).map_or_else(|error| panic!("{error}"), |element| &mut element[0])
    }
}

/// By global row and column; as by index.
impl<T: Element> IndexMut<(usize, usize)> for PagedMut<'_, T> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, cell: (usize, usize)) -> &mut T {
        let index = self.index_in_window(cell);
        &mut self[index]
    }
}

impl<T: Element, const WRITES: bool> GlobalRead<T> for Scope<'_, Pages<T, WRITES>> {
    fn len(&self) -> usize {
        self.vector.len()
    }

    #[track_caller]
    fn at(&self, index: usize) -> Result<T> {
        Scope::at(self, index)
    }
}

impl<T: Element> GlobalWrite<T> for PagedMut<'_, T> {
    #[track_caller]
    fn put(&mut self, index: usize, value: T) -> Result<()> {
        PagedMut::put(self, index, value)
    }
}
