//! The node cache: a slot for each block of another node, in the memory that its ranks share. `memory/README.md` has
//! the design: the conditions for the receiver to write to the slot, to *install* the block, or to *forward* it.

use crate::ids::Epoch;
use crate::memory::{Meter, Shortage, Storage};
use aurora_net::Rank;
use std::collections::BTreeMap;

pub(crate) struct NodeCache {
    slots: BTreeMap<Rank, Slot>,
    /// By owner: the version in the slot.
    installed: Vec<Installed>,
    /// The last two loads that this rank has entered.
    entered: [Epoch; 2],
}

pub(crate) struct Slot {
    array: Box<dyn Storage>,
    meter: Meter,
    short: Option<Shortage>,
    /// The last load whose block was written here directly.
    open_for: Epoch,
    /// The last load for which the block was installed or forwarded.
    settled: Epoch,
}

/// A slot as this rank knows it.
#[derive(Clone, Copy, Default)]
struct Installed {
    version: u64,
    /// The load that brought it; a message about an earlier load is out of date.
    since: Epoch,
}

impl NodeCache {
    pub(crate) fn new(ranks: usize, slots: impl Iterator<Item = (Rank, Box<dyn Storage>)>) -> Self {
        let slot = |(owner, array): (Rank, Box<dyn Storage>)| {
            let meter = Meter::new(array.bytes().len());
            (owner, Slot { array, meter, short: None, open_for: 0, settled: 0 })
        };
        NodeCache { slots: slots.map(slot).collect(), installed: vec![Installed::default(); ranks], entered: [0; 2] }
    }

    pub(crate) fn enter(&mut self, load: Epoch) {
        self.entered = [self.entered[1], load];
    }

    /// The last load that this rank entered before `load`, which no rank announces before that.
    pub(crate) fn before(&self, load: Epoch) -> Epoch {
        self.entered.into_iter().filter(|entered| *entered < load).max().unwrap_or(0)
    }

    /// The version of a block in its slot; 0: none.
    pub(crate) fn installed(&self, owner: Rank) -> u64 {
        self.installed[owner.index()].version
    }

    /// The receiver of a block has installed it for the load `since`.
    pub(crate) fn note_installed(&mut self, owner: Rank, version: u64, since: Epoch) {
        let installed = &mut self.installed[owner.index()];
        if since > installed.since {
            *installed = Installed { version, since };
        }
    }

    /// Forgets the blocks that were installed up to this load, and gives their memory back. No rank reads them any
    /// more.
    pub(crate) fn release(&mut self, load: Epoch) {
        self.installed.fill(Installed { version: 0, since: load });
        // An owner may already be one load ahead.
        for slot in self.slots.values_mut().filter(|slot| slot.open_for <= load) {
            slot.array.give_back();
            slot.meter = Meter::new(slot.array.bytes().len());
        }
    }

    /// The slot of a block, if this rank receives it.
    pub(crate) fn slot(&mut self, owner: Rank) -> Option<&mut Slot> {
        self.slots.get_mut(&owner)
    }

    /// The number of bytes of this rank's slots, and of those that have not been taken from the system.
    pub(crate) fn size(&self) -> (usize, usize) {
        let slots = self.slots.values().map(|slot| (slot.array.byte_len(), slot.meter.untouched()));
        slots.fold((0, 0), |(bytes, untaken), (more, of_it)| (bytes + more, untaken + of_it))
    }

    /// Takes some of the memory of this rank's slots, before they are written; false once all is taken.
    pub(crate) fn take(&mut self, step: usize) -> Result<bool, Shortage> {
        for slot in self.slots.values_mut() {
            if let Some(bytes) = slot.meter.next(step)? {
                slot.array.take(bytes)?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Slot {
    /// The block of this load is written here, because no rank reads.
    pub(crate) fn open_for(&mut self, load: Epoch) {
        self.open_for = load;
    }

    pub(crate) fn is_open_for(&self, load: Epoch) -> bool {
        self.open_for == load
    }

    /// Marks this load's block as installed or forwarded. Returns true if it was so before.
    pub(crate) fn settle(&mut self, load: Epoch) -> bool {
        std::mem::replace(&mut self.settled, load) == load
    }

    /// Writes bytes from `at` on, while nobody reads. Does nothing once it is [`short`](Slot::short).
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        if self.short.is_none() {
            self.short = self.meter.touch(at..end).err();
        }
        if self.short.is_none() {
            self.array.bytes_mut()[at..end].copy_from_slice(bytes);
        }
    }

    pub(crate) fn short(&self) -> Option<&Shortage> {
        self.short.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Array;

    fn cache() -> NodeCache {
        let slot: Box<dyn Storage> = Box::new(Array::from(vec![0u8; 10]));
        NodeCache::new(3, std::iter::once((Rank::new(2), slot)))
    }

    #[test]
    fn the_load_before_is_the_last_one_entered() {
        let mut cache = cache();
        assert_eq!(cache.before(4), 0);
        cache.enter(4);
        assert_eq!((cache.before(4), cache.before(7)), (0, 4));
        cache.enter(7);
        assert_eq!((cache.before(7), cache.before(8)), (4, 7));
    }

    #[test]
    fn an_old_message_about_a_slot_changes_nothing() {
        let (mut cache, owner) = (cache(), Rank::new(2));
        cache.note_installed(owner, 5, 3);
        cache.note_installed(owner, 4, 2);
        assert_eq!(cache.installed(owner), 5);
        // A block that was given back may come again in the same version.
        cache.release(6);
        cache.note_installed(owner, 5, 3);
        assert_eq!(cache.installed(owner), 0);
        cache.note_installed(owner, 5, 7);
        assert_eq!(cache.installed(owner), 5);
    }

    #[test]
    fn each_load_is_settled_once() {
        let mut cache = cache();
        assert!(cache.slot(Rank::new(1)).is_none());
        let slot = cache.slot(Rank::new(2)).expect("received here");
        slot.open_for(3);
        slot.write(2, &[7; 3]);
        assert!(slot.is_open_for(3) && !slot.is_open_for(4) && slot.short().is_none());
        assert!(!slot.settle(3) && slot.settle(3) && !slot.settle(5));
        assert_eq!(slot.array.bytes(), [0, 0, 7, 7, 7, 0, 0, 0, 0, 0]);
    }
}
