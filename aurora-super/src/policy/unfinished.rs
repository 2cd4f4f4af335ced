//! Groups by how many of their instructions have not begun.

use crate::Group;

/// Groups of which something has not begun, by how much.
#[derive(Clone, Hash, Debug)]
pub struct Unfinished {
    /// Of each group; 0: it is not here.
    left: Vec<u32>,
    /// Where it stands among those with as many.
    at: Vec<u32>,
    by_left: Vec<Vec<Group>>,
    /// No group has more left.
    most: usize,
    total: u64,
}

impl Unfinished {
    /// No groups, of `groups`, each of at most `longest` instructions.
    pub fn new(groups: u32, longest: u32) -> Self {
        let none = vec![0; groups as usize];
        Unfinished { left: none.clone(), at: none, by_left: vec![Vec::new(); longest as usize + 1], most: 0, total: 0 }
    }

    /// So many instructions of a group have not begun.
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

    /// Instructions of all groups.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Groups, those with most left first.
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
