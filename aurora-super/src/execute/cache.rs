//! Which blocks a node has.

use crate::BlockId;
use std::collections::BTreeMap;

/// The copies that a node has of other nodes' blocks: as many as its budget allows, the one that was used longest ago
/// goes first.
#[derive(Clone, Hash, Debug)]
pub(super) struct Cache {
    held: Held,
}

#[derive(Clone, Hash, Debug)]
enum Held {
    /// One bit for each block: nothing is ever dropped.
    All(Vec<u64>),
    /// No more than a budget.
    Some {
        budget: u32,
        copies: BTreeMap<BlockId, Copy>,
        /// Those that nobody uses, by when they were used last.
        idle: BTreeMap<u64, BlockId>,
        clock: u64,
    },
}

#[derive(Clone, Hash, Debug)]
struct Copy {
    used_by: u32,
    is_here: bool,
    last: u64,
}

impl Cache {
    /// Room for `budget` copies, or for all of `blocks`.
    pub(super) fn new(budget: Option<u32>, blocks: u32) -> Self {
        let held = match budget {
            None => Held::All(vec![0; blocks.div_ceil(64) as usize]),
            Some(budget) => Held::Some { budget, copies: BTreeMap::new(), idle: BTreeMap::new(), clock: 0 },
        };
        Cache { held }
    }

    /// Whether all of these may be used together with what is in use.
    pub(super) fn admits(&self, blocks: impl Iterator<Item = BlockId>) -> bool {
        match &self.held {
            Held::All(_) => true,
            Held::Some { budget, copies, idle, .. } => {
                let mut new: Vec<BlockId> =
                    blocks.filter(|block| copies.get(block).is_none_or(|copy| copy.used_by == 0)).collect();
                new.sort_unstable();
                new.dedup();
                copies.len() - idle.len() + new.len() <= *budget as usize
            }
        }
    }

    /// A block is used from now on, which was [admitted](Self::admits). Whether it is here, and what is dropped for it.
    #[inline]
    pub(super) fn begin(&mut self, block: BlockId) -> (bool, Option<BlockId>) {
        match &mut self.held {
            Held::All(bits) => (bits[block as usize / 64] >> (block % 64) & 1 != 0, None),
            Held::Some { budget, copies, idle, .. } => {
                if let Some(copy) = copies.get_mut(&block) {
                    if copy.used_by == 0 {
                        idle.remove(&copy.last);
                    }
                    copy.used_by += 1;
                    return (copy.is_here, None);
                }
                let dropped =
                    if copies.len() >= *budget as usize { idle.pop_first().map(|(_, block)| block) } else { None };
                if let Some(block) = &dropped {
                    copies.remove(block);
                }
                copies.insert(block, Copy { used_by: 1, is_here: false, last: 0 });
                (false, dropped)
            }
        }
    }

    /// One user less.
    pub(super) fn end(&mut self, block: BlockId) {
        if let Held::Some { copies, idle, clock, .. } = &mut self.held
            && let Some(copy) = copies.get_mut(&block)
        {
            copy.used_by -= 1;
            if copy.used_by == 0 {
                *clock += 1;
                copy.last = *clock;
                idle.insert(*clock, block);
            }
        }
    }

    /// A copy has come. Whether it is kept: one that nobody asked for is where there is room.
    pub(super) fn put(&mut self, block: BlockId) -> bool {
        match &mut self.held {
            Held::All(bits) => {
                bits[block as usize / 64] |= 1 << (block % 64);
                true
            }
            Held::Some { budget, copies, idle, clock } => {
                if let Some(copy) = copies.get_mut(&block) {
                    copy.is_here = true;
                    return true;
                }
                let has_room = copies.len() < *budget as usize;
                if has_room {
                    *clock += 1;
                    copies.insert(block, Copy { used_by: 0, is_here: true, last: *clock });
                    idle.insert(*clock, block);
                }
                has_room
            }
        }
    }

    /// Whether a copy is here.
    pub(super) fn has(&self, block: BlockId) -> bool {
        match &self.held {
            Held::All(bits) => bits[block as usize / 64] >> (block % 64) & 1 != 0,
            Held::Some { copies, .. } => copies.get(&block).is_some_and(|copy| copy.is_here),
        }
    }

    /// How many copies there are, or are coming.
    pub(super) fn len(&self) -> u32 {
        match &self.held {
            Held::All(bits) => bits.iter().map(|word| word.count_ones()).sum(),
            Held::Some { copies, .. } => copies.len() as u32,
        }
    }
}
