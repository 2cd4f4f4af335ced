//! Types of the user that are hashed or encoded in several ways: an error, and never another entry.

use crate::provoke::{every_route, on_every_route};
use aurora_core::ops::Sum;
use aurora_core::prelude::*;
use aurora_core::{Lookup, MapKey};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};

/// The rank that makes the error.
const CULPRIT: usize = 1;

/// Every single access by a borrowed form of a key, with its name.
fn looked_up<K: MapKey, Q: Lookup<K> + ?Sized>(map: &mut GMap<K, u64>, key: &Q) -> [(&'static str, Result<()>); 5] {
    [
        ("get", map.get(key).map(drop)),
        ("contains", map.contains(key).map(drop)),
        ("get_many", map.get_many([key]).map(drop)),
        ("update", map.update(key, Sum, 7)),
        ("remove", map.remove(key).map(drop)),
    ]
}

/// Looks up each key in a form that serde encodes differently. All ranks get an error, for their own keys too, and the
/// entries do not change.
fn is_refused<K, Q>(make: impl Fn(u32) -> K + Sync)
where
    K: MapKey + Borrow<Q> + Clone + Debug,
    Q: Hash + Eq + Serialize + ?Sized,
{
    let outcomes = every_route([1, 2, 3]).run_freely(|world| {
        let mut map = GMap::<K, u64>::new(world)?;
        let all: HashMap<K, u64> = (0..64).map(|n| (make(n), u64::from(n))).collect();
        if world.is_root() {
            all.iter().try_for_each(|(key, value)| map.insert(key.clone(), *value).map(drop))?;
        }
        world.barrier()?;
        for key in all.keys() {
            for (name, outcome) in looked_up::<K, Q>(&mut map, key.borrow()) {
                let Err(Error::Value { cause, site, .. }) = outcome else {
                    panic!("{name} of {key:?} at {}: {outcome:?}", map.owner(key.borrow()));
                };
                assert!(cause.contains("by the key itself"), "{name}: {cause}");
                assert!(site.to_string().contains("user_types.rs"), "{name}: {site}");
            }
        }
        world.barrier()?;
        for (key, value) in &all {
            assert_eq!(map.get(key)?, Some(*value), "{key:?}");
        }
        assert_eq!(map.global_len()?, all.len());
        world.barrier()
    });
    outcomes.succeed("no rank fails");
}

/// The encoding of a slice begins with its length, that of an array does not: the first bytes are those of another key.
#[test]
fn an_array_by_its_slice() {
    is_refused::<[u8; 4], [u8]>(|n| if n % 2 == 0 { [7, 7, 7, n as u8] } else { [4, 7, 7, n as u8] });
    is_refused::<[u64; 2], [u64]>(|n| [u64::from(n), 2]);
}

/// A key whose borrowed form adds `HASH` to the hash, and whose encoding has a list of `BYTES` bytes at its end.
#[derive(PartialEq, Eq, Clone, Debug)]
struct Key<const HASH: u64, const BYTES: usize>(View<HASH, BYTES>);

#[derive(PartialEq, Eq, Debug)]
struct View<const HASH: u64, const BYTES: usize>(u32);

impl<const HASH: u64, const BYTES: usize> Clone for View<HASH, BYTES> {
    fn clone(&self) -> Self {
        View(self.0)
    }
}

impl<const HASH: u64, const BYTES: usize> Hash for Key<HASH, BYTES> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        // The same hash for all keys, if both forms have the same hash.
        if HASH > 0 { self.0.0 } else { 0 }.hash(hasher);
    }
}

impl<const HASH: u64, const BYTES: usize> Hash for View<HASH, BYTES> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        if HASH > 0 { self.0 + HASH as u32 } else { 0 }.hash(hasher);
    }
}

impl<const HASH: u64, const BYTES: usize> Serialize for Key<HASH, BYTES> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.0.0)
    }
}

impl<const HASH: u64, const BYTES: usize> Serialize for View<HASH, BYTES> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match BYTES {
            0 => serializer.serialize_u32(self.0),
            _ => (self.0, [0u8; BYTES].as_slice()).serialize(serializer),
        }
    }
}

impl<'d, const HASH: u64, const BYTES: usize> Deserialize<'d> for Key<HASH, BYTES> {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        u32::deserialize(deserializer).map(|number| Key(View(number)))
    }
}

impl<const HASH: u64, const BYTES: usize> Borrow<View<HASH, BYTES>> for Key<HASH, BYTES> {
    fn borrow(&self) -> &View<HASH, BYTES> {
        &self.0
    }
}

