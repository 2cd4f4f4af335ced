//! The blocks of a rank: its own, and copies of others'.

use super::operand::Value;
use crate::BlockId;
use std::collections::HashMap;

/// The state of a block on a rank.
pub(super) enum Slot {
    /// Its creator runs, or a copy has been asked for.
    Coming,
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

    pub(super) fn is_coming(&self, block: BlockId) -> bool {
        matches!(self.slots.get(&block), Some(Slot::Coming))
    }

    /// From now on the block is on its way. False: it was before, or it is here.
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

    /// Removes a copy.
    pub(super) fn forget(&mut self, block: BlockId) -> Option<Slot> {
        self.slots.remove(&block)
    }
}
