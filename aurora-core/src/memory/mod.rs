//! The memory that shared vectors live in.
//!
//! A block or a cache is one [`Array`] behind an `Arc`, known to the service by its bytes ([`Storage`]) and to guards
//! by its elements. **The `Arc` is the lending protocol**: a guard that shows a block holds a clone, so the service
//! cannot get it mutably and parks remote writes; a guard that writes has taken the array itself, so there is nothing to
//! serve and every remote access is parked. Nothing of this depends on a guard's `Drop` being run.

mod available;
mod lent;

pub use available::available;
pub(crate) use lent::{Lent, LentMut, with_lent, with_lent_mut};

use crate::element::Element;
use std::any::Any;
use std::sync::Arc;

/// Consecutive elements of one type.
#[derive(Clone)]
pub(crate) struct Array<T>(pub(crate) Vec<T>);

/// An [`Array`] whose element type is not known here.
pub(crate) trait Storage: Any + Send + Sync {
    fn bytes(&self) -> &[u8];
    fn bytes_mut(&mut self) -> &mut [u8];
    /// A second one with the same contents.
    fn duplicate(&self) -> Arc<dyn Storage>;
}

impl<T: Element> Storage for Array<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.0)
    }

    fn duplicate(&self) -> Arc<dyn Storage> {
        Arc::new(self.clone())
    }
}

/// An array of `len` zeros; large ones cost nothing before they are touched.
pub(crate) fn zeroed<T: Element>(len: usize) -> Arc<dyn Storage> {
    Arc::new(Array::<T>(bytemuck::zeroed_vec(len)))
}

/// The array with its type again.
///
/// # Panics
/// If the type is another one: a bug of ours.
pub(crate) fn typed<T: Element>(storage: Arc<dyn Storage>) -> Arc<Array<T>> {
    let any: Arc<dyn Any + Send + Sync> = storage;
    any.downcast().expect("an object keeps its element type")
}
