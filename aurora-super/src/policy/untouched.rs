//! Groups of which no instruction has begun.

use crate::{Group, Random};

/// The untouched groups of a grid, to be picked at random, in order, or by rows and columns.
#[derive(Clone, Hash, Debug)]
pub struct Untouched {
    columns: u32,
    /// One bit for each column, in rows of whole words.
    bits: Vec<u64>,
    words: usize,
    /// The untouched groups in any order, and the position of each group in this list.
    list: Vec<Group>,
    at: Vec<u32>,
    /// No untouched group has a smaller number.
    first: Group,
}

/// A set of rows, or of columns, of a grid.
#[derive(Clone, Hash, Debug, Default)]
pub struct Lines(Vec<u64>);

impl Lines {
    /// Creates an empty set for `count` rows or columns.
    pub fn none(count: u32) -> Self {
        Lines(vec![0; count.div_ceil(64) as usize])
    }

    /// Adds a row or column.
    pub fn add(&mut self, line: u32) {
        self.0[line as usize / 64] |= 1 << (line % 64);
    }

    /// Returns true if a row or column is in the set. The default value is an empty set.
    pub fn has(&self, line: u32) -> bool {
        self.0.get(line as usize / 64).is_some_and(|word| word >> (line % 64) & 1 != 0)
    }
}

const GONE: u32 = u32::MAX;

impl Untouched {
    /// Creates the set of all groups of a grid.
    pub fn all(rows: u32, columns: u32) -> Self {
        let words = columns.div_ceil(64) as usize;
        let row = (0..words as u32).map(|word| match columns - word * 64 {
            more if more >= 64 => u64::MAX,
            rest => (1 << rest) - 1,
        });
        let bits = row.collect::<Vec<_>>().repeat(rows as usize);
        let list: Vec<Group> = (0..rows * columns).collect();
        Untouched { columns, bits, words, at: list.clone(), list, first: 0 }
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
        let (word, bit) = self.bit(group);
        self.bits[word] &= !bit;
    }

    /// Adds a group again, because it has to begin again.
    pub fn restore(&mut self, group: Group) {
        if self.contains(group) {
            return;
        }
        self.at[group as usize] = self.list.len() as u32;
        self.list.push(group);
        let (word, bit) = self.bit(group);
        self.bits[word] |= bit;
        self.first = self.first.min(group);
    }

    /// Returns any untouched group, with equal probability.
    pub fn random(&self, random: &mut Random) -> Option<Group> {
        let count = u32::try_from(self.list.len()).ok().filter(|count| *count > 0)?;
        Some(self.list[random.below(count) as usize])
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
    pub fn near(&self, rows: &Lines, columns: &Lines, random: &mut Random) -> Option<Group> {
        if self.columns == 1 || self.bits.len() == self.words {
            // All groups share the only row or column.
            return self.random(random);
        }
        let both = |row: usize, word: usize| if rows.has(row as u32) { columns.0[word] } else { 0 };
        let either = |row: usize, word: usize| if rows.has(row as u32) { u64::MAX } else { columns.0[word] };
        self.among(both, random).or_else(|| self.among(either, random))
    }

    /// Returns an untouched group that a mask for each row and word lets through, with equal probability.
    fn among(&self, mask: impl Fn(usize, usize) -> u64, random: &mut Random) -> Option<Group> {
        let masked = || {
            let lines = self.bits.chunks_exact(self.words.max(1)).enumerate();
            let mask = &mask;
            lines.flat_map(move |(row, line)| {
                line.iter().enumerate().map(move |(word, bits)| (row, word, bits & mask(row, word)))
            })
        };
        let count: u32 = masked().map(|(_, _, bits)| bits.count_ones()).sum();
        if count == 0 {
            return None;
        }
        let mut pick = random.below(count);
        for (row, word, mut bits) in masked() {
            if pick >= bits.count_ones() {
                pick -= bits.count_ones();
                continue;
            }
            for _ in 0..pick {
                bits &= bits - 1;
            }
            return Some(row as u32 * self.columns + word as u32 * 64 + bits.trailing_zeros());
        }
        unreachable!("there are as many as were counted")
    }

    fn bit(&self, group: Group) -> (usize, u64) {
        let (row, column) = (group / self.columns, group % self.columns);
        (row as usize * self.words + column as usize / 64, 1 << (column % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn near_means_both_before_either() {
        let (mut untouched, mut random) = (Untouched::all(3, 70), Random::new(5));
        let (mut rows, mut columns) = (Lines::none(3), Lines::none(70));
        assert_eq!(untouched.near(&rows, &columns, &mut random), None);
        rows.add(1);
        columns.add(2);
        columns.add(69);
        let mut seen = Vec::new();
        while let Some(group) = untouched.near(&rows, &columns, &mut random) {
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
        assert_eq!(untouched.near(&Lines::none(2), &Lines::none(0), &mut Random::new(1)), None);
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
