//! The entries of one rank: a hash table in shards of a few thousand entries.
//!
//! A table that is full doubles, which lasts long under the endpoint's lock if it is large. Here only one shard is
//! changed at a time: a full shard splits in two (extendible hashing). The directory has a power of two of places; a
//! shard of depth `d` stands in all places whose number ends with the same `d` bits. A key's place is given by the
//! last bits of its [spread](super::key::spread) hash.

use super::key::{Lookup, hash_of, spread};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::Hash;

/// A full shard with so many entries splits: 7/8 of 4096 places.
const MOST: usize = 3584;

/// The directory has at most so many places for each shard. If many keys have one hash, their shard grows instead.
const PLACES_PER_SHARD: usize = 16;

/// An entry with the hash of its key.
#[derive(Debug)]
pub(super) struct Pair<K, V> {
    pub(super) hash: u64,
    pub(super) key: K,
    pub(super) value: V,
}

impl<K: Hash, V> Pair<K, V> {
    #[inline]
    pub(super) fn new(key: K, value: V) -> Self {
        Pair { hash: hash_of(&key), key, value }
    }
}

/// The entries of a [`GMap`](crate::GMap) that one rank owns. [`GMap::owner_computes`](crate::GMap::owner_computes) and
/// [`GMap::owner_computes_mut`](crate::GMap::owner_computes_mut) show them. It is ordinary data: other threads may
/// borrow it.
pub struct Entries<K, V> {
    directory: Vec<u32>,
    shards: Vec<Shard<K, V>>,
}

struct Shard<K, V> {
    depth: u32,
    pairs: HashTable<Pair<K, V>>,
}

/// A place in the order of iteration. The entries do not move while none is inserted.
pub(super) type Place = (u32, u32);

impl<K, V> Default for Entries<K, V> {
    fn default() -> Self {
        Entries { directory: vec![0], shards: vec![Shard { depth: 0, pairs: HashTable::new() }] }
    }
}

impl<K, V> Entries<K, V> {
    /// Bytes of an entry in a table, of which half is used, without what lies behind pointers.
    pub(super) const ENTRY: usize = 2 * (size_of::<Pair<K, V>>() + 1);

    #[inline]
    pub(super) fn find(&self, hash: u64, is: impl Fn(&K) -> bool) -> Option<&V> {
        let found = self.shards[self.shard_of(hash)].pairs.find(hash, |pair| pair.hash == hash && is(&pair.key));
        found.map(|pair| &pair.value)
    }

    #[inline]
    pub(super) fn find_mut(&mut self, hash: u64, is: impl Fn(&K) -> bool) -> Option<&mut V> {
        let shard = self.shard_of(hash);
        let found = self.shards[shard].pairs.find_mut(hash, |pair| pair.hash == hash && is(&pair.key));
        found.map(|pair| &mut pair.value)
    }

    pub(super) fn remove(&mut self, hash: u64, is: impl Fn(&K) -> bool) -> Option<V> {
        let shard = self.shard_of(hash);
        let found = self.shards[shard].pairs.find_entry(hash, |pair| pair.hash == hash && is(&pair.key));
        found.ok().map(|entry| entry.remove().0.value)
    }

    /// The entries from a place on, with the place behind each; empty after the last.
    pub(super) fn from(&self, (shard, bucket): Place) -> impl Iterator<Item = (Place, &Pair<K, V>)> {
        (shard..self.shards.len() as u32).flat_map(move |at| {
            let pairs = &self.shards[at as usize].pairs;
            let first = if at == shard { bucket } else { 0 };
            (first..pairs.num_buckets() as u32)
                .filter_map(move |bucket| Some(((at, bucket + 1), pairs.get_bucket(bucket as usize)?)))
        })
    }

    #[inline]
    fn shard_of(&self, hash: u64) -> usize {
        self.directory[spread(hash) as usize & (self.directory.len() - 1)] as usize
    }

    /// The shard for a key of this hash, with room for one more.
    #[inline]
    fn with_room(&mut self, hash: u64) -> &mut HashTable<Pair<K, V>> {
        let mut at = self.shard_of(hash);
        while self.splits(at) {
            self.split(at, hash);
            at = self.shard_of(hash);
        }
        &mut self.shards[at].pairs
    }

    #[inline]
    fn splits(&self, at: usize) -> bool {
        let Shard { depth, pairs } = &self.shards[at];
        let is_full = pairs.len() >= MOST && pairs.len() == pairs.capacity();
        let places = self.directory.len();
        is_full && (1 << depth < places || places < PLACES_PER_SHARD * self.shards.len())
    }

    /// Splits a shard by the next bit. `hash`: of a key of this shard. Both halves are new tables: places of entries
    /// that are gone would count as used.
    fn split(&mut self, at: usize, hash: u64) {
        let (depth, new) = (self.shards[at].depth, self.shards.len() as u32);
        if 1 << depth == self.directory.len() {
            self.directory.extend_from_within(..);
        }
        let bit = 1 << depth;
        let mut halves = [(); 2].map(|()| HashTable::with_capacity(MOST));
        for pair in std::mem::take(&mut self.shards[at].pairs) {
            let half = usize::from(spread(pair.hash) & bit != 0);
            halves[half].insert_unique(pair.hash, pair, |pair| pair.hash);
        }
        let [unset, set] = halves;
        self.shards[at] = Shard { depth: depth + 1, pairs: unset };
        self.shards.push(Shard { depth: depth + 1, pairs: set });
        let first = (spread(hash) & (bit - 1) | bit) as usize;
        self.directory.iter_mut().skip(first).step_by(2 << depth).for_each(|place| *place = new);
    }
}

