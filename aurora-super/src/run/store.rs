//! The blocks of a rank: its own blocks, and copies of other ranks' blocks.

use super::operand::Value;
use crate::BlockId;
use std::collections::HashMap;

/// The state of a block on a rank.
pub(super) enum Slot {
    /// Its creator runs, or a copy has been asked for.
    Coming,
    /// A copy that has arrived is being decoded.
    Arrived,
    /// The value.
    Here(Value),
    /// An instruction that writes the block has it.
    Taken,
}

/// The blocks of a rank. A block without a slot is not here: its creator has not run, or no copy was asked for.
#[derive(Default)]
pub(super) struct Store {
    slots: HashMap<BlockId, Slot>,
}

impl Store {
    pub(super) fn get(&self, block: BlockId) -> Option<&Slot> {
        self.slots.get(&block)
    }

    /// The value, if it is here.
    pub(super) fn value(&self, block: BlockId) -> Option<&Value> {
        match self.slots.get(&block) {
            Some(Slot::Here(value)) => Some(value),
            _ => None,
        }
    }

    /// Records that a copy has arrived. False: it was not on its way.
    #[must_use]
    pub(super) fn arrive(&mut self, block: BlockId) -> bool {
        match self.slots.get_mut(&block) {
            Some(slot @ Slot::Coming) => {
                *slot = Slot::Arrived;
                true
            }
            _ => false,
        }
    }

    /// Records that a block is on its way. False: it was on its way before, or it is here.
    pub(super) fn expect(&mut self, block: BlockId) -> bool {
        let is_new = !self.slots.contains_key(&block);
        if is_new {
            self.slots.insert(block, Slot::Coming);
        }
        is_new
    }

    pub(super) fn put(&mut self, block: BlockId, value: Value) {
        self.slots.insert(block, Slot::Here(value));
    }

    /// Takes the value for an instruction that writes it.
    pub(super) fn take(&mut self, block: BlockId) -> Option<Value> {
        match self.slots.get_mut(&block).map(|slot| std::mem::replace(slot, Slot::Taken)) {
            Some(Slot::Here(value)) => Some(value),
            _ => None,
        }
    }

    /// Removes all values.
    pub(super) fn take_all(&mut self) -> Vec<Slot> {
        std::mem::take(&mut self.slots).into_values().collect()
    }

    /// Removes a copy.
    pub(super) fn forget(&mut self, block: BlockId) -> Option<Slot> {
        self.slots.remove(&block)
    }
}

#[cfg(test)]
mod tests {
    use super::Store;
    use std::sync::Arc;

    #[test]
    fn a_copy_arrives_once() {
        let mut store = Store::default();
        assert!(!store.arrive(3), "nobody has asked for it");
        assert!(store.expect(3) && !store.expect(3));
        assert!(store.arrive(3) && !store.arrive(3));
        store.put(3, Arc::new(5));
        assert!(!store.arrive(3) && store.value(3).is_some());
    }
}
