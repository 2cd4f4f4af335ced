//! Parts of a vector. Each part can have a behaviour of its own.

use super::{
    Accumulate, BatchedReads, OwnerComputes, OwnerComputesMut, ReadCache, ReadCacheReleaseC, ReleaseAlone, ReleaseC,
};
use crate::ops::{self, Op};
use crate::vector::{GVector, resolve};
use crate::window::Window;
use crate::{Element, Error, Result, Site};
use std::marker::PhantomData;
use std::ops::{Range, RangeBounds};

/// A part of a vector, to read: [`GVector::slice`], [`GVector::rows`].
///
/// A behaviour of a part affects only the elements of the part: a [`read_cache`](Slice::read_cache) loads only these
/// elements, and a guard delays only accesses to them. **Indices and rows stay global**: element 700 of the vector is
/// `[700]` and `get(700)` in every scope that shows it, and `len()` is the length of the vector. A collective behaviour
/// has the same range on all ranks; for a range that one rank chooses there is [`distmemcpy`](crate::distmemcpy).
///
/// Opening a behaviour of a part has the errors of the behaviour of the whole vector. In addition there is
/// [`Error::RangeOutside`] or [`Error::NotShown`] for a range that does not exist, and `Mismatch` if the ranges of a
/// collective behaviour differ between ranks.
///
/// ```
/// use aurora_core::prelude::*;
///
/// Config::threads(3).run(|world| {
///     let mut v = GVector::<u64>::from_fn(world, 1000, |i| i as u64)?;
///     let (mut left, mut right) = v.split_at_mut(400);
///     for _ in 0..3 {
///         let known = left.slice(300..).read_cache()?; // 100 elements travel
///         let mut mine = right.slice_mut(..).owner_computes_mut()?; // at the same time
///         for i in mine.indices() {
///             mine[i] += known[300 + i % 100];
///         }
///     }
///     world.barrier()?;
///     assert_eq!(v.at(999)?, 999 + 3 * 399);
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
#[must_use = "a part does nothing before it is given a behaviour"]
pub struct Slice<'v, T: Element> {
    vector: &'v GVector<T>,
    range: Range<usize>,
    /// The part from which this part was cut, if this part lies outside of it.
    outside: Option<Range<usize>>,
}

/// A part of a vector, borrowed mutably, to read and to write: [`GVector::slice_mut`], [`GVector::rows_mut`],
/// [`GVector::split_at_mut`]. Errors as for [`Slice`].
///
/// Opening a behaviour consumes the part. To keep it, open the behaviour on `part.slice_mut(..)`, such as
/// `part.slice_mut(..).release_c()?`.
#[must_use = "a part does nothing before it is given a behaviour"]
pub struct SliceMut<'v, T: Element> {
    shown: Slice<'v, T>,
    alone: PhantomData<&'v mut GVector<T>>,
}

impl<T: Element> Clone for Slice<'_, T> {
    fn clone(&self) -> Self {
        Slice { vector: self.vector, range: self.range(), outside: self.outside.clone() }
    }
}

impl<T: Element> GVector<T> {
    /// Elements of the vector, for a behaviour of their own. If the range does not exist, opening the behaviour is an
    /// error.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| i as u64)?;
    /// let part = v.slice(2..8).read_cache()?;
    /// assert_eq!(part[5], 5); // indices stay global
    /// assert_eq!(part.get(8), None);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Slice<'_, T> {
        Slice { vector: self, range: 0..self.len(), outside: None }.slice(range)
    }

    /// Elements of the vector, to read and to write, for a behaviour of their own.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let mut part = v.slice_mut(3..7).release_c()?;
    /// if world.is_root() {
    ///     part.put(3, 1)?;
    ///     assert!(part.put(7, 1).is_err());
    /// }
    /// part.finish()?;
    /// assert_eq!(v.at(3)?, 1);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> SliceMut<'_, T> {
        SliceMut::of(self.slice(range))
    }

    /// Rows of a matrix, or elements of a vector that is no matrix, for a behaviour of their own.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let m = GVector::<u64>::from_fn(world, (4, 3), |i| i as u64)?;
    /// let rows = m.rows(1..3).read_cache()?;
    /// assert_eq!(rows.row(2), [6, 7, 8]); // row numbers stay global
    /// assert_eq!(rows.window(), 3..9);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn rows(&self, rows: impl RangeBounds<usize>) -> Slice<'_, T> {
        self.slice(..).rows(rows)
    }

    /// Rows of a matrix, or elements of a vector that is no matrix, to read and to write.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut m = GVector::<u64>::from_fn(world, (4, 3), |i| i as u64)?;
    /// let mut rows = m.rows_mut(1..3).owner_computes_mut()?;
    /// for row in rows.rows() {
    ///     rows.row_mut(row).fill(0);
    /// }
    /// rows.finish()?;
    /// world.barrier()?;
    /// assert_eq!(m.at_many(&[2, 3, 8, 9])?, [2, 0, 0, 9]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn rows_mut(&mut self, rows: impl RangeBounds<usize>) -> SliceMut<'_, T> {
        SliceMut::of(self.rows(rows))
    }

    /// The elements before `at`, and the elements from `at` on. Both parts can have scopes open at the same time.
    /// Panics if `at` is beyond the end.
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::from_fn(world, 10, |i| i as u64)?;
    /// let (left, right) = v.split_at_mut(6);
    /// let known = left.read_cache()?;
    /// let mut sums = right.release_c_with(Sum)?; // while the other scope is open
    /// sums.update(9, known[5])?; // on each of 2 ranks
    /// drop((known, sums));
    /// assert_eq!(v.at(9)?, 9 + 2 * 5);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn split_at_mut(&mut self, at: usize) -> (SliceMut<'_, T>, SliceMut<'_, T>) {
        self.slice_mut(..).cut(at)
    }
}

