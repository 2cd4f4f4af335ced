//! The copies of blocks on a node.

use crate::BlockId;
use fixedbitset::FixedBitSet;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// The copies that a node has of other nodes' blocks, within its budget. The least recently used copy is dropped first.
///
/// Copies stay from one program to the next over the same blocks: [`Execute::into_copies`](super::Execute::into_copies)
/// returns them. [Forget](Copies::forget) the copies of a block before a program that writes the block.
///
/// ```
/// use aurora_super::execute::Copies;
///
/// let mut copies = Copies::new(Some(1), 10);
/// assert!(copies.put(3) && !copies.put(4) && copies.has(3));
/// assert!(copies.forget(3) && !copies.forget(3));
/// assert!(copies.put(4) && !copies.has(3));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Copies {
    held: Held,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Held {
    /// The copies that are here: nothing is ever dropped.
    All(FixedBitSet),
    /// No more than a budget.
    Some {
        budget: u32,
        copies: BTreeMap<BlockId, Copy>,
        /// The copies that no instruction uses, by the time of their last use.
        idle: BTreeMap<u64, BlockId>,
        clock: u64,
    },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Copy {
    used_by: u32,
    is_here: bool,
    last: u64,
}

impl Copies {
    /// Creates an empty set with room for `budget` copies, or without a limit for all of `blocks`.
    pub fn new(budget: Option<u32>, blocks: u32) -> Self {
        let held = match budget {
            None => Held::All(FixedBitSet::with_capacity(blocks as usize)),
            Some(budget) => Held::Some { budget, copies: BTreeMap::new(), idle: BTreeMap::new(), clock: 0 },
        };
        Copies { held }
    }

    /// Sets the number of blocks. A smaller number than before changes nothing.
    pub fn grow(&mut self, blocks: u32) {
        if let Held::All(bits) = &mut self.held {
            bits.grow(blocks as usize);
        }
    }

    /// Drops a copy, and returns true if it was here. With a budget, a copy that an instruction in flight uses stays,
    /// and the result is false.
    pub fn forget(&mut self, block: BlockId) -> bool {
        match &mut self.held {
            Held::All(bits) => {
                let was_here = bits.contains(block as usize);
                if was_here {
                    bits.remove(block as usize);
                }
                was_here
            }
            Held::Some { copies, idle, .. } => {
                if copies.get(&block).is_none_or(|copy| copy.used_by > 0) {
                    return false;
                }
                copies.remove(&block).is_some_and(|copy| {
                    idle.remove(&copy.last);
                    copy.is_here
                })
            }
        }
    }

    /// Returns the maximum number of copies; no limit if `None`.
    pub(super) fn budget(&self) -> Option<u32> {
        match &self.held {
            Held::All(_) => None,
            Held::Some { budget, .. } => Some(*budget),
        }
    }

    /// Returns true if all of these copies may be used together with those in use.
    ///
    /// # Panics
    /// If they are more than the budget: they could never be used together.
    #[inline]
    pub(super) fn admits(&self, blocks: &[BlockId]) -> bool {
        match &self.held {
            Held::All(_) => true,
            Held::Some { budget, copies, idle, .. } => {
                let mut distinct: SmallVec<[BlockId; 4]> = blocks.into();
                distinct.sort_unstable();
                distinct.dedup();
                let all = distinct.len();
                assert!(
                    all <= *budget as usize,
                    "an instruction reads {all} blocks, beyond a budget of {budget} copies"
                );
                distinct.retain(|block| copies.get(block).is_none_or(|copy| copy.used_by == 0));
                copies.len() - idle.len() + distinct.len() <= *budget as usize
            }
        }
    }

    /// Begins the use of a block that was [admitted](Self::admits). Returns the copy that is dropped for it.
    #[inline]
    pub(super) fn begin(&mut self, block: BlockId) -> Option<BlockId> {
        match &mut self.held {
            Held::All(_) => None,
            Held::Some { budget, copies, idle, .. } => {
                if let Some(copy) = copies.get_mut(&block) {
                    if copy.used_by == 0 {
                        idle.remove(&copy.last);
                    }
                    copy.used_by += 1;
                    return None;
                }
                let dropped =
                    if copies.len() >= *budget as usize { idle.pop_first().map(|(_, block)| block) } else { None };
                if let Some(block) = &dropped {
                    copies.remove(block);
                }
                copies.insert(block, Copy { used_by: 1, is_here: false, last: 0 });
                dropped
            }
        }
    }

    /// Ends one use of a block.
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

    /// Records a copy that has arrived. Returns true if it is kept: a copy that was not asked for is kept only if there
    /// is room.
    ///
    /// # Panics
    /// May panic if there is no such block.
    pub fn put(&mut self, block: BlockId) -> bool {
        match &mut self.held {
            Held::All(bits) => {
                bits.insert(block as usize);
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

    /// Returns true if a copy is here.
    #[inline]
    pub fn has(&self, block: BlockId) -> bool {
        match &self.held {
            Held::All(bits) => bits.contains(block as usize),
            Held::Some { copies, .. } => copies.get(&block).is_some_and(|copy| copy.is_here),
        }
    }

    /// Returns the number of copies that are here. With a budget, copies that are on their way are included.
    pub(super) fn len(&self) -> u32 {
        match &self.held {
            Held::All(bits) => bits.count_ones(..) as u32,
            Held::Some { copies, .. } => copies.len() as u32,
        }
    }
}
