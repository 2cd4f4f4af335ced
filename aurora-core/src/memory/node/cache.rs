//! The node cache: a slot for each block of another node, in the memory that the ranks of this node share. Each of
//! those blocks is received once per node, by one rank.
//!
//! The receiver of a block (`kernel/nodes.rs`) alone writes to its *slot*, and only while the gate is clear: all ranks
//! of the node have completed the load before, and none reads. If the gate is clear when the first bytes of the block
//! come, they go into the slot. If a node peer still shows the last load, they go into the receiver's own copy, and the
//! receiver looks again once all ranks have announced the new load. A peer that reads even then has opened one load
//! within another, or forgotten a guard; it may read for ever. If none reads, the receiver copies the block into its
//! slot: the block is *installed*. Else the receiver *forwards* it to its node peers, which load into copies of their
//! own.
//!
//! Once the gate is clear for a load it stays clear until a rank completes that load, which needs the block. So no rank
//! can read a slot while it is written. The receiver tells its node peers by a message that the block is installed, and
//! in which version: a rank that has the message sees the block.

use crate::ids::Epoch;
use crate::memory::{Meter, Shortage, Storage};
use aurora_net::Rank;
use std::collections::BTreeMap;

/// The slots of the blocks of other nodes.
pub(crate) struct NodeCache {
    /// Of the blocks that this rank receives.
    slots: BTreeMap<Rank, Slot>,
    /// By owners: the version in the slot.
    installed: Vec<Installed>,
    /// The last two loads that this rank has entered.
    entered: [Epoch; 2],
}

/// The slot of a block that this rank receives.
pub(crate) struct Slot {
    array: Box<dyn Storage>,
    meter: Meter,
    /// There is no memory for it.
    short: Option<Shortage>,
    /// The last load whose block came straight here.
    open_for: Epoch,
    /// The last load for which the block was installed or forwarded.
    settled: Epoch,
}

/// As far as a rank knows.
#[derive(Clone, Copy, Default)]
struct Installed {
    version: u64,
    /// The load that brought it there; a message about an earlier one is out of date.
    since: Epoch,
}

impl NodeCache {
    /// Over the slots of the blocks that this rank receives.
    pub(crate) fn new(ranks: usize, slots: impl Iterator<Item = (Rank, Box<dyn Storage>)>) -> Self {
        let slot = |(owner, array): (Rank, Box<dyn Storage>)| {
            let meter = Meter::new(array.bytes().len());
            (owner, Slot { array, meter, short: None, open_for: 0, settled: 0 })
        };
        NodeCache { slots: slots.map(slot).collect(), installed: vec![Installed::default(); ranks], entered: [0; 2] }
    }

    /// This rank has entered a load.
    pub(crate) fn enter(&mut self, load: Epoch) {
        self.entered = [self.entered[1], load];
    }

    /// The load before this one, which may itself have been entered or not. No rank announces a load before this one
    /// has entered the one before it.
    pub(crate) fn before(&self, load: Epoch) -> Epoch {
        self.entered.into_iter().filter(|entered| *entered < load).max().unwrap_or(0)
    }

    /// The version of a block in its slot; 0: none.
    pub(crate) fn installed(&self, owner: Rank) -> u64 {
        self.installed[owner.index()].version
    }

    /// The receiver of a block has installed it for this load.
    pub(crate) fn note_installed(&mut self, owner: Rank, version: u64, since: Epoch) {
        let installed = &mut self.installed[owner.index()];
        if since > installed.since {
            *installed = Installed { version, since };
        }
    }

    /// Nothing that was installed at this load is any more, and its memory is given back. No rank reads any of it until
    /// a block of a later load comes.
    pub(crate) fn release(&mut self, load: Epoch) {
        self.installed.fill(Installed { version: 0, since: load });
        // An owner may be a load ahead already.
        for slot in self.slots.values_mut().filter(|slot| slot.open_for <= load) {
            slot.array.give_back();
            slot.meter = Meter::new(slot.array.bytes().len());
        }
    }

    /// The slot of a block, if this rank receives it.
    pub(crate) fn slot(&mut self, owner: Rank) -> Option<&mut Slot> {
        self.slots.get_mut(&owner)
    }

    /// Bytes of this rank's slots, and how many of them the system has not given yet.
    pub(crate) fn size(&self) -> (usize, usize) {
        let slots = self.slots.values().map(|slot| (slot.array.byte_len(), slot.meter.untouched()));
        slots.fold((0, 0), |(bytes, untaken), (more, of_it)| (bytes + more, untaken + of_it))
    }

    /// Takes some of the memory of this rank's slots, before they are written to; false once all is taken.
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
    /// The block of this load comes here, because no rank reads.
    pub(crate) fn open_for(&mut self, load: Epoch) {
        self.open_for = load;
    }

    /// Whether the block of this load comes here.
    pub(crate) fn is_open_for(&self, load: Epoch) -> bool {
        self.open_for == load
    }

    /// Whether this load's block was installed or forwarded before; from now on it is.
    pub(crate) fn settle(&mut self, load: Epoch) -> bool {
        std::mem::replace(&mut self.settled, load) == load
    }

    /// Writes bytes from `at` on, while nobody reads; nothing once it is [`short`](Slot::short).
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        if self.short.is_none() {
            self.short = self.meter.touch(at..end).err();
        }
        if self.short.is_none() {
            self.array.bytes_mut()[at..end].copy_from_slice(bytes);
        }
    }

    /// Why there is nothing in it.
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
        // A cache that was given back comes again in the same version.
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
