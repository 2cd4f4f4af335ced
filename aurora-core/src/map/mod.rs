//! The distributed hash map: its handle, a rank's part of it, and its scopes.

mod buffer;
mod code;
mod entries;
mod handle;
mod held;
#[cfg(test)]
mod hostile;
mod key;
mod many;
mod message;
mod operations;
mod owner;
mod part;
mod release;
mod slots;
#[cfg(test)]
mod tests;
mod whole;
mod work;

use buffer::{Buffer, Pending};

pub use entries::{Entries as MapEntries, MapIter, MapIterMut};
pub use handle::GMap;
pub use key::{Lookup, MapKey, MapValue};
pub use owner::{MapOwnerComputes, MapOwnerComputesMut};
pub use release::MapReleaseC;
