//! Indices in, values out, in the same order.

use super::Batched;
use super::lane::{Lane, Reader, UNDER_WAY, most_asked, most_read};
use crate::behaviour::Behaviour;
use crate::kernel::Reason;
use crate::window::Window;
use crate::{Element, Error, GVector, Result, Site};
use aurora_net::Rank;
use std::collections::VecDeque;
use std::ops::Range;

/// Bytes that look-ahead may take: values, and their bookkeeping.
const LOOK_AHEAD: usize = 16 << 20;

/// A queue of elements to be read: `queue` and `keyed_queue` of [`BatchedReads`](crate::BatchedReads).
///
/// Indices are pushed and values popped in the same order. An owner gets a request as soon as 64 KiB of its elements
/// are wanted, at most four at a time; [`send`](BatchedQueue::send), or the pop that needs them, requests the rest.
/// An element is read between its push and its pop. Dropping a queue abandons its requests.
///
/// After any error except the error of an index, every push and pop returns that error again.
pub struct BatchedQueue<'g, T: Element, K = ()> {
    reader: Reader<'g, T>,
    shown: Range<usize>,
    lanes: Vec<Lane<'g, T>>,
    /// The lane of each queued element; empty if there is only one lane.
    order: VecDeque<u32>,
    keys: VecDeque<K>,
    pushed: usize,
    refills: u64,
    fault: Option<Error>,
}

impl<T: Element> BatchedQueue<'_, T> {
    /// Requests element `index`.
    ///
    /// # Errors
    /// [`Error::IndexOutside`], with the number of elements pushed before; then nothing is queued. `Leaked`,
    /// `Poisoned` or `Mismatch` of the vector; the error that ended the job.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let gather = v.batched_reads()?;
    /// let mut queue = gather.queue();
    /// queue.push(9)?;
    /// assert!(matches!(queue.push(10), Err(Error::IndexOutside { .. }))); // not queued
    /// assert_eq!(queue.len(), 1);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn push(&mut self, index: usize) -> Result<()> {
        self.push_with((), index)
    }

    /// Returns the value of the oldest queued element, and waits for it if necessary; `None` if the queue is empty.
    ///
    /// # Errors
    /// `Leaked`, `Poisoned` or `Mismatch` of the vector; the error that ended the job.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let gather = v.batched_reads()?;
    /// let mut queue = gather.queue();
    /// queue.push(3)?;
    /// assert_eq!((queue.pop()?, queue.pop()?), (Some(30), None));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn pop(&mut self) -> Result<Option<T>> {
        Ok(self.pop_with()?.map(|((), value)| value))
    }
}

impl<'g, T: Element, K> BatchedQueue<'g, T, K> {
    pub(super) fn new(vector: &'g GVector<T>, window: Window, reason: Reason, site: Site) -> Self {
        let size = vector.shared.size;
        let lanes = match vector.direct.is_all_here() {
            true => vec![Lane::of_all(vector)],
            false => {
                let most = batch(vector);
                (0..size).map(|owner| Lane::of(vector, Rank::new(owner), most)).collect()
            }
        };
        let (reader, shown) = (Reader { vector, window, site, reason }, window.range(vector.len()));
        let (order, keys) = (VecDeque::new(), VecDeque::new());
        BatchedQueue { reader, shown, lanes, order, keys, pushed: 0, refills: 0, fault: None }
    }

