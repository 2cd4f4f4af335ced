//! `distmemcpy`: one-sided bulk copies (paper section 3.4).

mod piece;
mod reading;
mod writing;

use crate::{Element, Error, GVector, Result, Site, memory};
use std::ops::{Bound, Range, RangeBounds};

/// A range of a vector, as the source of a copy: [`GVector::range`].
#[derive(Debug)]
pub struct VectorRange<'v, T: Element> {
    vector: &'v GVector<T>,
    range: Range<usize>,
    site: Site,
}

/// A range of a vector, as the destination of a copy: [`GVector::range_mut`].
#[derive(Debug)]
pub struct VectorRangeMut<'v, T: Element> {
    vector: &'v mut GVector<T>,
    range: Range<usize>,
    site: Site,
}

/// The indices that a range names. An open bound is the bound of `within`.
pub(crate) fn resolve(range: impl RangeBounds<usize>, within: &Range<usize>) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(start) => start.saturating_add(1),
        Bound::Unbounded => within.start,
    };
    let end = match range.end_bound() {
        Bound::Included(end) => end.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => within.end,
    };
    start..end
}

impl<T: Element> GVector<T> {
    /// A range of the vector as the source of a [`distmemcpy`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| i as u64)?;
    /// let mut copy = [0; 3];
    /// distmemcpy(&mut copy[..], v.range(4..7))?;
    /// assert_eq!(copy, [4, 5, 6]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn range(&self, range: impl RangeBounds<usize>) -> VectorRange<'_, T> {
        VectorRange::new(self, range, Site::here())
    }

    /// A range of the vector as the destination of a [`distmemcpy`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// if world.is_root() {
    ///     distmemcpy(v.range_mut(4..7), &[1, 2, 3][..])?;
    /// }
    /// world.barrier()?;
    /// assert_eq!(v.at(6)?, 3);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn range_mut(&mut self, range: impl RangeBounds<usize>) -> VectorRangeMut<'_, T> {
        VectorRangeMut::new(self, range, Site::here())
    }
}

impl<'v, T: Element> VectorRange<'v, T> {
    pub(crate) fn new(vector: &'v GVector<T>, range: impl RangeBounds<usize>, site: Site) -> Self {
        VectorRange { vector, range: resolve(range, &(0..vector.len())), site }
    }
}

impl<'v, T: Element> VectorRangeMut<'v, T> {
    pub(crate) fn new(vector: &'v mut GVector<T>, range: impl RangeBounds<usize>, site: Site) -> Self {
        let range = resolve(range, &(0..vector.len()));
        VectorRangeMut { vector, range, site }
    }
}

fn check<T: Element>(vector: &GVector<T>, range: &Range<usize>, other: usize, into: bool, site: &Site) -> Result<()> {
    if range.start > range.end || range.end > vector.len() {
        let (start, end) = (range.start, range.end);
        return Err(Error::RangeOutside { start, end, len: vector.len(), object: vector.name(), site: site.clone() });
    }
    if range.len() != other {
        let (from, into) = if into { (other, range.len()) } else { (range.len(), other) };
        return Err(Error::LengthsDiffer { from, into, site: site.clone() });
    }
    Ok(())
}

/// A pair of destination and source that can be copied: local memory from a vector, a vector from local memory, or
/// a vector from a vector.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no pair of destination and source",
    note = "local memory is given as a slice: `&mut buffer[..]` or `&buffer[..]`; a vector's part as `v.range(a..b)` or `v.range_mut(a..b)`"
)]
pub trait Transfer: Sized {
    /// Copies all pairs, in an order that the library chooses.
    #[doc(hidden)]
    fn copy_all(pairs: Vec<Self>) -> Result<()>;
}

