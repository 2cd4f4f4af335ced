//! Groups in the order of the number of their instructions that have not begun.

use crate::Group;

/// Groups with fewer instructions left have a list for each number of instructions. Longer ones share lists.
const EXACT: u32 = 1 << 10;

/// Returns the list of a group with `left` instructions. A list of longer groups has those whose first seven bits are
/// equal: they differ by less than 2 %.
fn list_of(left: u32) -> usize {
    if left < EXACT {
        return left as usize;
    }
    let more = left.ilog2() - EXACT.ilog2();
    (EXACT + more * 64 + (left >> (left.ilog2() - 6)) - 64) as usize
}

/// The groups with instructions that have not begun, ordered by the number of these instructions.
#[derive(Clone, Hash, Debug)]
pub struct Unfinished {
    /// The number of instructions of each group that have not begun; 0: the group is not listed.
    left: Vec<u32>,
    /// The position of each group in its list of `by_left`.
    at: Vec<u32>,
    by_left: Vec<Vec<Group>>,
    /// No group is in a later list.
    most: usize,
}

impl Unfinished {
    /// Creates an empty list for `groups` groups of at most `longest` instructions each.
    pub fn new(groups: u32, longest: u32) -> Self {
        let none = vec![0; groups as usize];
        Unfinished { left: none.clone(), at: none, by_left: vec![Vec::new(); list_of(longest) + 1], most: 0 }
    }

    /// Sets the number of instructions of a group that have not begun.
    pub fn set(&mut self, group: Group, left: u32) {
        let before = std::mem::replace(&mut self.left[group as usize], left);
        if before == left {
            return;
        }
        if before > 0 {
            let (list, at) = (&mut self.by_left[list_of(before)], self.at[group as usize] as usize);
            list.swap_remove(at);
            if let Some(moved) = list.get(at) {
                self.at[*moved as usize] = at as u32;
            }
        }
        if left > 0 {
            let list = &mut self.by_left[list_of(left)];
            self.at[group as usize] = list.len() as u32;
            list.push(group);
            self.most = self.most.max(list_of(left));
        }
    }

    /// Returns the groups with `least` instructions left or more, those with most first. Groups with more than 1000
    /// instructions left that differ by less than 2 % have any order, and there may be some with fewer than `least`.
    pub fn most_first(&mut self, least: u32) -> impl Iterator<Item = Group> + '_ {
        while self.most > 0 && self.by_left[self.most].is_empty() {
            self.most -= 1;
        }
        let lists = self.by_left.get(list_of(least)..=self.most).unwrap_or_default();
        lists.iter().rev().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn most_left_first(steps in prop::collection::vec((0u32..7, 0u32..5), 0..50)) {
            let mut unfinished = Unfinished::new(7, 4);
            let mut left = [0; 7];
            for (group, now) in steps {
                unfinished.set(group, now);
                left[group as usize] = now;
                let found: Vec<_> = unfinished.most_first(1).map(|group| left[group as usize]).collect();
                let mut wanted: Vec<_> = left.iter().copied().filter(|left| *left > 0).collect();
                wanted.sort_by(|one, other| other.cmp(one));
                prop_assert_eq!(found, wanted);
            }
        }
    }
}