impl<'v, T: Element> Slice<'v, T> {
    /// The global indices of the part's elements.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let m = GVector::<u64>::from_fn(world, (4, 3), |i| i as u64)?;
    /// assert_eq!(m.slice(2..8).range(), 2..8);
    /// assert_eq!(m.rows(2..).range(), 6..12);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Some of the part's elements, by their global indices.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| i as u64)?;
    /// let part = v.slice(4..);
    /// assert_eq!(part.slice(..6).range(), 4..6);
    /// assert!(part.slice(3..6).read_cache().is_err()); // element 3 is not in the part
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Slice<'v, T> {
        let (within, range) = (&self.range, resolve(range, &self.range));
        let fits = range.start <= range.end && within.start <= range.start && range.end <= within.end;
        let outside = self.outside.clone().or_else(|| (!fits).then(|| within.clone()));
        Slice { vector: self.vector, range, outside }
    }

    /// Some of the part's rows, by their global numbers.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let m = GVector::<u64>::from_fn(world, (4, 3), |i| i as u64)?;
    /// let part = m.slice(2..11);
    /// assert_eq!(part.rows(2..3).range(), 6..9);
    /// assert_eq!(part.rows(..).range(), 3..9); // the rows that lie completely in the part
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn rows(&self, rows: impl RangeBounds<usize>) -> Slice<'v, T> {
        let (cols, Range { start, end }) = (self.vector.row_len(), self.range());
        let rows = resolve(rows, &(start.div_ceil(cols.max(1))..end / cols.max(1)));
        self.slice(rows.start.saturating_mul(cols)..rows.end.saturating_mul(cols))
    }

    /// Opens a behaviour of the part for the caller's line. Returns an error for a range that does not exist.
    #[track_caller]
    fn open<R>(self, open: impl FnOnce(&'v GVector<T>, Window, Site) -> Result<R>) -> Result<R> {
        let Slice { vector, range, outside } = self;
        let site = Site::here();
        let (len, Range { start, end }) = (vector.len(), range.clone());
        if start > end || end > len {
            return Err(Error::RangeOutside { start, end, len, object: vector.name(), site });
        }
        match &outside {
            None => open(vector, Window::of(&range, len), site),
            Some(within) => {
                let index = if start < within.start { start } else { end.saturating_sub(1) };
                Err(vector.not_shown(index, within, "a slice", site))
            }
        }
    }

    /// The elements of the part that this rank owns: [`GVector::owner_computes`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| i as u64)?;
    /// let mine = v.slice(3..7).owner_computes()?;
    /// assert_eq!(mine.indices(), [3..5, 5..7][world.rank().index()]); // of 2 ranks
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn owner_computes(self) -> Result<OwnerComputes<'v, T>> {
        self.open(GVector::open_owner)
    }

    /// Collective. The whole part, on every rank: [`GVector::read_cache`]. If all ranks are on one machine, the guard
    /// shows the elements' own memory. Otherwise each owner sends its elements, every time, to all ranks on other
    /// machines.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| i as u64)?;
    /// let part = v.slice(3..7).read_cache()?;
    /// assert_eq!(part.as_slice(), [3, 4, 5, 6]); // on every rank
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn read_cache(self) -> Result<ReadCache<'v, T>> {
        self.open(GVector::open_cache)
    }

    /// Single elements of the part, read in batches: [`GVector::batched_reads`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| i as u64)?;
    /// let reads = v.slice(3..7).batched_reads()?;
    /// assert_eq!(reads.read(&[6, 3])?, [6, 3]);
    /// assert!(reads.read(&[7]).is_err());
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn batched_reads(self) -> Result<BatchedReads<'v, T>> {
        self.open(GVector::open_batched_reads)
    }
}

