//! The entries of one rank: a hash table in shards of a few thousand entries.
//!
//! A single table doubles when it is full, which takes long under the endpoint's lock if it is large. Here only one
//! shard is changed at a time: a full shard splits in two (extendible hashing). The directory has a power of two of
//! places; a shard of depth `d` stands in all places whose number ends with the same `d` bits. A key's place is given
//! by the last bits of its [spread](super::key::spread) hash.

use super::key::{Lookup, hash_of, spread};
use hashbrown::HashTable;
use hashbrown::hash_table::{self, Entry};
use std::fmt;
use std::hash::Hash;
use std::iter::{FlatMap, FusedIterator};
use std::slice;

/// The number of entries at which a full shard splits: 7/8 of 4096 places.
const MOST: usize = 3584;

/// The maximum number of directory places for each shard. If many keys have one hash, their shard grows instead.
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
/// [`GMap::owner_computes_mut`](crate::GMap::owner_computes_mut) show them. They are ordinary data: other threads may
/// borrow them.
pub struct Entries<K, V> {
    directory: Vec<u32>,
    shards: Vec<Shard<K, V>>,
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Entries<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
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
    /// Bytes of an entry in a table that is half used, without memory behind pointers.
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

    /// The entries from a place on, each with the next place; empty after the last entry.
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

    /// The shard for a key of this hash, with room for one more entry.
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

    /// Splits a shard by the next bit. `hash`: the hash of a key of this shard. Both halves are new tables, because
    /// places of removed entries would count as used.
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

/// The methods of the entries that a guard shows.
impl<K, V> Entries<K, V> {
    /// The number of entries that this rank owns.
    ///
    /// ```
    /// # use aurora_core::ops::Sum;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut squares = GMap::<u64, u64>::new(world)?;
    /// let me = world.rank().index() as u64;
    /// squares.insert(me, me * me)?;
    /// world.barrier()?;
    /// let mine = squares.owner_computes()?;
    /// assert_eq!(world.all_reduce(Sum, mine.len())?, 2);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.pairs.len()).sum()
    }

    /// Returns true if this rank owns no entries.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut squares = GMap::<u64, u64>::new(world)?;
    /// let me = world.rank().index() as u64;
    /// squares.insert(me, me * me)?;
    /// world.barrier()?;
    /// let mine = squares.owner_computes()?;
    /// assert_eq!(mine.is_empty(), mine.len() == 0); // of this rank alone
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All entries, in any order. A loop over `&guard` yields the same entries.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut squares = GMap::<u64, u64>::new(world)?;
    /// let me = world.rank().index() as u64;
    /// squares.insert(me, me * me)?;
    /// world.barrier()?;
    /// let mine = squares.owner_computes()?;
    /// for (key, value) in &mine {
    ///     assert_eq!(*value, key * key);
    /// }
    /// assert_eq!(mine.iter().count(), mine.len());
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn iter(&self) -> MapIter<'_, K, V> {
        MapIter(self.shards.iter().flat_map(|shard| shard.pairs.iter()))
    }

    /// All entries, with values that can be changed. A loop over `&mut guard` yields the same entries.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut squares = GMap::<u64, u64>::new(world)?;
    /// let me = world.rank().index() as u64;
    /// squares.insert(me, me * me)?;
    /// world.barrier()?;
    /// let mut mine = squares.owner_computes_mut()?;
    /// for (key, value) in &mut mine {
    ///     *value += key;
    /// }
    /// assert!(mine.iter().all(|(key, value)| *value == key * key + key));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn iter_mut(&mut self) -> MapIterMut<'_, K, V> {
        MapIterMut(self.shards.iter_mut().flat_map(|shard| shard.pairs.iter_mut()))
    }

    /// All keys, in the order of [`iter`](Entries::iter).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut squares = GMap::<u64, u64>::new(world)?;
    /// let me = world.rank().index() as u64;
    /// squares.insert(me, me * me)?;
    /// world.barrier()?;
    /// let mine = squares.owner_computes()?;
    /// assert!(mine.keys().all(|key| squares.owner(key) == world.rank()));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// All values, in the order of [`iter`](Entries::iter).
    ///
    /// ```
    /// # use aurora_core::ops::Sum;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut squares = GMap::<u64, u64>::new(world)?;
    /// let me = world.rank().index() as u64;
    /// squares.insert(me, me * me)?;
    /// world.barrier()?;
    /// let mine = squares.owner_computes()?;
    /// assert_eq!(world.all_reduce(Sum, mine.values().sum::<u64>())?, 0 + 1);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// All values, for writing.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut squares = GMap::<u64, u64>::new(world)?;
    /// let me = world.rank().index() as u64;
    /// squares.insert(me, me * me)?;
    /// world.barrier()?;
    /// let mut mine = squares.owner_computes_mut()?;
    /// mine.values_mut().for_each(|value| *value = 7);
    /// assert!(mine.values().all(|value| *value == 7));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.iter_mut().map(|(_, value)| value)
    }

    /// Keeps the entries for which `keep` returns true, and drops the others.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut squares = GMap::<u64, u64>::new(world)?;
    /// let me = world.rank().index() as u64;
    /// squares.insert(me, me * me)?;
    /// world.barrier()?;
    /// let mut mine = squares.owner_computes_mut()?;
    /// mine.retain(|key, _| *key == 1);
    /// assert!(!mine.contains_key(&0));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.shards.iter_mut().for_each(|shard| shard.pairs.retain(|pair| keep(&pair.key, &mut pair.value)));
    }

    /// The value of a key that this rank owns. `None` also for a key that another rank owns, and for a form of a key
    /// that has another hash than the key ([`Lookup`]).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut squares = GMap::<u64, u64>::new(world)?;
    /// let me = world.rank().index() as u64;
    /// squares.insert(me, me * me)?;
    /// world.barrier()?;
    /// let mine = squares.owner_computes()?;
    /// if squares.owner(&1) == world.rank() {
    ///     assert_eq!(mine.get(&1), Some(&1));
    /// } else {
    ///     assert_eq!(mine.get(&1), None);
    /// }
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn get(&self, key: &(impl Lookup<K> + ?Sized)) -> Option<&V> {
        self.find(hash_of(key), |there| key.is(there))
    }

    /// As [`get`](Entries::get), for writing.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut squares = GMap::<u64, u64>::new(world)?;
    /// let me = world.rank().index() as u64;
    /// squares.insert(me, me * me)?;
    /// world.barrier()?;
    /// let mut mine = squares.owner_computes_mut()?;
    /// if let Some(value) = mine.get_mut(&1) {
    ///     *value = 100;
    /// }
    /// drop(mine);
    /// world.barrier()?;
    /// assert_eq!(squares.get(&1)?, Some(100));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn get_mut(&mut self, key: &(impl Lookup<K> + ?Sized)) -> Option<&mut V> {
        self.find_mut(hash_of(key), |there| key.is(there))
    }

    /// Returns true if this rank owns an entry of the key. Returns false also for a key that another rank owns.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut squares = GMap::<u64, u64>::new(world)?;
    /// let me = world.rank().index() as u64;
    /// squares.insert(me, me * me)?;
    /// world.barrier()?;
    /// let mine = squares.owner_computes()?;
    /// assert_eq!(mine.contains_key(&1), squares.owner(&1) == world.rank());
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn contains_key(&self, key: &(impl Lookup<K> + ?Sized)) -> bool {
        self.get(key).is_some()
    }
}

