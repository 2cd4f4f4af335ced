//! Words about the objects that a barrier names, merged on their way to all ranks. Pure.

use crate::ids::ObjectId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub(crate) type Words = BTreeMap<ObjectId, Vec<u8>>;

/// The function by which an object merges the word of other ranks into one.
pub(crate) type Merge<'a> = &'a dyn Fn(ObjectId, &mut Vec<u8>, &[u8]);

/// Words on their way to all ranks, each rank's exactly once, also if the number of ranks is no power of two.
///
/// Before round `r`, `whole` has the words of the last 2^r ranks up to this rank, and `part` has the words of the last
/// `size mod 2^r` of them. After all rounds one of the two has the words of all ranks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Merging {
    whole: Words,
    part: Words,
}

impl Merging {
    pub(super) fn new(mine: Words) -> Self {
        Merging { whole: mine, part: Words::new() }
    }

    /// Round `r` brings the words of the rank 2^r before this rank, of `size` ranks.
    pub(super) fn merge(&mut self, round: u32, size: usize, other: Merging, merge: Merge<'_>) {
        let join = |words: &mut Words, more: Words| {
            for (id, more) in more {
                match words.get_mut(&id) {
                    Some(all) => merge(id, all, &more),
                    None => drop(words.insert(id, more)),
                }
            }
        };
        if size >> round & 1 == 1 {
            self.part = self.whole.clone();
            join(&mut self.part, other.part);
        }
        join(&mut self.whole, other.whole);
    }

    pub(super) fn all(self, size: usize) -> Words {
        if size.is_power_of_two() { self.whole } else { self.part }
    }
}