/// The owner is correct, and the bytes begin with the key.
#[test]
fn a_form_with_bytes_behind_the_key() {
    is_refused::<Key<0, 1>, View<0, 1>>(|n| Key(View(n)));
}

#[test]
fn a_form_with_another_hash() {
    is_refused::<Key<9, 0>, View<9, 0>>(|n| Key(View(n)));
}

/// A borrowed form whose owned form is another key.
#[derive(PartialEq, Eq, Hash, Serialize)]
struct Word(u64);

#[derive(PartialEq, Eq, Serialize, Deserialize, Debug)]
struct Sentence(u64);

impl Hash for Sentence {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.0 + 1).hash(hasher);
    }
}

/// One word for each number, so that a `Word` is a borrowed form of a `Sentence`.
static WORDS: [Word; 64] = {
    let mut words = [const { Word(0) }; 64];
    let mut at = 0;
    while at < 64 {
        words[at] = Word(at as u64);
        at += 1;
    }
    words
};

impl Borrow<Word> for Sentence {
    fn borrow(&self) -> &Word {
        &WORDS[self.0 as usize]
    }
}

impl ToOwned for Word {
    type Owned = Sentence;

    fn to_owned(&self) -> Sentence {
        Sentence(self.0)
    }
}

#[test]
fn an_owned_form_with_another_hash() {
    let outcomes = every_route([1, 2, 3]).run_freely(|world| {
        let mut map = GMap::<Sentence, u64>::new(world)?;
        let mut scope = map.release_c_with(Sum)?;
        for word in &WORDS {
            let refused = scope.update(word, 1);
            assert!(matches!(refused, Err(Error::Value { .. })), "{refused:?}");
        }
        scope.finish()?;
        assert!(map.is_globally_empty()?);
        world.barrier()
    });
    outcomes.succeed("no rank fails");
}

