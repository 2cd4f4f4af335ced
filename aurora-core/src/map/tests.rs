//! Random programs of all operations, on ranks that are threads, compared with a `HashMap`. Types that fail in a scope.

use crate::ops::Sum;
use crate::prelude::*;
use proptest::prelude::*;
use serde::{Deserialize, Serialize, Serializer};
use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The calls of one rank while the other ranks wait, or of all ranks together.
#[derive(Clone, Debug)]
enum Step {
    Insert(u8, u32),
    Update(u8, u32),
    Remove(u8),
    Get(u8),
    GetMany(Vec<u8>),
    Contains(u8),
    /// By ranks: inserts of keys that only this rank inserts, and updates.
    Release(Vec<Vec<(bool, u8, u32)>>),
    Own(u32),
    Retain(u8),
    Len,
    Collect(usize),
    Clear,
}

const RANKS: usize = 3;

fn step() -> impl Strategy<Value = Step> {
    let write = (any::<bool>(), any::<u8>(), 0..1000u32);
    let writes = prop::collection::vec(prop::collection::vec(write, 0..30), RANKS);
    prop_oneof![
        (any::<u8>(), any::<u32>()).prop_map(|(key, value)| Step::Insert(key, value)),
        (any::<u8>(), any::<u32>()).prop_map(|(key, value)| Step::Update(key, value)),
        any::<u8>().prop_map(Step::Remove),
        any::<u8>().prop_map(Step::Get),
        prop::collection::vec(any::<u8>(), 0..50).prop_map(Step::GetMany),
        any::<u8>().prop_map(Step::Contains),
        writes.clone().prop_map(Step::Release),
        writes.prop_map(Step::Release),
        any::<u32>().prop_map(Step::Own),
        any::<u8>().prop_map(Step::Retain),
        Just(Step::Len),
        (0..RANKS).prop_map(Step::Collect),
        Just(Step::Clear),
    ]
}

/// A key of a type that is encoded by serde, or of a type that is not.
trait Key: crate::MapKey + Clone + std::fmt::Debug {
    fn of(number: u8) -> Self;
}

impl Key for u64 {
    fn of(number: u8) -> u64 {
        u64::from(number) << 40
    }
}

impl Key for String {
    fn of(number: u8) -> String {
        format!("key {number}")
    }
}

/// An update of a scope adds. If a rank inserts an entry in a scope, no other rank may change the entry: each rank
/// inserts keys of its own.
fn own_key(rank: usize, key: u8) -> u8 {
    (key as usize % 252 / RANKS * RANKS + rank) as u8
}

fn model<K: Key>(model: &mut HashMap<K, u32>, step: &Step) {
    match step {
        Step::Insert(key, value) => drop(model.insert(K::of(*key), *value)),
        Step::Update(key, value) => {
            let value_of = model.entry(K::of(*key));
            value_of.and_modify(|sum| *sum = sum.wrapping_add(*value)).or_insert(*value);
        }
        Step::Remove(key) => drop(model.remove(&K::of(*key))),
        Step::Release(all) => {
            for (rank, writes) in all.iter().enumerate() {
                for (insert, key, value) in writes {
                    let key = own_key(rank, *key);
                    let one = if *insert { Step::Insert(key, *value) } else { Step::Update(key, *value) };
                    self::model(model, &one);
                }
            }
        }
        Step::Own(value) => model.values_mut().for_each(|old| *old ^= value),
        Step::Retain(divisor) => model.retain(|_, value| *value % (u32::from(*divisor) + 1) == 0),
        Step::Clear => model.clear(),
        Step::Get(_) | Step::GetMany(_) | Step::Contains(_) | Step::Len | Step::Collect(_) => {}
    }
}

/// Does a step on all ranks. `turn`: the rank that does it, if one does.
fn take<K: Key>(
    world: &World,
    map: &mut GMap<K, u32>,
    model: &HashMap<K, u32>,
    step: &Step,
    turn: usize,
) -> Result<()> {
    let me = world.rank().index();
    match step {
        Step::Len => assert_eq!(map.global_len()?, model.len()),
        Step::Clear => map.clear()?,
        Step::Collect(root) => {
            let all = map.gather_to(*root)?;
            assert_eq!(all.is_some(), me == *root);
            if let Some(all) = all {
                assert_eq!(all.len(), model.len());
                assert_eq!(all.into_iter().collect::<HashMap<_, _>>(), *model);
            }
        }
        Step::Release(all) => {
            let mut scope = map.release_c_with(Sum)?;
            for writes in all[me].chunk_by(|(one, ..), (next, ..)| one == next) {
                let keys = writes.iter().map(|(_, key, _)| K::of(own_key(me, *key))).collect::<Vec<_>>();
                let mut writes = keys.iter().zip(writes).map(|(key, (is_put, _, value))| (key, *value, *is_put));
                match writes.next() {
                    Some((key, value, true)) => {
                        scope.insert(key.clone(), value)?;
                        writes.try_for_each(|(key, value, _)| scope.insert(key.clone(), value))?;
                    }
                    Some((key, value, false)) => {
                        scope.update(key, value)?;
                        scope.update_all(writes.map(|(key, value, _)| (key, value)))?;
                    }
                    None => {}
                }
            }
        }
        Step::Own(value) => map.owner_computes_mut()?.iter_mut().for_each(|(_, old)| *old ^= value),
        Step::Retain(divisor) => map.owner_computes_mut()?.retain(|_, value| *value % (u32::from(*divisor) + 1) == 0),
        _ if me != turn => {}
        Step::Insert(key, value) => assert_eq!(map.insert(K::of(*key), *value)?, model.get(&K::of(*key)).copied()),
        Step::Update(key, value) => map.update(&K::of(*key), Sum, *value)?,
        Step::Remove(key) => assert_eq!(map.remove(&K::of(*key))?, model.get(&K::of(*key)).copied()),
        Step::Get(key) => assert_eq!(map.get(&K::of(*key))?, model.get(&K::of(*key)).copied()),
        Step::Contains(key) => assert_eq!(map.contains(&K::of(*key))?, model.contains_key(&K::of(*key))),
        Step::GetMany(keys) => {
            let keys: Vec<_> = keys.iter().map(|key| K::of(*key)).collect();
            let values: Vec<_> = keys.iter().map(|key| model.get(key).copied()).collect();
            assert_eq!(map.get_many(&keys)?, values);
        }
    }
    let is_ordered = matches!(step, Step::Len | Step::Clear | Step::Collect(_) | Step::Release(_));
    if is_ordered { Ok(()) } else { world.barrier() }
}

