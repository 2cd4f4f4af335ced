//! `BatchedReads`: many random reads of remote elements, queued, requested in batches, and answered in order.
//!
//! For reads that depend on the program's data, so that neither a range nor a copy of the whole helps: the columns of
//! a sparse matrix, the neighbours of a graph's nodes.

mod iter;
mod lane;
mod queue;

pub use iter::{BatchedIter, BatchedPairs};
pub use queue::BatchedQueue;

use super::{BatchedReads, Behaviour, Scope, kind};
use crate::kernel::Reason;
use crate::vector::{GVector, GlobalRead};
use crate::window::Window;
use crate::{Element, Error, Kind, Result, Site};
use std::marker::PhantomData;

/// Has no state: each queue has its own.
pub struct Batched<T>(PhantomData<T>);

kind!([T: Element] Batched<T>);

impl<T: Element> Behaviour for Batched<T> {
    type Element = T;
    const NAME: &'static str = "BatchedReads";

    fn abandon(&mut self, _: &GVector<T>) {}
}

impl<T: Element> GVector<T> {
    /// Opens `BatchedReads`: many elements, wherever they lie, read in batches. One-sided: entry and end send nothing.
    ///
    /// An element in memory that this rank shares is read there, without a message. For other elements each owner
    /// gets requests of 64 KiB, which its daemon answers. Each element is read at some moment between its request and
    /// its return, so a concurrent write of another rank may be seen or not. Values contain all writes of earlier
    /// collective scopes. As with [`at`](GVector::at), a read of a block waits while its owner shows it for writing.
    ///
    /// # Errors
    /// `Leaked` if a write guard was forgotten; `Poisoned` or `Mismatch` of the vector; the error that ended the job.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let v = GVector::<u64>::from_fn(world, 1000, |i| 10 * i as u64)?;
    ///     let gather = v.batched_reads()?;
    ///     // A list at a time,
    ///     assert_eq!(gather.read(&[999, 0, 500])?, [9990, 0, 5000]);
    ///     // or one by one, while the next values are under way;
    ///     let mut sum = 0;
    ///     for value in gather.iter((0..1000).rev().step_by(10)) {
    ///         sum += value?;
    ///     }
    ///     assert_eq!(sum, 504_000);
    ///     // each with a key,
    ///     for pair in gather.pairs([('a', 1), ('b', 998)]) {
    ///         let (name, value) = pair?;
    ///         assert_eq!(value, if name == 'a' { 10 } else { 9980 });
    ///     }
    ///     // or in a queue, if later indices depend on earlier values.
    ///     let mut queue = gather.queue();
    ///     queue.push(7)?;
    ///     while let Some(value) = queue.pop()? {
    ///         if value < 1000 {
    ///             queue.push(value as usize)?;
    ///         }
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("gather", "aggregator", "batch_load", "NGA_Gather", "SrcAggregator"))]
    #[track_caller]
    pub fn batched_reads(&self) -> Result<BatchedReads<'_, T>> {
        self.open_batched_reads(Window::WHOLE, Site::here())
    }

    pub(crate) fn open_batched_reads(&self, window: Window, site: Site) -> Result<BatchedReads<'_, T>> {
        if window.is_whole() {
            // The opening belongs to the look that follows: a program that polls may open the scope for each look.
            self.shared.during_look(|| self.shared.on(&site, |_, cx| cx.usable(false)))?;
        } else {
            // A request is ordered after all scopes that are completed here; scopes of other parts may be open.
            self.await_usable(false, window, &site)?;
        }
        Ok(Scope::open(self, window, site, Batched(PhantomData)))
    }
}

