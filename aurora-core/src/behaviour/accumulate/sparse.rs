//! Values of the few elements that are touched: a hash table with open addressing.

use crate::Element;
use crate::memory::{Shortage, filled};
use std::ops::Range;

const FEWEST: usize = 64;

/// No element has this index.
const EMPTY: usize = usize::MAX;

/// 2^64 divided by the golden ratio: a factor that spreads neighbouring and regularly spaced indices.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Debug)]
pub(super) struct Sparse<T> {
    /// Empty, or a power of two.
    slots: Vec<Slot<T>>,
    /// By how many bits a hash is shifted to give a slot.
    shift: u32,
    used: usize,
    /// The number of used slots at which the table has to grow: three quarters.
    limit: usize,
}

#[derive(Clone, Copy, Debug)]
struct Slot<T> {
    index: usize,
    value: T,
}

impl<T: Element> Sparse<T> {
    pub(super) fn new() -> Self {
        Sparse { slots: Vec::new(), shift: u64::BITS - 1, used: 0, limit: 0 }
    }

    /// The bytes of this table and of the next larger one, which growing needs together.
    pub(super) fn bytes_to_grow(&self) -> usize {
        (self.slots.len() + self.slots_to_come()).saturating_mul(size_of::<Slot<T>>())
    }

    fn slots_to_come(&self) -> usize {
        FEWEST.max(2 * self.slots.len())
    }

    /// Combines a value with an element's value, or stores it if there is none. False: the table has to grow first.
    #[inline]
    pub(super) fn update(&mut self, index: usize, value: T, combine: impl Fn(T, T) -> T) -> bool {
        let last = self.slots.len().wrapping_sub(1);
        let mut at = place(index, self.shift);
        // Ends at an empty slot: a quarter of them are empty. A table without slots has none to look at.
        while let Some(slot) = self.slots.get_mut(at & last) {
            if slot.index == index {
                slot.value = combine(slot.value, value);
                return true;
            }
            if slot.index == EMPTY {
                let room = self.used < self.limit;
                if room {
                    *slot = Slot { index, value };
                    self.used += 1;
                }
                return room;
            }
            at += 1;
        }
        false
    }

    pub(super) fn grow(&mut self) -> Result<(), Shortage> {
        let slots = filled(self.slots_to_come(), Slot { index: EMPTY, value: T::zeroed() })?;
        let (shift, limit) = (u64::BITS - slots.len().trailing_zeros(), slots.len() / 4 * 3);
        let before = std::mem::replace(self, Sparse { slots, shift, used: 0, limit });
        for (index, value) in before.iter() {
            self.update(index, value, |_, _| unreachable!("each element was there once"));
        }
        Ok(())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, T)> + '_ {
        self.slots.iter().filter(|slot| slot.index != EMPTY).map(|slot| (slot.index, slot.value))
    }

    /// Sorts the elements by index. [`range`](Self::range) works only after this, everything else only before.
    pub(super) fn sort(&mut self) {
        self.slots.retain(|slot| slot.index != EMPTY);
        self.slots.sort_unstable_by_key(|slot| slot.index);
        self.limit = 0;
    }

    pub(super) fn range(&self, range: Range<usize>) -> impl Iterator<Item = (usize, &T)> {
        let start = self.slots.partition_point(|slot| slot.index < range.start);
        let slots = self.slots[start..].iter().take_while(move |slot| slot.index < range.end);
        slots.map(|slot| (slot.index, &slot.value))
    }
}

/// The first slot to look at for an element: the upper bits of its hash.
#[inline]
fn place(index: usize, shift: u32) -> usize {
    ((index as u64).wrapping_mul(GOLDEN) >> shift) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn put(sparse: &mut Sparse<u64>, index: usize, value: u64) {
        while !sparse.update(index, value, |old, new| old.wrapping_mul(3) ^ new) {
            sparse.grow().expect("there is memory");
        }
    }

    #[test]
    fn it_grows_to_a_quarter_of_empty_slots() {
        let mut sparse = Sparse::new();
        assert!(!sparse.update(7, 1, |_, new| new), "there is no memory yet");
        (0..10_000).for_each(|i| put(&mut sparse, i << 20, 1));
        assert_eq!((sparse.used, sparse.slots.len()), (10_000, 16_384));
    }

    #[test]
    fn elements_at_regular_distances_are_found_soon() {
        for distance in (0..56).map(|bits| 1_usize << bits).chain([3, 704, 1000, 4095]) {
            let mut taken = vec![0; 1024];
            for i in 0..128_usize {
                taken[place(i.wrapping_mul(distance), 64 - 10)] += 1;
            }
            let most = taken.iter().max();
            assert!(most <= Some(&8), "{most:?} elements at a distance of {distance} begin at one place");
        }
    }

    proptest! {
        #[test]
        fn it_is_a_map(updates in prop::collection::vec((prop_oneof![0usize..300, any::<usize>()], any::<u64>()), 0..600)) {
            let mut sparse = Sparse::new();
            let mut model = BTreeMap::new();
            for (index, value) in updates.into_iter().filter(|(index, _)| *index != EMPTY) {
                put(&mut sparse, index, value);
                model.entry(index).and_modify(|old: &mut u64| *old = old.wrapping_mul(3) ^ value).or_insert(value);
            }
            prop_assert_eq!(sparse.iter().collect::<BTreeMap<_, _>>(), model.clone());
            sparse.sort();
            for range in [0..EMPTY, 0..100, 100..100, 7..250] {
                let found: Vec<_> = sparse.range(range.clone()).map(|(index, value)| (index, *value)).collect();
                prop_assert_eq!(found, model.range(range).map(|(index, value)| (*index, *value)).collect::<Vec<_>>());
            }
        }
    }
}
