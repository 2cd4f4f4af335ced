//! Matrices by whole rows: one after the other, in parallel (feature `rayon`), or as views (feature `ndarray`).

use super::elements::{ShowsElements, ShowsElementsMut};
use super::{ReadCache, ReadCacheReleaseC, Scope};
use crate::{Element, GVector};
use std::ops::{Index, Range};

/// The whole rows among consecutive elements.
struct WholeRows {
    rows: Range<usize>,
    /// 0 if rows are empty; chunks have at least one element.
    cols: usize,
    /// The indices of their elements among the consecutive elements.
    within: Range<usize>,
}

impl WholeRows {
    fn of<T: Element>(vector: &GVector<T>, first: usize, len: usize) -> Self {
        let cols = vector.row_len();
        let chunk = cols.max(1);
        let start = first.div_ceil(chunk);
        let rows = start..((first + len) / chunk).max(start);
        let within = if rows.is_empty() { 0..0 } else { rows.start * cols - first..rows.end * cols - first };
        WholeRows { rows, cols, within }
    }
}

impl<B: ShowsElements> Scope<'_, B> {
    fn whole_rows(&self) -> (WholeRows, &[B::Element]) {
        let (first, elements) = self.state.elements(self.vector);
        let whole = WholeRows::of(self.vector, first, elements.len());
        let elements = &elements[whole.within.clone()];
        (whole, elements)
    }

    /// The rows that are shown, in order, with their global numbers. Without a matrix each element is a row.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(2).run(|world| {
    ///     let matrix = GVector::<u64>::from_fn(world, MatrixDim::new(3, 4), |i| i as u64)?;
    ///     for (row, elements) in matrix.read_cache()?.iter_rows() {
    ///         assert_eq!(elements[0], 4 * row as u64);
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn iter_rows(&self) -> impl ExactSizeIterator<Item = (usize, &[B::Element])> {
        let (whole, elements) = self.whole_rows();
        whole.rows.zip(elements.chunks_exact(whole.cols.max(1)))
    }
}

impl<B: ShowsElementsMut> Scope<'_, B> {
    fn whole_rows_mut(&mut self) -> (WholeRows, &mut [B::Element]) {
        let (whole, _) = self.whole_rows();
        let elements = &mut self.state.elements_mut(self.vector)[whole.within.clone()];
        (whole, elements)
    }

    /// This rank's rows, in order, with their global numbers, for writing. A HaloCache yields this rank's own rows
    /// without the halo. A scope of a slice yields the rows that lie completely in the slice.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(2).run(|world| {
    ///     let mut matrix = GVector::<u64>::new(world, MatrixDim::new(3, 4))?;
    ///     for (row, elements) in matrix.owner_computes_mut()?.iter_rows_mut() {
    ///         elements.fill(row as u64);
    ///     }
    ///     assert_eq!(matrix.read_cache()?[(2, 3)], 2);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn iter_rows_mut(&mut self) -> impl ExactSizeIterator<Item = (usize, &mut [B::Element])> {
        let (whole, elements) = self.whole_rows_mut();
        whole.rows.zip(elements.chunks_exact_mut(whole.cols.max(1)))
    }
}

/// The rows of guards that show all elements of their window. A macro: an implementation for all behaviours that show
/// elements would conflict with that of the rank's own part.
macro_rules! shows_rows {
    ($guard:ident) => {
        impl<T: Element> $guard<'_, T> {
            /// The global numbers of the rows that are shown. If the vector is no matrix, each element is a row.
            ///
            /// ```
            /// # use aurora_core::prelude::*;
            /// # Config::threads(2).run(|world| {
            /// let table = GVector::<u64>::from_fn(world, MatrixDim::new(4, 3), |i| i as u64)?;
            /// assert_eq!(table.read_cache()?.rows(), 0..4);
            /// let part = table.slice(2..9).read_cache()?; // of row 0 only the last element
            /// assert_eq!(part.rows(), 1..3);
            /// # Ok(())
            /// # })?;
            /// # Ok::<(), Error>(())
            /// ```
            pub fn rows(&self) -> Range<usize> {
                self.whole_rows().0.rows
            }

            /// Row `row` of the matrix, by its global number. If the vector is no matrix, each element is a row.
            ///
            /// # Panics
            /// If the guard does not show this row.
            ///
            /// ```
            /// # use aurora_core::prelude::*;
            /// # Config::threads(2).run(|world| {
            /// let table = GVector::<u64>::from_fn(world, MatrixDim::new(4, 3), |i| i as u64)?;
            /// let all = table.read_cache()?;
            /// assert_eq!(all.row(2), [6, 7, 8]);
            /// # Ok(())
            /// # })?;
            /// # Ok::<(), Error>(())
            /// ```
            #[track_caller]
            pub fn row(&self, row: usize) -> &[T] {
                &self.as_slice()[self.places_of_row(row)]
            }
        }

        /// By global row and column.
        impl<T: Element> Index<(usize, usize)> for $guard<'_, T> {
            type Output = T;

            #[inline]
            #[track_caller]
            fn index(&self, cell: (usize, usize)) -> &T {
                self.cell(self.state.shown(), cell)
            }
        }
    };
}

shows_rows!(ReadCache);
shows_rows!(ReadCacheReleaseC);

