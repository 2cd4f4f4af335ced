//! Which blocks a node has.

use crate::BlockId;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// The copies that a node has of other nodes' blocks: as many as its budget allows, the one that was used longest ago
/// goes first.
///
/// Copies stay from one program to the next over the same blocks: [`Execute::into_copies`](super::Execute::into_copies)
/// gives them back. [Forget](Copies::forget) the copies of a block before a program that writes the block.
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

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Copy {
    used_by: u32,
    is_here: bool,
    last: u64,
}

impl Copies {
    /// None, with room for `budget` copies, or without a limit for all of `blocks`.
    pub fn new(budget: Option<u32>, blocks: u32) -> Self {
        let held = match budget {
            None => Held::All(vec![0; blocks.div_ceil(64) as usize]),
            Some(budget) => Held::Some { budget, copies: BTreeMap::new(), idle: BTreeMap::new(), clock: 0 },
        };
        Copies { held }
    }

    /// There are so many blocks now. A smaller number changes nothing.
    pub fn grow(&mut self, blocks: u32) {
        if let Held::All(bits) = &mut self.held {
            bits.resize(bits.len().max(blocks.div_ceil(64) as usize), 0);
        }
    }

    /// An idle copy is not here any more. Whether it was here. A copy that an instruction in flight uses stays, and is
    /// no idle copy.
    pub fn forget(&mut self, block: BlockId) -> bool {
        match &mut self.held {
            Held::All(bits) => {
                let Some(word) = bits.get_mut(block as usize / 64) else { return false };
                let before = *word;
                *word &= !(1 << (block % 64));
                *word != before
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

    /// The most that it keeps; no limit if `None`.
    pub(super) fn budget(&self) -> Option<u32> {
        match &self.held {
            Held::All(_) => None,
            Held::Some { budget, .. } => Some(*budget),
        }
    }

    /// Whether all of these may be used together with what is in use.
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

    /// A block is used from now on, which was [admitted](Self::admits). The copy that is dropped for it.
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
    ///
    /// # Panics
    /// It may panic if there is no such block.
    pub fn put(&mut self, block: BlockId) -> bool {
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
    #[inline]
    pub fn has(&self, block: BlockId) -> bool {
        match &self.held {
            Held::All(bits) => bits.get(block as usize / 64).is_some_and(|word| word >> (block % 64) & 1 != 0),
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
