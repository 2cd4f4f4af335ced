//! The memory that shared vectors live in.
//!
//! A block or a cache is one [`Array`] behind an `Arc`, known to the service by its bytes ([`Storage`]) and to guards
//! by its elements. **The `Arc` is the lending protocol**: a guard that shows a block holds a clone, so the service
//! cannot get it mutably and parks remote writes; a guard that writes has taken the array itself, so there is nothing to
//! serve and every remote access is parked. Nothing of this depends on a guard's `Drop` being run.
//!
//! Where large memory comes from, and what happens when there is none: `README.md`.

mod array;
mod arriving;
mod available;
mod budget;
mod cells;
mod demand;
mod direct;
mod door;
mod gate;
mod group;
mod lent;
mod meter;
mod prefetch;
mod ranges;
mod shared;

pub(crate) use array::Array;
pub(crate) use arriving::{Arriving, Part, Parts};
pub(crate) use available::Limits;
#[cfg(test)]
pub(crate) use available::Pool;
pub use available::{MemoryLimit, available};
pub(crate) use budget::Budget;
pub use budget::CacheLimit;
pub(crate) use cells::{Cells, Elements};
pub(crate) use demand::{Demand, Shortage};
pub(crate) use direct::{Direct, Front, OWN, READ, WRITE};
pub(crate) use door::Door;
pub(crate) use lent::{Lent, LentMut, with_lent, with_lent_mut};
pub(crate) use meter::{Meter, zeros};
pub(crate) use prefetch::Prefetch;
pub(crate) use ranges::Ranges;
pub(crate) use shared::{LOST, Reading, Sharing, Turn};

use crate::element::Element;
use std::any::Any;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// An [`Array`] whose element type is not known here.
pub(crate) trait Storage: Any + Send + Sync {
    fn bytes(&self) -> &[u8];
    fn bytes_mut(&mut self) -> &mut [u8];
    /// Where they begin, and how many they are, without borrowing them.
    fn start(&self) -> NonNull<u8>;
    fn byte_len(&self) -> usize;
    /// The same bytes, while single elements are read: [`Array::cells`].
    fn cells(&mut self) -> Cells<'_>;
    /// Makes sure of memory for these bytes: [`Array::take`].
    fn take(&mut self, bytes: Range<usize>) -> Result<(), Shortage>;
    /// Gives it back, where it is the memory of several ranks: [`Array::give_back`].
    fn give_back(&mut self);
    /// A second one with the same contents.
    fn duplicate(&self) -> Arc<dyn Storage>;
}

impl<T: Element> Storage for Array<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self)
    }

    fn start(&self) -> NonNull<u8> {
        Array::start(self).cast()
    }

    fn byte_len(&self) -> usize {
        Array::elements(self) * size_of::<T>()
    }

    fn cells(&mut self) -> Cells<'_> {
        Array::cells(self)
    }

    fn take(&mut self, bytes: Range<usize>) -> Result<(), Shortage> {
        Array::take(self, bytes)
    }

    fn give_back(&mut self) {
        Array::give_back(self);
    }

    fn duplicate(&self) -> Arc<dyn Storage> {
        Arc::new(self.clone())
    }
}

/// The array with its type again.
///
/// # Panics
/// If the type is another one: a bug of ours.
pub(crate) fn typed<T: Element>(storage: Arc<dyn Storage>) -> Arc<Array<T>> {
    let any: Arc<dyn Any + Send + Sync> = storage;
    any.downcast().expect("an object keeps its element type")
}
