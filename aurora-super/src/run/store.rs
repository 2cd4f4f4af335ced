//! The blocks of a rank: its own blocks, copies of other ranks' blocks, and partial results.

use super::operand::Value;
use crate::dispatch::Part;
use crate::{BlockId, Group};
use std::collections::HashMap;

/// A value on a rank.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Key {
    /// A block that the rank hosts, or a copy of it.
    Block(BlockId),
    /// This rank's partial result of a group that another rank has begun.
    Part(Group),
    /// A partial result of another rank, to be merged here.
    Brought(Part),
}

/// The state of a value on a rank.
pub(super) enum Slot {
    /// Its creator runs, or it has been asked for.
    Coming,
    /// A copy that has arrived is being decoded.
    Arrived,
    /// The value.
    Here(Value),
    /// An instruction or a merge that changes it has it, or another rank hosts it now.
    Taken,
}

/// The values of a rank. A block without a slot is not here: its creator has not run, or no copy was asked for.
#[derive(Default)]
pub(super) struct Store {
    slots: HashMap<Key, Slot>,
}

impl Store {
    pub(super) fn get(&self, key: Key) -> Option<&Slot> {
        self.slots.get(&key)
    }

    /// The value, if it is here.
    pub(super) fn value(&self, key: Key) -> Option<&Value> {
        match self.slots.get(&key) {
            Some(Slot::Here(value)) => Some(value),
            _ => None,
        }
    }

    /// Records that a value has arrived. False: it was not on its way.
    #[must_use]
    pub(super) fn arrive(&mut self, key: Key) -> bool {
        match self.slots.get_mut(&key) {
            Some(slot @ Slot::Coming) => {
                *slot = Slot::Arrived;
                true
            }
            _ => false,
        }
    }

    /// Records that a value is on its way. False: it was on its way before, or it is here.
    pub(super) fn expect(&mut self, key: Key) -> bool {
        let is_new = !self.slots.contains_key(&key);
        if is_new {
            self.slots.insert(key, Slot::Coming);
        }
        is_new
    }

    pub(super) fn put(&mut self, key: Key, value: Value) {
        self.slots.insert(key, Slot::Here(value));
    }

    /// Takes the value for an instruction or a merge that changes it.
    pub(super) fn take(&mut self, key: Key) -> Option<Value> {
        let slot = self.slots.get_mut(&key).filter(|slot| matches!(slot, Slot::Here(_)))?;
        match std::mem::replace(slot, Slot::Taken) {
            Slot::Here(value) => Some(value),
            _ => unreachable!("it is here"),
        }
    }

    /// Removes all values.
    pub(super) fn take_all(&mut self) -> Vec<Slot> {
        std::mem::take(&mut self.slots).into_values().collect()
    }

    /// Removes a value.
    pub(super) fn forget(&mut self, key: Key) -> Option<Slot> {
        self.slots.remove(&key)
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, Store};
    use std::sync::Arc;

    #[test]
    fn a_copy_arrives_once() {
        let mut store = Store::default();
        let key = Key::Block(3);
        assert!(!store.arrive(key), "nobody has asked for it");
        assert!(store.expect(key) && !store.expect(key));
        assert!(store.arrive(key) && !store.arrive(key));
        store.put(key, Arc::new(5));
        assert!(!store.arrive(key) && store.value(key).is_some());
    }
}
