//! A rank's part of a map: its entries.

use super::entries::Entries;
use super::key::{MapKey, MapValue};
use super::operations::{self, OpFn};
use crate::operation::Operations;
use crate::scope::Scoped;
use std::sync::Arc;

/// The shared object of a map.
pub(super) type Map<K, V> = Scoped<Own<K, V>>;

pub(super) struct Own<K, V> {
    /// This rank's entries. A guard that shows them holds a clone; `None`: a guard that writes has taken them.
    pub(super) entries: Option<Arc<Entries<K, V>>>,
    pub(super) ops: Operations<OpFn<V>>,
}

impl<K: MapKey, V: MapValue> Own<K, V> {
    pub(super) fn new() -> Self {
        Own { entries: Some(Arc::default()), ops: operations::built_in() }
    }

    /// The entries, unless a guard has or shows them.
    pub(super) fn entries_mut(&mut self) -> Option<&mut Entries<K, V>> {
        self.entries.as_mut().and_then(Arc::get_mut)
    }
}