fn play<K: Key>(steps: &[Step]) {
    let played = Config::threads(RANKS).run(|world| {
        let mut map = GMap::<K, u32>::new(world)?;
        let mut before = HashMap::new();
        for (turn, step) in steps.iter().enumerate() {
            take(world, &mut map, &before, step, turn % RANKS)?;
            model(&mut before, step);
        }
        let own = map.owner_computes()?;
        assert!(own.iter().all(|(key, value)| before.get(key) == Some(value)));
        assert_eq!(world.all_reduce(Sum, own.len())?, before.len());
        Ok(())
    });
    played.expect("no program fails");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn programs_do_what_a_hash_map_does(steps in prop::collection::vec(step(), 0..30)) {
        play::<u64>(&steps);
        play::<String>(&steps);
    }
}

thread_local! {
    /// The number of encodings on a rank.
    static ENCODED: Cell<usize> = const { Cell::new(0) };
    static PANICS: Cell<bool> = const { Cell::new(false) };
}

/// A value whose first two encodings on a rank only count its bytes. The third encoding fails.
#[derive(Deserialize)]
struct Third;

impl Serialize for Third {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        ENCODED.set(ENCODED.get() + 1);
        match ENCODED.get() {
            3 => Err(serde::ser::Error::custom("not a third time")),
            _ => serializer.serialize_unit(),
        }
    }
}

struct Touchy;

impl Op<u64> for Touchy {
    fn apply(sum: u64, operand: u64) -> u64 {
        assert!(operand > 0, "cannot compute");
        sum + operand
    }
}

fn panics<R>(action: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(action)).is_err()
}

/// A program that continues after an error of one write, or a panic, does not lose the other writes without an error.
#[test]
fn what_a_full_buffer_cannot_send_ends_the_map() {
    let lost = Config::threads(2).run(|world| {
        let mut map = GMap::<u64, Option<Third>>::new(world)?;
        let theirs = (0..).find(|key| map.owner(key) == 1).expect("every rank owns keys");
        let mut scope = map.release_c()?;
        if world.is_root() {
            scope.insert(theirs, Some(Third))?;
            let full = (theirs + 1..).find_map(|key| scope.insert(key, None).err());
            assert!(matches!(full, Some(Error::Value { .. })));
        }
        // The error of the map, or of the other rank, which has ended because of it.
        assert!(scope.finish().is_err() && map.global_len().is_err());
        Ok(())
    });
    assert!(matches!(lost, Ok(()) | Err(Error::Value { .. })), "{lost:?}");
    let poisoned = Config::threads(2).run(|world| {
        let mut map = GMap::<u64, u64>::new(world)?;
        let mut scope = map.release_c_with(Touchy)?;
        if world.is_root() {
            scope.update(&0, 1)?;
            assert!(panics(|| scope.update(&0, 0)));
            assert!((1..).any(|key| panics(|| scope.update(&key, 1))), "the buffer is sent once it is full");
        }
        assert!(scope.finish().is_err() && map.global_len().is_err());
        Ok(())
    });
    assert!(matches!(poisoned, Ok(()) | Err(Error::Poisoned { .. })), "{poisoned:?}");
}

#[derive(Deserialize)]
struct Secret;

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        assert!(!PANICS.get(), "cannot be encoded");
        serializer.serialize_unit()
    }
}

/// The detector encodes the entries of a guard that writes at its start and at its end.
#[test]
fn a_panic_of_serde_in_a_checked_guard_poisons_the_map() {
    for at_the_end in [false, true] {
        let poisoned = Config::threads(2).check(true).run(|world| {
            let mut map = GMap::<u64, Secret>::new(world)?;
            let mine = (0..).find(|key| map.owner(key) == world.rank()).expect("every rank owns keys");
            map.insert(mine, Secret)?;
            world.barrier()?;
            if world.is_root() {
                assert!(panics(|| {
                    PANICS.set(!at_the_end);
                    let own = map.owner_computes_mut();
                    PANICS.set(true);
                    drop(own);
                }));
                PANICS.set(false);
            }
            world.barrier()?;
            assert!(matches!(map.contains(&mine), Err(Error::Poisoned { .. })));
            Ok(())
        });
        poisoned.expect("all errors are returned");
    }
}