/// What a guard shows.
impl<K, V> Entries<K, V> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.pairs.len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All entries, in any order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.shards.iter().flat_map(|shard| shard.pairs.iter()).map(|pair| (&pair.key, &pair.value))
    }

    /// All entries, with values that can be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        let pairs = self.shards.iter_mut().flat_map(|shard| shard.pairs.iter_mut());
        pairs.map(|pair| (&pair.key, &mut pair.value))
    }

    /// Keeps the entries for which `keep` returns true, and drops the others.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.shards.iter_mut().for_each(|shard| shard.pairs.retain(|pair| keep(&pair.key, &mut pair.value)));
    }

    /// The value of a key that this rank owns. `None` also for a key of another rank, and for a form of a key that has
    /// another hash than the key ([`Lookup`]).
    pub fn get(&self, key: &(impl Lookup<K> + ?Sized)) -> Option<&V> {
        self.find(hash_of(key), |there| key.is(there))
    }

    /// The same, to change the value.
    pub fn get_mut(&mut self, key: &(impl Lookup<K> + ?Sized)) -> Option<&mut V> {
        self.find_mut(hash_of(key), |there| key.is(there))
    }

    /// Whether a key is there. False also for a key of another rank.
    pub fn contains(&self, key: &(impl Lookup<K> + ?Sized)) -> bool {
        self.get(key).is_some()
    }
}

impl<K: Eq, V> Entries<K, V> {
    /// Inserts an entry, or replaces the value of its key: then returns the old value.
    pub(super) fn insert(&mut self, pair: Pair<K, V>) -> Option<V> {
        match self.entry(&pair) {
            Entry::Occupied(mut there) => Some(std::mem::replace(&mut there.get_mut().value, pair.value)),
            Entry::Vacant(place) => {
                place.insert(pair);
                None
            }
        }
    }

    /// Replaces the value of a key by `apply(value, operand)`. A key that is not there is inserted with the operand.
    pub(super) fn update(&mut self, pair: Pair<K, V>, apply: impl FnOnce(V, V) -> V) {
        match self.entry(&pair) {
            Entry::Occupied(there) => {
                there.replace_entry_with(|there| Some(Pair { value: apply(there.value, pair.value), ..there }));
            }
            Entry::Vacant(place) => drop(place.insert(pair)),
        }
    }

    #[inline]
    fn entry(&mut self, pair: &Pair<K, V>) -> Entry<'_, Pair<K, V>> {
        let hash = pair.hash;
        self.with_room(hash).entry(hash, |there| there.hash == hash && there.key == pair.key, |there| there.hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn no_shard_grows_beyond_its_size() {
        let mut shards = Entries::default();
        for key in 0..300_000u64 {
            assert_eq!(shards.insert(Pair::new(key, key)), None);
        }
        assert!(shards.len() == 300_000 && shards.shards.len() >= 300_000 / MOST);
        assert!(shards.shards.iter().all(|shard| shard.pairs.len() <= MOST && shard.pairs.num_buckets() == 4096));
        assert!((0..300_000).all(|key| shards.find(hash_of(&key), |is| *is == key) == Some(&key)));
        let mut seen: Vec<_> = shards.iter().map(|(key, _)| *key).collect();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..300_000));
    }

    #[test]
    fn keys_of_one_hash_have_one_shard() {
        let mut shards = Entries::default();
        for key in 0..10_000u64 {
            assert!(shards.insert(Pair { hash: 5, key, value: () }).is_none());
        }
        assert!(shards.len() == 10_000 && shards.directory.len() <= PLACES_PER_SHARD * shards.shards.len());
        assert!(shards.find(5, |key| *key == 9_999).is_some() && shards.remove(5, |key| *key == 77).is_some());
        assert!(shards.find(5, |key| *key == 77).is_none());
    }

    #[test]
    fn it_is_a_map() {
        let (mut shards, mut model) = (Entries::default(), HashMap::new());
        for step in 0..200_000u64 {
            let (key, value) = (digest(step) % 20_000, step);
            let hash = hash_of(&key);
            match digest(step + 1) % 4 {
                0 => assert_eq!(shards.remove(hash, |is| *is == key), model.remove(&key)),
                1 => assert_eq!(shards.insert(Pair::new(key, value)), model.insert(key, value)),
                2 => {
                    shards.update(Pair::new(key, value), |old, new| old ^ new);
                    model.entry(key).and_modify(|old| *old ^= value).or_insert(value);
                }
                _ => assert_eq!(shards.find_mut(hash, |is| *is == key), model.get_mut(&key)),
            }
        }
        shards.retain(|key, _| key % 3 == 0);
        model.retain(|key, _| key % 3 == 0);
        assert_eq!(shards.len(), model.len());
        assert!(shards.iter_mut().all(|(key, value)| model.get(key) == Some(value)));
    }

    fn digest(step: u64) -> u64 {
        crate::digest::add(3, step)
    }

    #[test]
    fn a_scan_in_pieces_finds_each_entry_once() {
        let mut shards = Entries::default();
        assert!((0..20_000u64).all(|key| shards.insert(Pair::new(key, ())).is_none()));
        let (mut place, mut seen) = ((0, 0), Vec::new());
        loop {
            let piece: Vec<_> = shards.from(place).take(777).map(|(next, pair)| (next, pair.key)).collect();
            let Some((next, _)) = piece.last() else { break };
            place = *next;
            seen.extend(piece.into_iter().map(|(_, key)| key));
        }
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..20_000));
        assert!(shards.from((9_999, 0)).next().is_none() && shards.from((0, u32::MAX)).next().is_some());
    }
}
