//! Finds items of a list by the hash of their key.
//!
//! A slot has four bytes: the position of an item, and bits of the hash of its key. So the slots of 100 000 items fit
//! the second cache of a processor, and an item is looked at only if these bits are equal.

use crate::memory::Prefetch;

/// The number of slots at first; always a power of two.
const FIRST: usize = 256;

/// A hash table of positions (open addressing, linear probing). The low bits of a hash are the number of the slot where
/// a search begins. In a slot, the same number of low bits is a position plus one, and the other bits are bits 32 to 63
/// of the hash; 0 is a free slot. At most 4/5 of the slots are used.
pub(super) struct Slots {
    slots: Vec<u32>,
    used: usize,
}

impl Slots {
    pub(super) fn new() -> Self {
        Slots { slots: vec![0; FIRST], used: 0 }
    }

    /// The first item with (probably) this hash for which `is` returns true, given its position.
    #[inline]
    pub(super) fn find(&self, hash: u64, mut is: impl FnMut(usize) -> bool) -> Option<usize> {
        let mask = self.mask();
        let (mut at, bits) = (hash as u32, self.bits(hash));
        loop {
            let slot = self.slots[(at & mask) as usize];
            if slot == 0 {
                return None;
            }
            let position = (slot & mask) as usize - 1;
            if slot & !mask == bits && is(position) {
                return Some(position);
            }
            at = at.wrapping_add(1);
        }
    }

    /// Prefetches the slot with which a search for this hash begins.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        Prefetch::of(&self.slots).fetch((hash as u32 & self.mask()) as usize);
    }

    /// Adds the item at the end of a list. `hashes`: the hashes of all items, with the new one.
    pub(super) fn push(&mut self, mut hashes: impl ExactSizeIterator<Item = u64> + DoubleEndedIterator) {
        debug_assert_eq!(self.used + 1, hashes.len());
        if 5 * hashes.len() > 4 * self.slots.len() {
            self.slots = vec![0; 2 * self.slots.len()];
            self.used = 0;
            return hashes.for_each(|hash| self.insert(hash));
        }
        hashes.next_back().into_iter().for_each(|hash| self.insert(hash));
    }

    /// Removes all items.
    pub(super) fn clear(&mut self) {
        self.slots.fill(0);
        self.used = 0;
    }

    #[inline]
    fn mask(&self) -> u32 {
        (self.slots.len() - 1) as u32
    }

    #[inline]
    fn bits(&self, hash: u64) -> u32 {
        (hash >> 32) as u32 & !self.mask()
    }

    fn insert(&mut self, hash: u64) {
        let (mask, mut at) = (self.mask(), hash as u32);
        while self.slots[(at & mask) as usize] != 0 {
            at = at.wrapping_add(1);
        }
        self.used += 1;
        self.slots[(at & mask) as usize] = self.bits(hash) | self.used as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::key::hash_of;

    fn slots(hashes: &[u64]) -> Slots {
        let mut slots = Slots::new();
        (1..=hashes.len()).for_each(|len| slots.push(hashes[..len].iter().copied()));
        slots
    }

    #[test]
    fn what_is_there_is_found() {
        let hashes: Vec<_> = (0..100_000u64).map(|key| hash_of(&key)).collect();
        let mut slots = slots(&hashes);
        let find = |slots: &Slots, key| slots.find(hash_of(&key), |at| hashes[at] == hash_of(&key));
        assert!((0..100_000).all(|key| find(&slots, key) == Some(key as usize)));
        assert!((100_000..200_000).all(|key| find(&slots, key).is_none()));
        assert!(4 * slots.slots.len() >= 5 * hashes.len() && slots.slots.len() <= 3 * hashes.len());
        slots.clear();
        assert!((0..100_000).all(|key| find(&slots, key).is_none()));
        slots.push([hashes[7]].into_iter());
        assert_eq!(slots.find(hashes[7], |at| at == 0), Some(0));
    }

    #[test]
    fn items_of_one_hash_are_told_apart() {
        for hash in [0, 5, u64::MAX] {
            let slots = slots(&[hash; 1000]);
            assert!((0..1000).all(|item| slots.find(hash, |at| at == item) == Some(item)));
            assert_eq!((slots.find(hash, |_| false), slots.find(hash ^ 1 << 63, |_| true)), (None, None));
        }
    }

    /// A search looks at few slots, also for keys that differ only in their high bits.
    #[test]
    fn searches_are_short() {
        for shift in 0..=46 {
            let hashes: Vec<_> = (0..100_000u64).map(|key| hash_of(&(key << shift))).collect();
            let slots = slots(&hashes);
            let mask = slots.mask();
            let taken = (0u32..).zip(&slots.slots).filter(|(_, slot)| **slot != 0);
            let looks = taken.map(|(at, slot)| {
                let begin = hashes[(slot & mask) as usize - 1] as u32;
                u64::from(at.wrapping_sub(begin) & mask) + 1
            });
            // By theory 2.6 for each hash, if they are random.
            let looks = looks.sum::<u64>();
            assert!(looks < 3 * hashes.len() as u64, "{shift}: {looks}");
        }
    }

    /// Few items are looked at that are not searched.
    #[test]
    fn slots_tell_most_items_apart() {
        let hashes: Vec<_> = (0..100_000u64).map(|key| hash_of(&key.to_string())).collect();
        let slots = slots(&hashes);
        let mut looks = 0;
        for (item, hash) in hashes.iter().enumerate() {
            slots.find(*hash, |at| {
                looks += 1;
                at == item
            });
        }
        assert!(looks < 101_000, "{looks}");
    }
}