/// A key with a field that serde skips, so that another key arrives.
#[derive(PartialEq, Eq, Hash, Clone, Serialize, Deserialize, Debug)]
struct Halved(u64, #[serde(skip)] u64);

#[test]
fn a_key_that_arrives_as_another() {
    // The culprit owns both the key and the key that arrives.
    let outcomes = every_route([2, 3]).run(|world| {
        let mut map = GMap::<Halved, u64>::new(world)?;
        let theirs = |map: &GMap<Halved, u64>| {
            let keys = (0..).map(|n| [Halved(n, 1), Halved(n, 0)]);
            let mut both = keys.filter(|keys| keys.iter().all(|key| map.owner(key).index() == CULPRIT));
            both.next().map(|[key, _]| key).expect("every rank owns keys")
        };
        if world.is_root() {
            let key = theirs(&map);
            let refused = map.insert(key.clone(), 1);
            assert!(matches!(refused, Err(Error::Value { .. })), "{refused:?}");
        }
        let key = theirs(&map);
        let mut scope = map.release_c()?;
        // All ranks have opened the scope before one of them can cause the error.
        world.barrier()?;
        let ended = if world.is_root() { scope.insert(key, 1) } else { Ok(()) }.and(scope.finish());
        world.barrier()?;
        ended?;
        map.get(&Halved(0, 0)).map(drop)
    });
    outcomes.all_say(&["cannot be sent to other ranks: its bytes decode to another value"]);
}

/// A key with a skipped field that `Eq` compares and `Hash` does not: another key with the same hash arrives.
#[derive(PartialEq, Eq, Clone, Serialize, Deserialize, Debug)]
struct Shallow(u64, #[serde(skip)] u64);

impl Hash for Shallow {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.hash(hasher);
    }
}

#[test]
fn a_key_that_arrives_as_another_of_its_hash() {
    let outcomes = every_route([1, 2, 3]).run_freely(|world| {
        let mut map = GMap::<Shallow, u64>::new(world)?;
        for n in 0..16 {
            for (name, outcome) in looked_up(&mut map, &Shallow(n, 1)) {
                assert!(matches!(outcome, Err(Error::Value { .. })), "{name}: {outcome:?}");
            }
            let inserted = map.insert(Shallow(n, 1), n);
            assert!(matches!(inserted, Err(Error::Value { .. })), "{inserted:?}");
        }
        world.barrier()?;
        // Own writes are not encoded: the key stays in the map as it is, but cannot be collected.
        let own = (0..).find(|n| map.owner(&Shallow(*n, 1)) == world.rank()).expect("every rank owns keys");
        let mut scope = map.release_c()?;
        scope.insert(Shallow(own, 1), 1)?;
        scope.finish()?;
        let collected = map.gather_to(0);
        assert!(matches!(collected, Err(Error::Value { .. })), "{collected:?}");
        world.barrier()
    });
    outcomes.succeed("no rank fails");
    let outcomes = every_route([2, 3]).run(|world| {
        let mut map = GMap::<Shallow, u64>::new(world)?;
        let theirs = (0..).find(|n| map.owner(&Shallow(*n, 1)) == CULPRIT).expect("every rank owns keys");
        let mut scope = map.release_c()?;
        // All ranks have opened the scope before one of them can cause the error.
        world.barrier()?;
        let ended = if world.is_root() { scope.insert(Shallow(theirs, 1), 1) } else { Ok(()) }.and(scope.finish());
        world.barrier()?;
        ended?;
        map.get(&Shallow(0, 0)).map(drop)
    });
    outcomes.all_say(&["cannot be sent to other ranks: its bytes decode to another value"]);
}

/// The decoder expects a skipped field, because no field names are sent.
#[derive(PartialEq, Clone, Default, Serialize, Deserialize, Debug)]
struct Skips {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    first: Option<u32>,
    second: u32,
}

#[test]
fn values_of_which_parts_are_skipped() {
    let outcomes = every_route([1, 2, 3]).run_freely(|world| {
        let mut map = GMap::<u64, Skips>::new(world)?;
        let mut own = (0..).filter(|key| map.owner(key) == world.rank());
        let keys = [(); 2].map(|()| own.next().expect("every rank owns keys"));
        let whole = Skips { first: Some(1), second: 2 };
        let mut scope = map.release_c()?;
        keys.iter().try_for_each(|key| scope.insert(*key, Skips::default()))?;
        scope.finish()?;
        let all = world.all_gather(keys)?.concat();
        let found = map.get_many(&all);
        assert!(matches!(found, Err(Error::Value { .. })), "{found:?}");
        for key in &all {
            let found = map.get(key);
            assert!(matches!(found, Err(Error::Value { .. })), "{found:?}");
        }
        let inserted = map.insert(all[0], Skips::default());
        assert!(matches!(inserted, Err(Error::Value { .. })), "{inserted:?}");
        world.barrier()?;
        let mut scope = map.release_c()?;
        keys.iter().try_for_each(|key| scope.insert(*key, whole.clone()))?;
        scope.finish()?;
        assert_eq!(map.get_many(&all)?, vec![Some(whole); all.len()]);
        world.barrier()
    });
    outcomes.succeed("no rank fails");
}

/// Writes one number more than it reads.
#[derive(PartialEq, Eq, Hash, Clone, Debug)]
struct Longer(u32);

impl Serialize for Longer {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        (self.0, 1).serialize(serializer)
    }
}

impl<'d> Deserialize<'d> for Longer {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        u32::deserialize(deserializer).map(Longer)
    }
}

/// Reads one number more than it writes.
#[derive(PartialEq, Eq, Hash, Clone, Debug)]
struct Shorter(u32);

impl Serialize for Shorter {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.0)
    }
}

impl<'d> Deserialize<'d> for Shorter {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        <(u32, u32)>::deserialize(deserializer).map(|(number, _)| Shorter(number))
    }
}

/// Replaces the value by the operand, for any type.
struct Newest;

impl<T> Op<T> for Newest {
    fn apply(_: T, operand: T) -> T {
        operand
    }
}

