//! Traits for one loop over the bare vector and over every behaviour that allows it.

use super::GVector;
use crate::{Element, Result};

/// Reading by global index and by value: the bare vector and every behaviour that shows elements.
///
/// ```
/// use aurora_core::prelude::*;
///
/// fn sum(v: &impl GlobalRead<u64>) -> Result<u64> {
///     (0..v.len()).map(|i| v.at(i)).sum()
/// }
///
/// Config::threads(2).run(|world| {
///     let v = GVector::<u64>::from_fn(world, 5, |i| i as u64)?;
///     assert_eq!(sum(&v)?, 10);               // each remote element by itself
///     assert_eq!(sum(&v.read_cache()?)?, 10); // all at once
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
pub trait GlobalRead<T: Element> {
    /// Number of elements of the whole vector.
    fn len(&self) -> usize;

    /// Returns true if the whole vector has no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element `index`.
    ///
    /// # Errors
    /// An index outside the vector, or outside the elements that the behaviour shows on this rank. For the bare vector
    /// also every error of [`GVector::at`](crate::GVector::at).
    #[track_caller]
    fn at(&self, index: usize) -> Result<T>;
}

/// Writing by global index: the bare vector and every behaviour that takes writes.
pub trait GlobalWrite<T: Element> {
    /// Sets element `index`. Errors as for [`GlobalRead::at`].
    #[track_caller]
    fn put(&mut self, index: usize, value: T) -> Result<()>;
}

impl<T: Element> GlobalRead<T> for GVector<T> {
    fn len(&self) -> usize {
        GVector::len(self)
    }

    #[track_caller]
    fn at(&self, index: usize) -> Result<T> {
        GVector::at(self, index)
    }
}

impl<T: Element> GlobalWrite<T> for GVector<T> {
    #[track_caller]
    fn put(&mut self, index: usize, value: T) -> Result<()> {
        GVector::put(self, index, value)
    }
}
