//! Indices in, values out, as iterators.

use super::queue::BatchedQueue;
use crate::{Element, Error, Result};
use std::iter::{FusedIterator, Repeat, Zip, repeat};

/// The elements at the indices of another iterator, each with a key: [`BatchedReads::pairs`](crate::BatchedReads).
///
/// The iterator takes indices ahead: enough to keep four requests of 64 KiB to each owner under way, but at most
/// 16 MiB of values. Dropping it abandons its requests.
///
/// An error is the last item. The error of an index comes after the values of the indices before it; the error of an
/// owner that cannot answer comes at once.
#[must_use = "iterators read nothing before they are used"]
pub struct BatchedPairs<'g, T: Element, K, I> {
    queue: BatchedQueue<'g, T, K>,
    /// `None` once the source is exhausted.
    source: Option<I>,
    window: usize,
    /// The number of queued elements at which more indices are taken; 0 once there are no more.
    low: usize,
    /// The error of an index, returned after the queued elements.
    outside: Option<Error>,
}

impl<'g, T: Element, K, I: Iterator<Item = (K, usize)>> BatchedPairs<'g, T, K, I> {
    pub(super) fn new(queue: BatchedQueue<'g, T, K>, source: I) -> Self {
        let window = queue.window();
        BatchedPairs { queue, source: Some(source), window, low: window - window / 4, outside: None }
    }

    fn refill(&mut self) -> Result<()> {
        self.queue.refill()?;
        while self.queue.len() < self.window
            && let Some(source) = &mut self.source
        {
            let wanted = source.next().map(|(key, index)| self.queue.push_here(key, index));
            match wanted {
                Some(Ok(())) => continue,
                Some(Err(error)) => self.outside = Some(error),
                None => {}
            }
            self.end();
            self.queue.send()?;
        }
        Ok(())
    }

    fn end(&mut self) {
        self.source = None;
        self.low = 0;
    }

    fn step(&mut self) -> Result<Option<(K, T)>> {
        if self.source.is_some() && self.queue.len() <= self.low {
            self.refill()?;
        }
        match self.queue.pop_with()? {
            Some(pair) => Ok(Some(pair)),
            None => self.outside.take().map_or(Ok(None), Err),
        }
    }

    /// The slow path: the next value has to be waited for, or more indices are to be taken.
    #[inline(never)]
    fn next_slowly(&mut self) -> Option<Result<(K, T)>> {
        match self.step() {
            Ok(pair) => pair.map(Ok),
            Err(error) => {
                self.end();
                self.outside = None;
                self.queue.clear();
                Some(Err(error))
            }
        }
    }
}

impl<T: Element, K, I: Iterator<Item = (K, usize)>> Iterator for BatchedPairs<'_, T, K, I> {
    type Item = Result<(K, T)>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.queue.len() > self.low
            && let Some(pair) = self.queue.pop_at_hand()
        {
            return Some(Ok(pair));
        }
        self.next_slowly()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let queued = self.queue.len() + usize::from(self.outside.is_some());
        let most = self.source.as_ref().map_or(Some(0), |source| source.size_hint().1);
        // An error may end it early.
        (0, most.and_then(|most| most.checked_add(queued)))
    }
}

impl<T: Element, K, I: Iterator<Item = (K, usize)>> FusedIterator for BatchedPairs<'_, T, K, I> {}

/// As [`BatchedPairs`], without keys: [`BatchedReads::iter`](crate::BatchedReads).
#[must_use = "iterators read nothing before they are used"]
pub struct BatchedIter<'g, T: Element, I>(BatchedPairs<'g, T, (), Zip<Repeat<()>, I>>);

impl<'g, T: Element, I: Iterator<Item = usize>> BatchedIter<'g, T, I> {
    pub(super) fn new(queue: BatchedQueue<'g, T>, source: I) -> Self {
        BatchedIter(BatchedPairs::new(queue, repeat(()).zip(source)))
    }
}

impl<T: Element, I: Iterator<Item = usize>> Iterator for BatchedIter<'_, T, I> {
    type Item = Result<T>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map(|((), value)| value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T: Element, I: Iterator<Item = usize>> FusedIterator for BatchedIter<'_, T, I> {}

impl<T: Element, K, I> std::fmt::Debug for BatchedPairs<'_, T, K, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "iterator over {:?}", self.queue)
    }
}

impl<T: Element, I> std::fmt::Debug for BatchedIter<'_, T, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