/// The entries of [`MapEntries`](crate::MapEntries).
pub struct MapIter<'e, K, V>(Pairs<Shards<'e, K, V>, InShard<'e, K, V>>);

/// The entries of [`MapEntries`](crate::MapEntries), with values that can be changed.
pub struct MapIterMut<'e, K, V>(Pairs<ShardsMut<'e, K, V>, InShardMut<'e, K, V>>);

type Shards<'e, K, V> = slice::Iter<'e, Shard<K, V>>;
type ShardsMut<'e, K, V> = slice::IterMut<'e, Shard<K, V>>;
type InShard<'e, K, V> = hash_table::Iter<'e, Pair<K, V>>;
type InShardMut<'e, K, V> = hash_table::IterMut<'e, Pair<K, V>>;
/// The pairs of all shards.
type Pairs<S, P> = FlatMap<S, P, fn(<S as Iterator>::Item) -> P>;

/// The iterators of shared entries, and of entries that can be changed.
macro_rules! iterators {
    ($($iter:ident, $method:ident, $entries:ty, $value:ty, |$pair:ident| $item:expr;)*) => {$(
        impl<'e, K, V> Iterator for $iter<'e, K, V> {
            type Item = (&'e K, $value);

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                self.0.next().map(|$pair| $item)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.0.size_hint()
            }

            #[inline]
            fn fold<B, F: FnMut(B, Self::Item) -> B>(self, begin: B, mut with: F) -> B {
                self.0.fold(begin, |so_far, $pair| with(so_far, $item))
            }
        }

        impl<K, V> FusedIterator for $iter<'_, K, V> {}

        impl<K, V> fmt::Debug for $iter<'_, K, V> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($iter)).finish_non_exhaustive()
            }
        }

        impl<'e, K, V> IntoIterator for $entries {
            type Item = (&'e K, $value);
            type IntoIter = $iter<'e, K, V>;

            fn into_iter(self) -> Self::IntoIter {
                self.$method()
            }
        }
    )*};
}

iterators! {
    MapIter, iter, &'e Entries<K, V>, &'e V, |pair| (&pair.key, &pair.value);
    MapIterMut, iter_mut, &'e mut Entries<K, V>, &'e mut V, |pair| (&pair.key, &mut pair.value);
}

impl<K: Eq, V> Entries<K, V> {
    /// Inserts an entry, or replaces the value of its key and returns the old value.
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