impl<T: Element> BatchedReads<'_, T> {
    /// The elements at `indices`, in their order. All owners get their requests at the same time.
    ///
    /// # Errors
    /// [`Error::IndexOutside`], with the place in the list, and [`Error::NotShown`] outside of a slice, before any
    /// request; `Leaked`, `Poisoned` or `Mismatch` of the vector; the error that ended the job.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let gather = v.batched_reads()?;
    /// assert_eq!(gather.read(&[9, 0, 5])?, [90, 0, 50]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn read(&self, indices: &[usize]) -> Result<Vec<T>> {
        self.check_list(indices)?;
        let mut values = vec![T::zeroed(); indices.len()];
        self.vector.read_many(indices, &mut values, (&self.reason(), self.window), &Site::here())?;
        Ok(values)
    }

    /// As [`read`](BatchedReads::read), into existing memory: `values[k]` becomes the element at `indices[k]`.
    ///
    /// # Errors
    /// As [`read`](BatchedReads::read), after which some `values` may have been written; [`Error::LengthsDiffer`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let gather = v.batched_reads()?;
    /// let mut values = [0; 3];
    /// gather.read_into(&[9, 0, 5], &mut values)?;
    /// assert_eq!(values, [90, 0, 50]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn read_into(&self, indices: &[usize], values: &mut [T]) -> Result<()> {
        let site = Site::here();
        if indices.len() != values.len() {
            return Err(Error::LengthsDiffer { from: indices.len(), into: values.len(), site });
        }
        self.check_list(indices)?;
        self.vector.read_many(indices, values, (&self.reason(), self.window), &site)
    }

    /// The elements at the indices that `indices` yields, in order, as an iterator that requests the next elements
    /// while earlier ones are used. [`BatchedPairs`] describes the look-ahead and the errors.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let gather = v.batched_reads()?;
    /// let values: Vec<u64> = gather.iter((0..10).step_by(3)).collect::<Result<_>>()?;
    /// assert_eq!(values, [0, 30, 60, 90]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn iter<I: IntoIterator<Item = usize>>(&self, indices: I) -> BatchedIter<'_, T, I::IntoIter> {
        BatchedIter::new(self.queue(), indices.into_iter())
    }

    /// As [`iter`](BatchedReads::iter), each value with the key that came with its index.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let gather = v.batched_reads()?;
    /// let named: Vec<(char, u64)> = gather.pairs([('a', 9), ('b', 0)]).collect::<Result<_>>()?;
    /// assert_eq!(named, [('a', 90), ('b', 0)]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn pairs<K, I>(&self, pairs: I) -> BatchedPairs<'_, T, K, I::IntoIter>
    where
        I: IntoIterator<Item = (K, usize)>,
    {
        BatchedPairs::new(self.keyed_queue(), pairs.into_iter())
    }

    /// An empty queue, for indices that become known one by one.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let gather = v.batched_reads()?;
    /// let mut queue = gather.queue();
    /// queue.push(9)?;
    /// queue.push(0)?;
    /// assert_eq!((queue.pop()?, queue.pop()?, queue.pop()?), (Some(90), Some(0), None));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn queue(&self) -> BatchedQueue<'_, T> {
        self.keyed_queue()
    }

    /// As [`queue`](BatchedReads::queue), for indices with a key each.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let gather = v.batched_reads()?;
    /// let mut queue = gather.keyed_queue();
    /// queue.push_with("last", 9)?;
    /// assert_eq!(queue.pop_with()?, Some(("last", 90)));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn keyed_queue<K>(&self) -> BatchedQueue<'_, T, K> {
        BatchedQueue::new(self.vector, self.window, self.reason(), Site::here())
    }

    /// Checks the scope's window only. Indices outside the vector are found when they are read.
    #[track_caller]
    fn check_list(&self, indices: &[usize]) -> Result<()> {
        let len = self.vector.len();
        match indices.iter().find(|index| **index < len && !self.shown.contains(index)) {
            None => Ok(()),
            Some(index) => self.check_shown(*index),
        }
    }

    fn reason(&self) -> Reason {
        Reason::new(Batched::<T>::NAME, Kind::BatchedReads, &self.site)
    }
}

/// One element at a time, as without a behaviour, so that one loop runs on a vector and on a scope.
impl<T: Element> GlobalRead<T> for BatchedReads<'_, T> {
    fn len(&self) -> usize {
        self.vector.len()
    }

    #[track_caller]
    fn at(&self, index: usize) -> Result<T> {
        self.check_shown(index)?;
        let mut one = [T::zeroed()];
        self.vector.read_many(&[index], &mut one, (&self.reason(), self.window), &Site::here())?;
        Ok(one[0])
    }
}
