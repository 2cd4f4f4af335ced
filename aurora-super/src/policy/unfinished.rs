//! Groups in the order of the number of their instructions that have not begun.

use crate::Group;

/// The groups with instructions that have not begun, ordered by the number of these instructions.
#[derive(Clone, Hash, Debug)]
pub struct Unfinished {
    /// The number of instructions of each group that have not begun; 0: the group is not listed.
    left: Vec<u32>,
    /// The position of each group in its list of `by_left`.
    at: Vec<u32>,
    by_left: Vec<Vec<Group>>,
    /// No group has more instructions left.
    most: usize,
    total: u64,
}

impl Unfinished {
    /// Creates an empty list for `groups` groups of at most `longest` instructions each.
    pub fn new(groups: u32, longest: u32) -> Self {
        let none = vec![0; groups as usize];
        Unfinished { left: none.clone(), at: none, by_left: vec![Vec::new(); longest as usize + 1], most: 0, total: 0 }
    }

    /// Sets the number of instructions of a group that have not begun.
    pub fn set(&mut self, group: Group, left: u32) {
        let before = std::mem::replace(&mut self.left[group as usize], left) as usize;
        self.total = self.total - before as u64 + u64::from(left);
        if before > 0 {
            let at = self.at[group as usize] as usize;
            self.by_left[before].swap_remove(at);
            if let Some(moved) = self.by_left[before].get(at) {
                self.at[*moved as usize] = at as u32;
            }
        }
        if left > 0 {
            let list = &mut self.by_left[left as usize];
            self.at[group as usize] = list.len() as u32;
            list.push(group);
            self.most = self.most.max(left as usize);
        }
    }

    /// Returns the number of instructions of all groups that have not begun.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the groups, those with most instructions left first.
    pub fn most_first(&mut self) -> impl Iterator<Item = Group> + '_ {
        while self.most > 0 && self.by_left[self.most].is_empty() {
            self.most -= 1;
        }
        self.by_left[..=self.most].iter().rev().flatten().copied()
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
                let found: Vec<_> = unfinished.most_first().map(|group| left[group as usize]).collect();
                let mut wanted: Vec<_> = left.iter().copied().filter(|left| *left > 0).collect();
                wanted.sort_by(|one, other| other.cmp(one));
                prop_assert_eq!(found, wanted);
            }
        }
    }
}