/// Every use that sends a value of a type whose two halves disagree gets an error that names the type and the halves.
fn is_named<T: Debug + Clone + Eq + Hash + Serialize + for<'d> Deserialize<'d> + Send + Sync + 'static>(
    name: &str,
    value: T,
) {
    type Use<'u, T> = (&'u str, fn(&World, T) -> Result<()>);
    let uses: [Use<'_, T>; 13] = [
        ("insert", |world, value| GMap::<u64, T>::new(world)?.insert(1, value).map(drop)),
        ("a key", |world, key| GMap::<T, u64>::new(world)?.insert(key, 1).map(drop)),
        ("a key that is looked up", |world, key| GMap::<T, u64>::new(world)?.get(&key).map(drop)),
        ("release_c", |world, value| {
            let mut map = GMap::<u64, T>::new(world)?;
            let mut scope = map.release_c_with(Newest)?;
            (0..40).try_for_each(|key| scope.update(&key, value.clone()))?;
            scope.finish()?;
            map.get_many(&(0..40).collect::<Vec<_>>()).map(drop)
        }),
        ("gather_to", |world, value| {
            let mut map = GMap::<u64, T>::new(world)?;
            let own = (0..).find(|key| map.owner(key) == world.rank()).expect("every rank owns keys");
            let mut scope = map.release_c()?;
            scope.insert(own, value)?;
            scope.finish()?;
            map.gather_to(0).map(drop)
        }),
        ("broadcast", |world, value| {
            world.broadcast(0, value.clone())?;
            world.broadcast(1 % world.size(), value).map(drop)
        }),
        ("all_gather", |world, value| world.all_gather(value).map(drop)),
        ("get of a scalar", |world, value| GScalar::new(world, 0, value)?.get().map(drop)),
        ("swap of a scalar", |world, value| GScalar::new(world, 0, value.clone())?.swap(value).map(drop)),
        ("read_cache of a scalar", |world, value| GScalar::new(world, 0, value)?.read_cache().map(drop)),
        ("accumulate of a scalar", |world, value| {
            let mut scalar = GScalar::new(world, 0, value.clone())?;
            let mut scope = scalar.accumulate(Newest)?;
            scope.update(value);
            scope.finish()?;
            scalar.get().map(drop)
        }),
        ("offers of a scalar", |world, value| {
            let scalar = GScalar::new(world, 0, value.clone())?;
            let scope = scalar.read_mostly_with(Newest)?;
            for _ in 0..4 {
                scope.offer(value.clone())?;
            }
            scope.finish()?;
            scalar.get().map(drop)
        }),
        ("swap in a ReadMostly", |world, value| {
            let scalar = GScalar::new(world, 0, value.clone())?;
            let scope = scalar.read_mostly()?;
            scope.swap(value).map(drop)
        }),
    ];
    on_every_route([1, 2, 3], |job| {
        for (action, next_use) in uses {
            let outcomes = job.run_freely(|world| next_use(world, value.clone()));
            if job.ranks == 1 && outcomes.run.is_ok() {
                // A single rank sends nothing in `broadcast`, for example.
                continue;
            }
            let words = [name, "`Deserialize`", "`Serialize`"];
            let text = outcomes.run_text();
            assert!(words.iter().all(|word| text.contains(word)), "{action}: {text}");
            assert!(!text.contains("same build"), "{action}: {text}");
        }
    });
}

#[test]
fn a_type_that_writes_more_than_it_reads_is_named() {
    is_named("Longer", Longer(1));
}

#[test]
fn a_type_that_reads_more_than_it_writes_is_named() {
    is_named("Shorter", Shorter(1));
}

/// A map with an entry that each rank owns and has inserted, and the entry's key. Own writes are not encoded.
fn own_entry(world: &World) -> Result<(GMap<u64, Longer>, u64)> {
    let mut map = GMap::<u64, Longer>::new(world)?;
    let own = (0..).find(|key| map.owner(key) == world.rank()).expect("every rank owns keys");
    let mut scope = map.release_c()?;
    scope.insert(own, Longer(1))?;
    scope.finish()?;
    Ok((map, own))
}

#[test]
fn a_value_of_which_a_part_is_not_read() {
    type Use = fn(&World) -> Result<()>;
    let uses: [(&str, Use); 6] = [
        ("insert", |world| GMap::<u64, Longer>::new(world)?.insert(1, Longer(1)).map(drop)),
        ("get", |world| own_entry(world).and_then(|(map, own)| map.get(&own).map(drop))),
        ("gather_to", |world| own_entry(world)?.0.gather_to(0).map(drop)),
        ("get of a scalar", |world| GScalar::new(world, 0, Longer(1))?.get().map(drop)),
        ("broadcast", |world| world.broadcast(Rank::new(world.size() - 1), Longer(1)).map(drop)),
        ("all_gather", |world| world.all_gather(Longer(1)).map(drop)),
    ];
    for (name, next_use) in uses {
        let outcomes = every_route([1, 2, 3]).run_freely(|world| {
            let outcome = next_use(world);
            let is_giver = world.rank().index() + 1 == world.size();
            match outcome {
                Err(Error::Value { .. }) => {}
                Ok(()) if name == "broadcast" && is_giver || name == "all_gather" && world.size() == 1 => {}
                other => panic!("{name}: {other:?}"),
            }
            world.barrier()
        });
        outcomes.succeed("the ranks go on");
    }
}