/// Copies a range of a vector to local memory, local memory to a range of a vector, or a range to a range of another
/// vector. One-sided: only the caller takes part. When the call returns, the destination is written. Local memory is
/// given as a slice: `&mut buffer[..]`, `&buffer[..]`. Both sides must have the same length.
///
/// Blocks of ranks that share memory with the caller are copied directly, without a message. The daemons of the owners
/// copy all other blocks. They also copy blocks of which the owner holds a slice that does not admit the copy, and do
/// writes of elements that do not have 1, 2, 4 or 8 bytes.
///
/// # Errors
/// [`Error::RangeOutside`] and [`Error::LengthsDiffer`] before anything is copied; `Leaked`, `Poisoned` or `Mismatch`
/// of a vector; [`Error::OutOfMemory`]; the error that ended the job. After an error, local memory may be written in
/// part.
///
/// ```
/// use aurora_core::prelude::*;
///
/// Config::threads(3).run(|world| {
///     let mut v = GVector::<i32>::from_fn(world, 10, |i| i as i32)?;
///     let mut part = [0; 4];
///     distmemcpy(&mut part[..], v.range(5..9))?;
///     assert_eq!(part, [5, 6, 7, 8]);
///     world.barrier()?;
///     if world.is_root() {
///         distmemcpy(v.range_mut(8..), &[1, 2][..])?;
///     }
///     world.barrier()?;
///     assert_eq!(v.at(9)?, 2);
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
#[doc(alias("memcpy", "NGA_Get", "NGA_Put", "MPI_Isend", "MPI_Irecv", "MPI_Scatter"))]
pub fn distmemcpy<D, S>(destination: D, source: S) -> Result<()>
where
    (D, S): Transfer,
{
    distmemcpy_many([(destination, source)])
}

/// Copies many pairs as one operation: all are under way at once, in an order that spreads them over the owners.
/// Errors as for [`distmemcpy`]. All pairs of a call have the same direction. A call can write only one range of each
/// vector, because it borrows the vector mutably; to write many ranges of one vector use [`GVector::release_c`] and
/// `put_slice`.
///
/// ```
/// use aurora_core::prelude::*;
///
/// Config::threads(3).run(|world| {
///     let v = GVector::<i32>::from_fn(world, 10, |i| i as i32)?;
///     let (mut first, mut last) = ([0; 2], [0; 3]);
///     distmemcpy_many([(&mut first[..], v.range(..2)), (&mut last[..], v.range(7..))])?;
///     assert_eq!((first, last), ([0, 1], [7, 8, 9]));
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
#[doc(alias("alltoall", "MPI_Alltoall", "MPI_Alltoallv", "shmem_alltoall"))]
pub fn distmemcpy_many<P: Transfer>(pairs: impl IntoIterator<Item = P>) -> Result<()> {
    P::copy_all(pairs.into_iter().collect())
}

impl<T: Element> Transfer for (VectorRangeMut<'_, T>, VectorRange<'_, T>) {
    fn copy_all(pairs: Vec<Self>) -> Result<()> {
        /// Bytes that pass through this rank at a time.
        const THROUGH: usize = 1 << 20;
        for (into, from) in &pairs {
            check(from.vector, &from.range, into.range.len(), false, &from.site)?;
            check(into.vector, &into.range, from.range.len(), true, &into.site)?;
        }
        let step = (THROUGH / size_of::<T>()).max(1);
        for (into, from) in pairs {
            let through = memory::zeros(step.min(from.range.len()));
            let me = from.vector.shared.me;
            let mut through =
                through.map_err(|s| s.error(me, "a distmemcpy between vectors", from.vector.name(), &from.site))?;
            for at in (0..from.range.len()).step_by(step) {
                let len = step.min(from.range.len() - at);
                let source = VectorRange {
                    range: from.range.start + at..from.range.start + at + len,
                    site: from.site.clone(),
                    ..from
                };
                distmemcpy(&mut through[..len], source)?;
                let start = into.range.start + at;
                let sink =
                    VectorRangeMut { vector: &mut *into.vector, range: start..start + len, site: into.site.clone() };
                distmemcpy(sink, &through[..len])?;
            }
        }
        Ok(())
    }
}
