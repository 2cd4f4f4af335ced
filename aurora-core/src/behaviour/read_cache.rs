//! `ReadCache`: a copy of the whole vector on every rank, pushed by its owners (paper sections 2.2 and 3.3).

use super::{Behaviour, ReadCache, Scope, sealed};
use crate::element::Element;
use crate::error::Result;
use crate::global::{GVector, GlobalRead, too_large};
use crate::memory::{Array, available, typed};
use crate::service::watch::What;
use crate::{Error, Site};
use std::ops::Deref;
use std::sync::Arc;

/// Holds the copy.
pub struct Cached<T> {
    copy: Arc<Array<T>>,
}

impl<T> sealed::Sealed for Cached<T> {}

impl<T: Element> Behaviour for Cached<T> {
    type Element = T;
    const NAME: &'static str = "ReadCache";

    fn close(&mut self, vector: &GVector<T>, _: &Site, _: bool) -> Result<()> {
        self.abandon(vector);
        Ok(())
    }

    fn abandon(&mut self, _: &GVector<T>) {
        self.copy = Arc::new(Array(Vec::new()));
    }
}

impl<T: Element> GVector<T> {
    /// Collective. Opens a `ReadCache`: the whole vector as a slice, as it is when all ranks have come here.
    ///
    /// Every owner pushes its block to every rank, one transfer each and no request; a block that has not changed since
    /// the last ReadCache is not sent again. The copy stays the same while the guard lives, whatever is written.
    ///
    /// # Errors
    /// `Mismatch` where ranks open different scopes; `Leaked` where a write guard was forgotten;
    /// [`Error::TooLarge`] where a machine has no room for the copy; whatever ended the job.
    #[track_caller]
    pub fn read_cache(&self) -> Result<ReadCache<'_, T>> {
        let site = Site::here();
        let epoch = self.link.wait(What::Settle { object: self.id }, &site, |service, out| {
            match service.settled(self.id, false, out)? {
                Ok(object) => {
                    let first = object.cache.is_empty();
                    if first && let Some(error) = self.no_room(&site) {
                        service.fail(Some(self.id), error.clone(), out);
                        return Some(Err(error));
                    }
                    Some(service.enter_read_cache(self.id, &site, out))
                }
                Err(error) => Some(Err(error)),
            }
        })?;
        let copy = self.link.wait(What::Load { object: self.id, epoch }, &site, |service, _| {
            if let Some(fault) = service.objects.get(&self.id).and_then(|object| object.fault.clone()) {
                return Some(Err(fault));
            }
            service.poll_loaded(self.id, epoch).map(Ok)
        })?;
        Ok(Scope::open(self, site, Cached { copy: typed(copy) }, false, false))
    }

    /// Whether this machine cannot give the memory for a copy of the whole to each of its ranks.
    fn no_room(&self, site: &Site) -> Option<Error> {
        /// Not worth asking the system for less.
        const SMALL: usize = 64 << 20;
        let needed = (self.len() * size_of::<T>()).saturating_mul(self.link.together);
        let short = needed > SMALL && available().is_some_and(|available| needed > available);
        short.then(|| too_large::<T>(self.link.me, self.dist.shape(), needed, site))
    }
}

impl<T: Element> ReadCache<'_, T> {
    /// Row `row` of the matrix, by its global number; of a vector that is no matrix one element.
    ///
    /// # Panics
    /// If there is no such row.
    #[track_caller]
    pub fn row(&self, row: usize) -> &[T] {
        let cols = self.vector.dim().map_or(1, |dim| dim.cols);
        let rows = self.vector.len() / cols.max(1);
        assert!(row < rows, "row {row} is outside a matrix of {rows} rows");
        &self[row * cols..(row + 1) * cols]
    }
}

impl<T: Element> Deref for ReadCache<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.state.copy.0
    }
}

impl<T: Element> GlobalRead<T> for ReadCache<'_, T> {
    fn len(&self) -> usize {
        self.vector.len()
    }

    #[track_caller]
    fn at(&self, index: usize) -> Result<T> {
        self.vector.check_index(index, &Site::here())?;
        Ok(self[index])
    }
}
