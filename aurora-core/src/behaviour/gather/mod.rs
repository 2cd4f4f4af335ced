//! `Gather`: many random reads of remote elements, queued, asked for in batches, and answered in order.
//!
//! What a program reads may depend on its data, so that no range and no copy of the whole would serve: the values of a
//! sparse matrix's columns, the neighbours of a graph's nodes. It opens the scope, and reads a list of indices at a
//! time ([`Gather::read`](super::Gather)), or lets an iterator run ahead of it ([`Gather::iter`](super::Gather)).

mod iter;
mod lane;
mod queue;

pub use iter::{GatherIter, GatherPairs};
pub use queue::GatherQueue;

use super::{Behaviour, Gather, Scope, sealed};
use crate::element::Element;
use crate::error::Result;
use crate::kernel::Reason;
use crate::vector::waits::VectorWait;
use crate::vector::{GVector, GlobalRead};
use crate::window::Window;
use crate::{Error, Site};
use std::marker::PhantomData;

/// Holds nothing: each queue has its own.
pub struct Gathering<T>(PhantomData<T>);

impl<T> sealed::Sealed for Gathering<T> {}

impl<T: Element> Behaviour for Gathering<T> {
    type Element = T;
    const NAME: &'static str = "Gather";

    fn close(&mut self, _: &GVector<T>, _: &Site, _: bool) -> Result<()> {
        Ok(())
    }

    fn abandon(&mut self, _: &GVector<T>) {}
}

impl<T: Element> GVector<T> {
    /// Opens a `Gather`: many elements read wherever they lie, in batches. One-sided: no other rank need take part, and
    /// nothing is sent on entry or at the end.
    ///
    /// An element whose memory this rank shares is read there, without a message. Of the others each owner is asked in
    /// pieces of 64 KiB, and its daemon answers. Values are those of some moment between being asked for and being
    /// given: what other ranks write meanwhile may be seen or not, element by element. Earlier collective scopes are
    /// over for all of them; a block that its owner shows for writing is waited for, as by [`at`](GVector::at).
    ///
    /// # Errors
    /// `Leaked` where a write guard was forgotten; `Poisoned` or `Mismatch` of the vector; whatever ended the job.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let v = GVector::<u64>::from_fn(world, 1000, |i| 10 * i as u64)?;
    ///     let gather = v.gatherer()?;
    ///     // A list at a time,
    ///     assert_eq!(gather.read(&[999, 0, 500])?, [9990, 0, 5000]);
    ///     // or one by one, while the next are on their way;
    ///     let mut sum = 0;
    ///     for value in gather.iter((0..1000).rev().step_by(10)) {
    ///         sum += value?;
    ///     }
    ///     assert_eq!(sum, 504_000);
    ///     // each with something to know it by,
    ///     for pair in gather.pairs([('a', 1), ('b', 998)]) {
    ///         let (name, value) = pair?;
    ///         assert_eq!(value, if name == 'a' { 10 } else { 9980 });
    ///     }
    ///     // or as the program comes to know what it needs.
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
    #[track_caller]
    pub fn gatherer(&self) -> Result<Gather<'_, T>> {
        self.open_gather(Window::WHOLE, Site::here())
    }

    pub(crate) fn open_gather(&self, window: Window, site: Site) -> Result<Gather<'_, T>> {
        if window.is_whole() {
            // A Gather may be opened for each look.
            self.link.during_look(|| self.link.on(&site, |_, cx| cx.usable(false, Window::WHOLE)))?;
        } else {
            // What is asked comes behind what is settled: scopes of other parts may be open.
            self.link.wait_on(VectorWait::Settle, &site, |object, cx| object.settled(false, window, cx))?;
        }
        Ok(Scope::open_in(self, window, site, Gathering(PhantomData), false, false))
    }
}

impl<T: Element> Gather<'_, T> {
    /// The elements at `indices`, in their order. All owners are asked at the same time.
    ///
    /// # Errors
    /// [`Error::IndexOutside`], with the place in the list, and [`Error::NotShown`] outside of a slice, before anything
    /// is asked for; `Leaked`, `Poisoned` or `Mismatch` of the vector; whatever ended the job.
    #[track_caller]
    pub fn read(&self, indices: &[usize]) -> Result<Vec<T>> {
        self.check_list(indices)?;
        let mut values = vec![T::zeroed(); indices.len()];
        self.vector.read_many(indices, &mut values, (&self.reason(), self.window), &Site::here())?;
        Ok(values)
    }

    /// The same into memory that is there: `values[k]` becomes the element at `indices[k]`.
    ///
    /// # Errors
    /// As [`read`](Gather::read), after which `values` may have been written in part; [`Error::LengthsDiffer`].
    #[track_caller]
    pub fn read_into(&self, indices: &[usize], values: &mut [T]) -> Result<()> {
        let site = Site::here();
        if indices.len() != values.len() {
            return Err(Error::LengthsDiffer { from: indices.len(), into: values.len(), site });
        }
        self.check_list(indices)?;
        self.vector.read_many(indices, values, (&self.reason(), self.window), &site)
    }

    /// The elements at the indices that `indices` yields, in order, as an iterator that asks for the next while the
    /// earlier are used. See [`GatherPairs`] for how far ahead, and for errors.
    #[track_caller]
    pub fn iter<I: IntoIterator<Item = usize>>(&self, indices: I) -> GatherIter<'_, T, I::IntoIter> {
        GatherIter::new(self.queue(), indices.into_iter())
    }

    /// The same, each value with a key that came with its index.
    #[track_caller]
    pub fn pairs<K, I>(&self, pairs: I) -> GatherPairs<'_, T, K, I::IntoIter>
    where
        I: IntoIterator<Item = (K, usize)>,
    {
        GatherPairs::new(self.keyed_queue(), pairs.into_iter())
    }

    /// An empty queue, for indices that become known one by one.
    #[track_caller]
    pub fn queue(&self) -> GatherQueue<'_, T> {
        self.keyed_queue()
    }

    /// The same, for indices with a key each.
    #[track_caller]
    pub fn keyed_queue<K>(&self) -> GatherQueue<'_, T, K> {
        GatherQueue::new(self.vector, self.window, self.reason(), Site::here())
    }

    /// Whether the scope is about all of them; those that are not there at all are found later.
    #[track_caller]
    fn check_list(&self, indices: &[usize]) -> Result<()> {
        let len = self.vector.len();
        match indices.iter().find(|index| **index < len && !self.shown.contains(index)) {
            None => Ok(()),
            Some(index) => self.check_shown(*index),
        }
    }

    fn reason(&self) -> Reason {
        self.vector.reason(Gathering::<T>::NAME, &self.site)
    }
}

/// One element at a time, as without a behaviour: what makes one loop run here too.
impl<T: Element> GlobalRead<T> for Gather<'_, T> {
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