    /// Requests element `index`, whose value comes with `key`.
    ///
    /// # Errors
    /// As [`BatchedQueue::push`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let gather = v.batched_reads()?;
    /// let mut queue = gather.keyed_queue();
    /// queue.push_with('a', 9)?;
    /// queue.push_with('b', 0)?;
    /// assert_eq!(queue.pop_with()?, Some(('a', 90)));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn push_with(&mut self, key: K, index: usize) -> Result<()> {
        if !self.shown.contains(&index) {
            return Err(self.refused(index, &Site::here()));
        }
        self.want(key, index)
    }

    /// As [`push_with`](Self::push_with), for the line that opened the queue.
    #[inline]
    pub(super) fn push_here(&mut self, key: K, index: usize) -> Result<()> {
        if !self.shown.contains(&index) {
            return Err(self.refused(index, &self.reader.site));
        }
        self.want(key, index)
    }

    #[cold]
    fn refused(&self, index: usize, site: &Site) -> Error {
        let vector = self.reader.vector;
        match index >= vector.len() {
            true => vector.outside(index, Some(self.pushed), site),
            false => vector.not_shown(index, &self.shown, Batched::<T>::NAME, site.clone()),
        }
    }

    #[inline]
    fn want(&mut self, key: K, index: usize) -> Result<()> {
        let several = self.lanes.len() > 1;
        let number = if several { self.reader.vector.dist.owner_index(index) } else { 0 };
        if self.lanes[number].is_full() {
            self.make_room(number)?;
        }
        self.lanes[number].want(index);
        if several {
            self.order.push_back(number as u32);
        }
        self.keys.push_back(key);
        self.pushed += 1;
        Ok(())
    }

    /// The value of the oldest queued element, with its key.
    ///
    /// # Errors
    /// As [`BatchedQueue::pop`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let gather = v.batched_reads()?;
    /// let mut queue = gather.keyed_queue();
    /// queue.push_with('a', 9)?;
    /// while let Some((key, value)) = queue.pop_with()? {
    ///     assert_eq!((key, value), ('a', 90));
    /// }
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn pop_with(&mut self) -> Result<Option<(K, T)>> {
        if let Some(pair) = self.pop_at_hand() {
            return Ok(Some(pair));
        }
        self.fetch()?;
        Ok(self.pop_at_hand())
    }

    /// As [`pop_with`](Self::pop_with); `None` if that would have to wait.
    #[inline]
    pub(super) fn pop_at_hand(&mut self) -> Option<(K, T)> {
        let number = self.order.front().map_or(0, |number| *number as usize);
        let value = self.lanes[number].take()?;
        self.order.pop_front();
        self.keys.pop_front().map(|key| (key, value))
    }

    /// Number of elements queued: pushed and not popped.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let gather = v.batched_reads()?;
    /// let mut queue = gather.queue();
    /// queue.push(9)?;
    /// queue.push(0)?;
    /// queue.pop()?;
    /// assert_eq!(queue.len(), 1);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns true if no element is queued.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let gather = v.batched_reads()?;
    /// let mut queue = gather.queue();
    /// queue.push(9)?;
    /// assert!(!queue.is_empty());
    /// queue.pop()?;
    /// assert!(queue.is_empty());
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Requests all queued elements, so that the transfer runs while this rank computes.
    ///
    /// # Errors
    /// As [`BatchedQueue::pop`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let gather = v.batched_reads()?;
    /// let mut queue = gather.queue();
    /// queue.push(9)?;
    /// queue.send()?;
    /// let sum: u64 = (0..1000).sum(); // meanwhile the request is on its way, if one is needed
    /// assert_eq!(queue.pop()?.map(|value| value + sum), Some(90 + 499_500));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn send(&mut self) -> Result<()> {
        self.sound()?;
        let reader = &self.reader;
        // Starts at the next rank, so that not all ranks ask the same owner first.
        let lanes = self.lanes.len();
        let first = (reader.vector.shared.me.index() + 1) % lanes;
        let outcome = (0..lanes).try_for_each(|lane| self.lanes[(first + lane) % lanes].send(reader));
        outcome.map_err(|error| self.break_off(error))
    }

    /// The number of queued elements that keeps enough requests under way.
    pub(super) fn window(&self) -> usize {
        match self.lanes.len() {
            1 => UNDER_WAY * most_read::<T>(),
            lanes => UNDER_WAY * lanes * batch(self.reader.vector),
        }
    }

    /// Before more is queued: requests elements wanted for two refills, also in batches that are not full.
    pub(super) fn refill(&mut self) -> Result<()> {
        self.sound()?;
        self.refills += 1;
        let (reader, now) = (&self.reader, self.refills);
        let mut late = self.lanes.iter_mut().filter(|lane| lane.since + 1 < now);
        let outcome = late.try_for_each(|lane| lane.send(reader));
        outcome.map_err(|error| self.break_off(error))
    }

    /// Forgets all queued elements, and takes no more.
    pub(super) fn clear(&mut self) {
        self.lanes.iter_mut().for_each(Lane::shut);
        self.order.clear();
        self.keys.clear();
        self.fault = None;
    }

    fn sound(&self) -> Result<()> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, number: usize) -> Result<()> {
        self.sound()?;
        self.lanes[number].since = self.refills;
        self.lanes[number].make_room(&self.reader).map_err(|error| self.break_off(error))
    }

    /// Makes the next value available, if there is one.
    #[cold]
    #[inline(never)]
    fn fetch(&mut self) -> Result<()> {
        self.sound()?;
        let number = self.order.front().map_or(0, |number| *number as usize);
        while !self.keys.is_empty() && !self.lanes[number].is_at_hand() {
            match self.lanes[number].advance(&self.reader) {
                Ok(true) => {}
                Ok(false) => self.send()?,
                Err(error) => return Err(self.break_off(error)),
            }
        }
        Ok(())
    }

    #[cold]
    fn break_off(&mut self, error: Error) -> Error {
        self.lanes.iter_mut().for_each(Lane::shut);
        self.fault = Some(error.clone());
        error
    }
}

/// Elements in a request: as many as an owner answers at a time; fewer if [`LOOK_AHEAD`] does not allow that.
fn batch<T: Element>(vector: &GVector<T>) -> usize {
    let size = vector.shared.size;
    let longest = (0..size).map(|owner| vector.dist.range(Rank::new(owner)).len()).max().unwrap_or(0);
    let ahead = LOOK_AHEAD / (size_of::<T>() + size_of::<usize>());
    most_asked::<T>(longest).min(ahead / (UNDER_WAY * size)).max(1)
}

impl<T: Element, K> std::fmt::Debug for BatchedQueue<'_, T, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} elements of {:?}, queued at {}", self.len(), self.reader.vector, self.reader.site)
    }
}