impl<'v, T: Element> SliceMut<'v, T> {
    /// The caller has borrowed these elements mutably.
    fn of(shown: Slice<'v, T>) -> Self {
        SliceMut { shown, alone: PhantomData }
    }

    /// The global indices of the part's elements.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let (left, right) = v.split_at_mut(4);
    /// assert_eq!((left.range(), right.range()), (0..4, 4..10));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn range(&self) -> Range<usize> {
        self.shown.range()
    }

    /// Some of the part's elements, by their global indices, to read.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::from_fn(world, 10, |i| i as u64)?;
    /// let (left, _) = v.split_at_mut(6);
    /// let part = left.slice(2..).read_cache()?; // `left` can be used again later
    /// assert_eq!(part.as_slice(), [2, 3, 4, 5]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Slice<'_, T> {
        self.shown.slice(range)
    }

    /// Some of the part's elements, by their global indices.
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let (mut left, _) = v.split_at_mut(6);
    /// for i in 0..3 {
    ///     left.slice_mut(i..6).accumulate(Sum)?.update(5, 1)?; // `left` is used again
    /// }
    /// assert_eq!(v.at(5)?, 3 * 2); // by 2 ranks
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> SliceMut<'_, T> {
        SliceMut::of(self.shown.slice(range))
    }

    /// Some of the part's rows, by their global numbers, to read.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut m = GVector::<u64>::from_fn(world, (4, 3), |i| i as u64)?;
    /// let (top, _) = m.split_at_mut(6);
    /// let rows = top.rows(1..).read_cache()?;
    /// assert_eq!(rows.row(1), [3, 4, 5]);
    /// assert_eq!(rows.rows(), 1..2);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn rows(&self, rows: impl RangeBounds<usize>) -> Slice<'_, T> {
        self.shown.rows(rows)
    }

    /// Some of the part's rows, by their global numbers.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut m = GVector::<u64>::from_fn(world, (4, 3), |i| i as u64)?;
    /// let (_, mut bottom) = m.split_at_mut(6);
    /// let mut rows = bottom.rows_mut(3..).owner_computes_mut()?;
    /// for i in rows.indices() {
    ///     rows[i] = 0; // on the rank that owns row 3
    /// }
    /// rows.finish()?;
    /// world.barrier()?;
    /// assert_eq!(m.at_many(&[8, 9])?, [8, 0]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn rows_mut(&mut self, rows: impl RangeBounds<usize>) -> SliceMut<'_, T> {
        SliceMut::of(self.shown.rows(rows))
    }

    /// The part's elements before element `at` of the vector, and its elements from `at` on. Panics if `at` is outside
    /// of the part.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let mut part = v.slice_mut(2..8);
    /// let (left, right) = part.split_at_mut(5);
    /// assert_eq!((left.range(), right.range()), (2..5, 5..8));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn split_at_mut(&mut self, at: usize) -> (SliceMut<'_, T>, SliceMut<'_, T>) {
        self.slice_mut(..).cut(at)
    }

    #[track_caller]
    fn cut(self, at: usize) -> (SliceMut<'v, T>, SliceMut<'v, T>) {
        let Slice { vector, range: Range { start, end }, outside } = self.shown;
        assert!(start <= at && at <= end, "element {at} is outside {start}..{end}, the elements that are split");
        let part = |range| SliceMut::of(Slice { vector, range, outside: outside.clone() });
        (part(start..at), part(at..end))
    }

    /// As [`Slice::owner_computes`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::from_fn(world, 10, |i| i as u64)?;
    /// let (left, right) = v.split_at_mut(7);
    /// let sum: u64 = right.owner_computes()?.iter().sum();
    /// assert_eq!(sum, [0, 7 + 8 + 9][world.rank().index()]); // of 2 ranks
    /// assert_eq!(left.owner_computes()?.indices(), [0..5, 5..7][world.rank().index()]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn owner_computes(self) -> Result<OwnerComputes<'v, T>> {
        self.shown.owner_computes()
    }

    /// Collective. As [`Slice::read_cache`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::from_fn(world, 10, |i| i as u64)?;
    /// let (left, right) = v.split_at_mut(7);
    /// let (left, right) = (left.read_cache()?, right.read_cache()?);
    /// assert_eq!(left[6] + right[7], 13);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn read_cache(self) -> Result<ReadCache<'v, T>> {
        self.shown.read_cache()
    }

    /// As [`Slice::batched_reads`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::from_fn(world, 10, |i| i as u64)?;
    /// let (_, right) = v.split_at_mut(7);
    /// assert_eq!(right.batched_reads()?.read(&[9, 7])?, [9, 7]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn batched_reads(self) -> Result<BatchedReads<'v, T>> {
        self.shown.batched_reads()
    }

    /// The elements of the part that this rank owns, for writing: [`GVector::owner_computes_mut`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let mut mine = v.slice_mut(3..7).owner_computes_mut()?;
    /// for i in mine.indices() {
    ///     mine[i] = 1;
    /// }
    /// mine.finish()?;
    /// world.barrier()?;
    /// assert_eq!(v.at_many(&[2, 3, 6, 7])?, [0, 1, 1, 0]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn owner_computes_mut(self) -> Result<OwnerComputesMut<'v, T>> {
        self.shown.open(GVector::open_owner_mut)
    }

    /// Collective. Buffered writes of all ranks to the part: [`GVector::release_c`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let mut scope = v.slice_mut(3..7).release_c()?;
    /// if world.is_root() {
    ///     scope.put_slice(4, &[1, 2])?;
    /// }
    /// scope.finish()?;
    /// assert_eq!(v.at_many(&[4, 5])?, [1, 2]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn release_c(self) -> Result<ReleaseC<'v, T>> {
        self.shown.open(|vector, window, site| vector.open_together(None, window, site))
    }

    /// Collective. Buffered writes of all ranks, with an operation: [`GVector::release_c_with`].
    ///
    /// ```
    /// use aurora_core::ops::Max;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let mut scope = v.slice_mut(3..7).release_c_with(Max)?;
    /// scope.update(6, 10 + world.rank().index() as u64)?;
    /// scope.finish()?;
    /// assert_eq!(v.at(6)?, 11); // by 2 ranks
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn release_c_with<O: Op<T>>(self, op: O) -> Result<ReleaseC<'v, T, O>> {
        ops::stateless(op);
        self.shown.open(GVector::open_together_with)
    }

    /// Collective. The whole part, to read and to write: [`GVector::read_cache_release_c`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::from_fn(world, 10, |i| i as u64)?;
    /// let mut part = v.slice_mut(3..7).read_cache_release_c()?;
    /// if world.is_root() {
    ///     part[6] = part[3] + part[4]; // written to this rank's copy, until the end
    /// }
    /// part.finish()?;
    /// assert_eq!(v.at(6)?, 7);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn read_cache_release_c(self) -> Result<ReadCacheReleaseC<'v, T>> {
        self.shown.open(GVector::open_combined)
    }

    /// Collective. Updates by all ranks, each into its own partial copy: [`GVector::accumulate`].
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let mut partial = v.slice_mut(3..7).accumulate(Sum)?;
    /// partial.update_slice(5, &[1, 2])?; // on each of 2 ranks
    /// partial.finish()?;
    /// assert_eq!(v.at_many(&[5, 6])?, [2, 4]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn accumulate<O: Op<T>>(self, op: O) -> Result<Accumulate<'v, T, O>> {
        ops::stateless(op);
        self.shown.open(|vector, window, site| vector.open_accumulate(false, window, site))
    }

    /// Collective. Updates by all ranks, merged in the order of the ranks: [`GVector::accumulate_in_order`].
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<f64>::new(world, 10)?;
    /// let mut partial = v.slice_mut(3..7).accumulate_in_order(Sum)?;
    /// partial.update(6, 0.1 + world.rank().index() as f64)?;
    /// partial.finish()?;
    /// assert_eq!(v.at(6)?, 0.1 + 1.1); // the same bits in every run
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn accumulate_in_order<O: Op<T>>(self, op: O) -> Result<Accumulate<'v, T, O>> {
        ops::stateless(op);
        self.shown.open(|vector, window, site| vector.open_accumulate(true, window, site))
    }

    /// Buffered writes of this rank alone: [`GVector::release_alone`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// if world.is_root() {
    ///     let mut scope = v.slice_mut(3..7).release_alone()?;
    ///     scope.put_slice(4, &[1, 2])?;
    ///     scope.finish()?;
    /// }
    /// world.barrier()?;
    /// assert_eq!(v.at_many(&[4, 5])?, [1, 2]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn release_alone(self) -> Result<ReleaseAlone<'v, T>> {
        self.shown.open(|vector, window, site| vector.open_alone(None, window, site))
    }

    /// Buffered writes of this rank alone, with an operation: [`GVector::release_alone_with`].
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// for _ in 0..=world.rank().index() { // once on rank 0, twice on rank 1
    ///     let mut scope = v.slice_mut(3..7).release_alone_with(Sum)?;
    ///     scope.update(6, 1)?;
    ///     scope.finish()?;
    /// }
    /// world.barrier()?;
    /// assert_eq!(v.at(6)?, 1 + 2);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn release_alone_with<O: Op<T>>(self, op: O) -> Result<ReleaseAlone<'v, T, O>> {
        ops::stateless(op);
        self.shown.open(GVector::open_alone_with)
    }
}

impl<T: Element> std::fmt::Debug for Slice<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "elements {:?} of {:?}", self.range, self.vector)
    }
}

impl<T: Element> std::fmt::Debug for SliceMut<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.shown.fmt(f)
    }
}