#[cfg(feature = "rayon")]
mod parallel {
    use super::*;
    use rayon::iter::{IndexedParallelIterator, IntoParallelIterator};
    use rayon::slice::{ParallelSlice, ParallelSliceMut};

    impl<B: ShowsElements> Scope<'_, B> {
        /// As [`iter_rows`](Scope::iter_rows), by the threads of the current rayon pool (feature `rayon`).
        ///
        /// By default a rank's pool has a thread for every core of the machine. If several ranks share a machine, use
        /// a pool with this rank's share of the cores.
        ///
        /// ```
        /// use aurora_core::prelude::*;
        /// use aurora_core::rayon::prelude::*;
        ///
        /// # Config::threads(2).run(|world| {
        /// let table = GVector::<u64>::from_fn(world, MatrixDim::new(4, 3), |i| i as u64)?;
        /// let all = table.read_cache()?;
        /// let sums: Vec<u64> = all.par_rows().map(|(_, elements)| elements.iter().sum()).collect();
        /// assert_eq!(sums, [3, 12, 21, 30]);
        /// # Ok(())
        /// # })?;
        /// # Ok::<(), Error>(())
        /// ```
        pub fn par_rows(&self) -> impl IndexedParallelIterator<Item = (usize, &[B::Element])> {
            let (whole, elements) = self.whole_rows();
            whole.rows.into_par_iter().zip(elements.par_chunks_exact(whole.cols.max(1)))
        }
    }

    impl<B: ShowsElementsMut> Scope<'_, B> {
        /// As [`iter_rows_mut`](Scope::iter_rows_mut), by the threads of the current rayon pool (feature `rayon`).
        ///
        /// ```
        /// use aurora_core::prelude::*;
        /// use aurora_core::rayon::prelude::*;
        ///
        /// Config::threads(2).run(|world| {
        ///     let a = GVector::<f64>::from_fn(world, MatrixDim::new(5, 4), |i| i as f64)?;
        ///     let mut sums = GVector::<f64>::new(world, MatrixDim::new(5, 1))?;
        ///     let a = a.owner_computes()?;
        ///     let (mut sums, rows) = (sums.owner_computes_mut()?, a.par_rows());
        ///     sums.par_rows_mut().zip(rows).for_each(|((_, sum), (_, row))| sum[0] = row.iter().sum());
        ///     assert!(sums.iter_rows().all(|(row, sum)| sum[0] == (16 * row + 6) as f64));
        ///     Ok(())
        /// })?;
        /// # Ok::<(), Error>(())
        /// ```
        pub fn par_rows_mut(&mut self) -> impl IndexedParallelIterator<Item = (usize, &mut [B::Element])> {
            let (whole, elements) = self.whole_rows_mut();
            whole.rows.into_par_iter().zip(elements.par_chunks_exact_mut(whole.cols.max(1)))
        }
    }
}

#[cfg(feature = "ndarray")]
mod views {
    use super::*;
    use ndarray::{ArrayView2, ArrayViewMut2};

    impl<B: ShowsElements> Scope<'_, B> {
        /// The rows that are shown as a view of the crate `ndarray` (feature `ndarray`): `rows` x `cols`, without
        /// copying. **Row 0 of the view is the first row shown**, not row 0 of the matrix;
        /// [`iter_rows`](Scope::iter_rows) gives its global number.
        ///
        /// ```
        /// use aurora_core::prelude::*;
        ///
        /// Config::threads(2).run(|world| {
        ///     let matrix = GVector::<i64>::from_fn(world, MatrixDim::new(3, 2), |i| i as i64)?;
        ///     let all = matrix.read_cache()?;
        ///     assert_eq!(all.view().t().dot(&all.view())[(0, 1)], 0 * 1 + 2 * 3 + 4 * 5);
        ///     let mine = matrix.owner_computes()?;
        ///     assert_eq!(mine.view()[(0, 0)], 2 * mine.rows().start as i64);
        ///     Ok(())
        /// })?;
        /// # Ok::<(), Error>(())
        /// ```
        pub fn view(&self) -> ArrayView2<'_, B::Element> {
            let (whole, elements) = self.whole_rows();
            let shape = (whole.rows.len(), whole.cols);
            ArrayView2::from_shape(shape, elements).expect("whole rows have that many elements")
        }
    }

    impl<B: ShowsElementsMut> Scope<'_, B> {
        /// This rank's rows as an `ndarray` view for writing; numbered as in [`view`](Scope::view).
        ///
        /// ```
        /// # use aurora_core::prelude::*;
        /// # Config::threads(2).run(|world| {
        /// let mut table = GVector::<f64>::from_fn(world, MatrixDim::new(4, 3), |i| i as f64)?;
        /// let mut own = table.owner_computes_mut()?;
        /// let mut view = own.view_mut();
        /// view *= 2.0;
        /// drop(own);
        /// assert_eq!(table.read_cache()?.row(3), [18.0, 20.0, 22.0]);
        /// # Ok(())
        /// # })?;
        /// # Ok::<(), Error>(())
        /// ```
        pub fn view_mut(&mut self) -> ArrayViewMut2<'_, B::Element> {
            let (whole, elements) = self.whole_rows_mut();
            let shape = (whole.rows.len(), whole.cols);
            ArrayViewMut2::from_shape(shape, elements).expect("whole rows have that many elements")
        }
    }
}
