//! Groups of which no instruction has begun.

use crate::{Group, Random};
use fixedbitset::FixedBitSet;

/// The untouched groups of a grid, to be picked at random, in order, or by rows and columns.
#[derive(Clone, Hash, Debug)]
pub struct Untouched {
    columns: u32,
    /// The untouched columns of each row; none if all groups share the only row or column.
    rows: Vec<FixedBitSet>,
    /// All columns.
    all: FixedBitSet,
    /// The untouched groups in any order, and the position of each group in this list.
    list: Vec<Group>,
    at: Vec<u32>,
    /// No untouched group has a smaller number.
    first: Group,
}

/// Rows and columns of a grid.
#[derive(Clone, Hash, Debug, Default)]
pub struct Lines {
    rows: FixedBitSet,
    columns: FixedBitSet,
}

impl Lines {
    /// Creates an empty set for a grid.
    pub fn none(rows: u32, columns: u32) -> Self {
        let [rows, columns] = [rows, columns].map(|lines| FixedBitSet::with_capacity(lines as usize));
        Lines { rows, columns }
    }

    /// Adds the row and the column of a place.
    pub fn add(&mut self, (row, column): (usize, usize)) {
        self.rows.insert(row);
        self.columns.insert(column);
    }

    /// Returns the number of lines, out of the row and the column of a place, that are among these.
    pub fn shared_with(&self, (row, column): (usize, usize)) -> u32 {
        u32::from(self.rows.contains(row)) + u32::from(self.columns.contains(column))
    }
}

const GONE: u32 = u32::MAX;

impl Untouched {
    /// Creates the set of all groups of a grid.
    pub fn all(rows: u32, columns: u32) -> Self {
        let mut all = FixedBitSet::with_capacity(columns as usize);
        all.insert_range(..);
        let list: Vec<Group> = (0..rows * columns).collect();
        let sets = if rows == 1 || columns == 1 { 0 } else { rows as usize };
        Untouched { columns, rows: vec![all.clone(); sets], all, at: list.clone(), list, first: 0 }
    }

    /// Returns the number of untouched groups.
    pub fn len(&self) -> u32 {
        self.list.len() as u32
    }

    /// Returns true if no group is untouched.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns true if a group is untouched.
    pub fn contains(&self, group: Group) -> bool {
        self.at[group as usize] != GONE
    }

    /// Removes a group, because a node works on it.
    pub fn remove(&mut self, group: Group) {
        let at = std::mem::replace(&mut self.at[group as usize], GONE);
        if at == GONE {
            return;
        }
        self.list.swap_remove(at as usize);
        if let Some(moved) = self.list.get(at as usize) {
            self.at[*moved as usize] = at;
        }
        self.mark(group, false);
    }

    /// Adds a group again, because it has to begin again.
    pub fn restore(&mut self, group: Group) {
        if self.contains(group) {
            return;
        }
        self.at[group as usize] = self.list.len() as u32;
        self.list.push(group);
        self.mark(group, true);
        self.first = self.first.min(group);
    }

    /// Returns any untouched group, with equal probability.
    pub fn random(&self, random: &mut Random) -> Option<Group> {
        (!self.list.is_empty()).then(|| self.list[pick(self.list.len(), random)])
    }

    /// Returns the untouched group with the smallest number.
    pub fn first(&mut self) -> Option<Group> {
        while self.first < self.at.len() as u32 && !self.contains(self.first) {
            self.first += 1;
        }
        (self.first < self.at.len() as u32).then_some(self.first)
    }

    /// Returns an untouched group in one of these rows **and** in one of these columns, with equal probability. If
    /// there is none, returns one in one of these rows or columns.
    pub fn near(&self, lines: &Lines, random: &mut Random) -> Option<Group> {
        if self.rows.is_empty() {
            return self.random(random);
        }
        let both = |row| lines.rows.contains(row).then_some(&lines.columns);
        let either = |row| Some(if lines.rows.contains(row) { &self.all } else { &lines.columns });
        self.among(both, random).or_else(|| self.among(either, random))
    }

    /// Returns an untouched group whose column is among those that `asked` gives for its row, with equal probability.
    fn among<'l>(&self, asked: impl Fn(usize) -> Option<&'l FixedBitSet>, random: &mut Random) -> Option<Group> {
        let rows = || self.rows.iter().zip(0..).filter_map(|(row, number)| Some((row, asked(number)?, number)));
        let count = rows().map(|(row, asked, _)| row.intersection_count(asked)).sum();
        if count == 0 {
            return None;
        }
        let mut pick = pick(count, random);
        for (row, asked, number) in rows() {
            match row.intersection_count(asked) {
                count if count <= pick => pick -= count,
                _ => {
                    let column = row.intersection(asked).nth(pick).expect("there are as many as were counted");
                    return Some(number as u32 * self.columns + column as u32);
                }
            }
        }
        unreachable!("there are as many as were counted")
    }

    fn mark(&mut self, group: Group, untouched: bool) {
        let (row, column) = self.place(group);
        if let Some(row) = self.rows.get_mut(row) {
            row.set(column, untouched);
        }
    }

    /// Returns the row and the column of a group.
    pub fn place(&self, group: Group) -> (usize, usize) {
        ((group / self.columns) as usize, (group % self.columns) as usize)
    }
}

/// Returns a number of `0..count`.
fn pick(count: usize, random: &mut Random) -> usize {
    ((u128::from(random.bits()) * count as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn near_means_both_before_either() {
        let (mut untouched, mut random) = (Untouched::all(3, 70), Random::new(5));
        let mut lines = Lines::none(3, 70);
        assert_eq!(untouched.near(&lines, &mut random), None);
        lines.add((1, 2));
        lines.add((1, 69));
        let mut seen = Vec::new();
        while let Some(group) = untouched.near(&lines, &mut random) {
            untouched.remove(group);
            seen.push(group);
        }
        assert_eq!(seen[..2].iter().copied().collect::<BTreeSet<_>>(), BTreeSet::from([72, 139]));
        assert_eq!(seen.len(), 70 + 2 * 2);
        assert_eq!(untouched.first(), Some(0));
    }

    #[test]
    fn of_no_columns_none_is_near() {
        let untouched = Untouched::all(2, 0);
        assert_eq!(untouched.near(&Lines::none(2, 0), &mut Random::new(1)), None);
    }

    #[test]
    fn each_is_picked_once_and_may_come_back() {
        let (mut untouched, mut random) = (Untouched::all(5, 13), Random::new(1));
        let mut seen = BTreeSet::new();
        while let Some(group) = untouched.random(&mut random) {
            untouched.remove(group);
            untouched.remove(group);
            assert!(seen.insert(group) && !untouched.contains(group));
        }
        assert_eq!((seen.len(), untouched.first()), (65, None));
        untouched.restore(9);
        untouched.restore(9);
        assert_eq!((untouched.first(), untouched.list.len()), (Some(9), 1));
    }
}
