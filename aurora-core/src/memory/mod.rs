//! The memory that shared vectors live in.
//!
//! A block or a cache is one [`Array`] behind an `Arc`. The kernel sees its bytes ([`Storage`]), guards see its
//! elements. **The `Arc` is the lending protocol**: a guard that shows a block holds a clone, so the kernel cannot
//! borrow the array mutably and parks remote writes. A guard that writes has taken the array itself, so the kernel
//! parks every remote access. Nothing of this depends on a guard's `Drop`. A guard of a part of a block holds a piece
//! that was cut off for it ([`Parts`]); the rest is served meanwhile.
//!
//! `README.md` describes the source of large memory, and the errors when there is none.

mod allowance;
mod array;
mod arriving;
mod available;
mod budget;
mod cells;
mod demand;
mod direct;
mod folds;
mod gate;
mod group;
mod holder_timeout;
mod latch;
mod latched;
mod lent;
mod located;
mod meter;
mod metered;
#[cfg(test)]
mod model;
pub(crate) mod node;
mod parts;
mod permit;
mod prefetch;
mod ranges;
mod shared;
mod word;
mod words;

pub(crate) use allowance::Allowance;
pub(crate) use array::{Array, View};
pub(crate) use arriving::{Arriving, Kept, Part, Shown};
pub(crate) use available::Limits;
#[cfg(test)]
pub(crate) use available::Pool;
pub use available::available;
pub(crate) use budget::Budget;
pub(crate) use cells::{Cells, Elements};
pub(crate) use demand::{Demand, Shortage};
pub(crate) use direct::Direct;
pub(crate) use holder_timeout::HolderTimeout;
pub(crate) use latch::LatchMode;
pub(crate) use lent::{Lent, LentMut, with_lent, with_lent_mut};
pub(crate) use meter::{Meter, STEP, filled, zeros};
pub(crate) use metered::Metered;
pub(crate) use parts::{Parts, Piece};
pub(crate) use permit::{OWN, Permit, READ, WRITE};
pub(crate) use prefetch::Prefetch;
pub(crate) use ranges::Ranges;
pub(crate) use shared::{BarrierRound, Reading, SharedCopy, Sharing, offset_in_page};
pub(crate) use word::{InPlace, Word};

use crate::Element;
use std::any::Any;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// Memory that the system has promised.
pub(crate) type Fresh = Result<Arc<dyn Storage>, Shortage>;

/// Memory for `len` elements of this type, which is taken when it is touched.
pub(crate) fn fresh<T: Element>(len: usize) -> Fresh {
    Ok(Arc::new(Array::<T>::promised(len)?))
}

/// An [`Array`] whose element type is not known here.
pub(crate) trait Storage: Any + Send + Sync {
    fn bytes(&self) -> &[u8];
    fn bytes_mut(&mut self) -> &mut [u8];
    /// The address of the first byte, without borrowing the bytes.
    fn start(&self) -> NonNull<u8>;
    fn byte_len(&self) -> usize;
    /// The bytes, while other threads may read single elements.
    fn cells(&mut self) -> Cells<'_>;
    /// Touches these bytes, if the system has only promised them. Their contents do not change.
    fn take(&mut self, bytes: Range<usize>) -> Result<(), Shortage>;
    /// Returns shared memory to the system while the array lives: it is then zeros, as if never touched.
    fn give_back(&mut self);
    /// Another of this type and length, of zeros: [`Array::promised`].
    fn promised(&self) -> Fresh;
    /// A copy while other ranks may write words: the copy has each word as it is at some moment.
    fn duplicate_by_words(&mut self) -> Arc<dyn Storage>;
    /// An array of the same type with these contents, concatenated.
    fn gathered(&self, contents: &[&[u8]]) -> Arc<dyn Storage>;
    fn split_off(&mut self, at: usize) -> Arc<dyn Storage>;
    /// True if it comes directly after `before` in memory, and both are pieces of one array.
    fn follows(&self, before: &(dyn Storage + 'static)) -> bool;
    /// Undoes `split_off`: appends the elements of `next` if they follow its own. False: nothing is changed.
    fn join(&mut self, next: &mut (dyn Storage + 'static)) -> bool;
}

/// The array with its element type.
///
/// # Panics
/// If the type is another one: a bug of ours.
pub(crate) fn typed<T: Element>(storage: Arc<dyn Storage>) -> Arc<Array<T>> {
    let any: Arc<dyn Any + Send + Sync> = storage;
    any.downcast().expect("an object keeps its element type")
}
