//! Maps: one-sided access to keys, buffered writes, each rank's own entries, and the whole map.

use aurora_core::ops::{Max, Sum};
use aurora_core::{GMap, GScalar, Op, Result, World};
use aurora_suite::{Body, check, mix};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(one_sided_access),
        Body::of(an_empty_map),
        Body::of(a_set),
        Body::of(many_keys),
        Body::of(long_values),
        Body::of(structs),
        Body::of(words_are_counted),
        Body::of(many_updates_at_once),
        Body::of(what_is_buffered_keeps_its_order),
        Body::of(an_operation_that_combines_otherwise),
        Body::of(scope_after_scope),
        Body::of(what_follows_a_scope_contains_it),
        Body::of(remote_reads_are_served_meanwhile),
        Body::of(remote_access_waits_for_a_writer),
        Body::of(all_write_the_same_keys_at_once),
        Body::of(a_long_list_of_keys),
        Body::of(cleared_and_used_again),
        Body::of(ranks_go_on_while_others_apply),
    ]
}

fn one_sided_access(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut map = GMap::<String, u64>::new(world)?;
    for turn in 0..p {
        if me == turn {
            for key in 0..50 {
                let old = (turn > 0).then(|| (turn as u64 - 1) * 100 + key);
                check::equal("old", map.insert(format!("key {key}"), turn as u64 * 100 + key)?, old)?;
            }
            map.update("sum", Sum, 5)?;
            map.update("most", Max, turn as u64)?;
        }
        world.barrier()?;
        check::equal("get", map.get("key 7")?, Some(turn as u64 * 100 + 7))?;
        check::equal("contains", (map.contains("key 49")?, map.contains("key 50")?), (true, false))?;
        check::equal("many", map.get_many(["key 0", "none", "key 0"])?.len(), 3)?;
        world.barrier()?;
    }
    check::equal("sum", map.get("sum")?, Some(5 * p as u64))?;
    check::equal("most", map.get("most")?, Some(p as u64 - 1))?;
    check::equal("owner", map.owner("key 3"), map.owner(&String::from("key 3")))?;
    world.barrier()?;
    if me == p - 1 {
        check::equal("removed", map.remove("sum")?, Some(5 * p as u64))?;
        check::equal("removed twice", map.remove("sum")?, None)?;
    }
    check::equal("len", map.global_len()?, 51)
}

fn an_empty_map(world: &World) -> Result<()> {
    let mut map = GMap::<u32, String>::new(world)?;
    check::equal("get", map.get(&5)?, None)?;
    check::equal("many", map.get_many(&[1, 2])?, vec![None, None])?;
    check::equal("none", map.get_many::<u32>([])?, vec![])?;
    check::equal("len", (map.global_len()?, map.is_globally_empty()?), (0, true))?;
    check::equal("gather_to", map.gather_to(0)?.map(|all| all.len()), world.is_root().then_some(0))?;
    map.release_c()?.finish()?;
    drop(map.release_c()?);
    check::equal("own", map.owner_computes()?.len(), 0)?;
    check::equal("own, to change", map.owner_computes_mut()?.iter_mut().count(), 0)?;
    map.clear()?;
    check::equal("len", map.global_len()?, 0)
}

fn a_set(world: &World) -> Result<()> {
    let mut set = GMap::<(i32, bool), ()>::new(world)?;
    let mut scope = set.release_c()?;
    (0..300).try_for_each(|n| scope.insert((n % 100, n % 2 == 0), ()))?;
    scope.finish()?;
    check::equal("len", set.global_len()?, 100)?;
    check::equal("get", (set.get(&(4, true))?, set.get(&(4, false))?), (Some(()), None))?;
    // Keys and values without any bytes.
    let mut one = GMap::<(), ()>::new(world)?;
    one.insert((), ())?;
    check::equal("many", one.get_many([&(), &()])?, vec![Some(()), Some(())])?;
    check::equal("gather_to", one.gather_to(0)?, world.is_root().then(|| vec![((), ())]))
}

fn many_keys(world: &World) -> Result<()> {
    const EACH: u64 = 30_000;
    let (p, me) = (world.size() as u64, world.rank().index() as u64);
    let mut map = GMap::<u64, u64>::new(world)?;
    let mut scope = map.release_c()?;
    for n in (me * EACH..(me + 1) * EACH).map(mix) {
        scope.insert(n, n ^ 1)?;
    }
    scope.finish()?;
    check::equal("len", map.global_len()?, (p * EACH) as usize)?;
    let next = (me + 1) % p;
    let keys: Vec<_> = (next * EACH..(next + 1) * EACH).map(mix).collect();
    let values = map.get_many(&keys)?;
    check::same(&values, 0, |i| Some(keys[i] ^ 1))?;
    let own = map.owner_computes()?;
    let fair = EACH as usize;
    assert!((fair * 9 / 10..fair * 11 / 10).contains(&own.len()), "{} of {fair}", own.len());
    assert!(own.iter().all(|(key, value)| *value == key ^ 1 && map.owner(key) == world.rank()));
    drop(own);
    let all = map.gather_to(p as usize - 1)?;
    let want: HashMap<_, _> = (0..p * EACH).map(mix).map(|n| (n, n ^ 1)).collect();
    match all {
        Some(all) => check::equal("all", all.into_iter().collect::<HashMap<_, _>>() == want, true),
        None => check::equal("root", me < p - 1, true),
    }
}

/// A value of more than a MiB.
fn long_value(seed: usize) -> Vec<u64> {
    (0..150_000 + seed as u64).map(|i| mix(i + seed as u64)).collect()
}

fn long_values(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut map = GMap::<String, Vec<u64>>::new(world)?;
    map.insert(format!("of {me}"), long_value(me))?;
    let mut scope = map.release_c()?;
    for n in 0..3 {
        scope.insert(format!("{n} of {me}"), long_value(10 * n + me))?;
    }
    scope.finish()?;
    let next = (me + 1) % p;
    check::equal("inserted", map.get(&format!("of {next}"))? == Some(long_value(next)), true)?;
    let keys: Vec<_> = (0..3).map(|n| format!("{n} of {next}")).collect();
    for (n, value) in map.get_many(&keys)?.into_iter().enumerate() {
        check::equal("buffered", value == Some(long_value(10 * n + next)), true)?;
    }
    check::equal("collected", map.gather_to(0)?.map(|all| all.len()), world.is_root().then_some(4 * p))
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
enum City {
    Named(String),
    At { north: i32, east: i32 },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Visit {
    by: Vec<usize>,
    notes: BTreeMap<u8, Option<String>>,
}

struct Join;

impl Op<Visit> for Join {
    fn apply(mut current: Visit, operand: Visit) -> Visit {
        current.by.extend(operand.by);
        current.by.sort_unstable();
        current.notes.extend(operand.notes);
        current
    }
}

fn structs(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut visits = GMap::<City, Visit>::new(world)?;
    let mut scope = visits.release_c_with(Join)?;
    let cities = [City::Named("Trieste".into()), City::At { north: 48, east: 16 }];
    for city in cities.iter().chain(&cities) {
        scope.update(city, Visit { by: vec![me], notes: BTreeMap::from([(me as u8, Some("fine".into()))]) })?;
    }
    drop(scope);
    let want = Visit {
        by: (0..2 * p).map(|i| i / 2).collect(),
        notes: (0..p as u8).map(|rank| (rank, Some("fine".into()))).collect(),
    };
    check::equal("joined", visits.get_many(&cities)?, vec![Some(want.clone()), Some(want.clone())])?;
    world.barrier()?;
    // The owners know the operation now.
    visits.update(&cities[me % 2], Join, Visit { by: vec![], notes: BTreeMap::new() })?;
    check::equal("still", visits.get(&cities[0])?, Some(want))
}

fn words_are_counted(world: &World) -> Result<()> {
    let (p, me) = (world.size() as u64, world.rank().index() as u64);
    let word = |n: u64| format!("word{}", (mix(n) % 2000) * (mix(n + 1) % 2000) / 2000);
    let mut want = HashMap::<String, u64>::new();
    (0..20_000 * p).for_each(|n| *want.entry(word(n)).or_default() += 1);
    let mut counts = GMap::<String, u64>::new(world)?;
    let mut scope = counts.release_c_with(Sum)?;
    for n in me * 20_000..(me + 1) * 20_000 {
        scope.update(&*word(n), 1)?;
    }
    scope.finish()?;
    let own = counts.owner_computes()?;
    for (word, count) in own.iter() {
        check::equal(word, Some(count), want.get(word))?;
    }
    check::equal("words", counts.global_len()?, want.len())
}

/// More updates than fit into a buffer, and several of one key in a row.
fn many_updates_at_once(world: &World) -> Result<()> {
    let (p, me) = (world.size() as u64, world.rank().index() as u64);
    let numbers = || (0..60_000).map(|n| mix(n / 3 % 15_000 * (1 + n % 2)) % 20_000);
    let words: Vec<_> =
        numbers().map(|n| format!("{n:02000}")).take(3000).chain(numbers().map(|n| n.to_string())).collect();
    let mut want = HashMap::<&str, Vec<u64>>::new();
    let updates = || words.iter().enumerate().map(|(n, word)| (&**word, n as u64));
    for rank in 0..p {
        updates().for_each(|(word, n)| want.entry(word).or_default().push(n * p + rank));
    }
    let mut lists = GMap::<String, Vec<u64>>::new(world)?;
    let mut scope = lists.release_c_with(Append)?;
    scope.update_all(updates().map(|(word, n)| (word, vec![n * p + me])))?;
    scope.update_all::<str>([])?;
    scope.finish()?;
    for (word, list) in lists.owner_computes()?.iter() {
        let of = |list: &Vec<u64>, rank| list.iter().copied().filter(|n| n % p == rank).collect::<Vec<_>>();
        (0..p).try_for_each(|rank| check::equal(word, of(list, rank), of(&want[&**word], rank)))?;
    }
    check::equal("words", lists.global_len()?, want.len())
}

struct Append;

impl Op<Vec<u64>> for Append {
    fn apply(mut current: Vec<u64>, mut operand: Vec<u64>) -> Vec<u64> {
        current.append(&mut operand);
        current
    }
}

fn what_is_buffered_keeps_its_order(world: &World) -> Result<()> {
    let me = world.rank().index() as i64;
    let mut map = GMap::<i64, i64>::new(world)?;
    for round in 0..3 {
        let mut scope = map.release_c_with(Sum)?;
        for key in (0..4000).map(|key| key * 100 + me) {
            scope.update(&key, 1000)?; // replaced
            scope.insert(key, round)?;
            scope.update(&key, 10)?;
            if key % 3 == 0 {
                scope.update(&key, 10)?;
            }
        }
        drop(scope);
        for key in [me, 100 + me, 399_900 + me] {
            let want = round + if key % 3 == 0 { 20 } else { 10 };
            check::equal("in order", map.get(&key)?, Some(want))?;
        }
    }
    // Writes of different batches to one key.
    let mut scope = map.release_c_with(Sum)?;
    for round in 0..30_000 {
        scope.insert(me, round)?;
        scope.update(&me, 1)?;
        scope.insert(me + 1000 + 100 * round, round)?;
    }
    drop(scope);
    check::equal("over batches", map.get(&me)?, Some(30_000))
}

/// Subtracts the operands from the present value.
struct Less;

impl Op<i64> for Less {
    fn apply(current: i64, operand: i64) -> i64 {
        current - operand
    }

    fn combine(first: i64, second: i64) -> i64 {
        first + second
    }
}

fn an_operation_that_combines_otherwise(world: &World) -> Result<()> {
    let p = world.size() as i64;
    let mut stock = GMap::<u8, i64>::new(world)?;
    let mut scope = stock.release_c()?;
    (0..=255).try_for_each(|part| scope.insert(part, 1000))?;
    scope.finish()?;
    let mut sold = stock.release_c_with(Less)?;
    for pieces in 1..=4 {
        (0..=255).try_for_each(|part| sold.update(&part, pieces))?;
    }
    sold.finish()?;
    let own = stock.owner_computes()?;
    assert!(own.iter().all(|(_, left)| *left == 1000 - 10 * p));
    Ok(())
}

fn scope_after_scope(world: &World) -> Result<()> {
    let p = world.size() as u64;
    let mut map = GMap::<u64, u64>::new(world)?;
    for round in 1..=40 {
        let mut scope = map.release_c_with(Sum)?;
        (0..round).try_for_each(|key| scope.update(&key, 1))?;
    }
    for key in 0..40 {
        check::equal("rounds", map.get(&key)?, Some(p * (40 - key)))?;
    }
    Ok(())
}

fn what_follows_a_scope_contains_it(world: &World) -> Result<()> {
    let (p, me) = (world.size() as u64, world.rank().index() as u64);
    let mut map = GMap::<u64, u64>::new(world)?;
    let done = GScalar::new(world, 0, 0u64)?;
    for round in 0..10 {
        let mut scope = map.release_c()?;
        scope.insert(100 * round + me, round)?;
        done.fetch_add(1)?;
        drop(scope);
        check::equal("another's", map.get(&(100 * round + (me + 1) % p))?, Some(round))?;
        // All ranks incremented the counter before the end of their scopes.
        assert!(done.get()? >= p * (round + 1));
        check::equal("own", map.owner_computes()?.len() <= (p * (round + 1)) as usize, true)?;
    }
    Ok(())
}

fn remote_reads_are_served_meanwhile(world: &World) -> Result<()> {
    let mut map = GMap::<u64, u64>::new(world)?;
    let mut scope = map.release_c()?;
    (0..100).try_for_each(|n| scope.insert(n, n))?;
    scope.finish()?;
    let own = map.owner_computes()?;
    let (before, again) = (own.len(), map.owner_computes()?);
    for n in 0..100 {
        check::equal("read", map.get(&n)?, Some(n))?;
    }
    check::equal("two guards", again.len(), before)?;
    drop((own, again));
    world.barrier()
}

fn remote_access_waits_for_a_writer(world: &World) -> Result<()> {
    let me = world.rank().index();
    let mut map = GMap::<u64, u64>::new(world)?;
    let mut scope = map.release_c()?;
    (0..100).try_for_each(|n| scope.insert(n, n))?;
    scope.finish()?;
    let started = GScalar::new(world, 0, 0u32)?;
    for round in 0..5 {
        if me == round % world.size() {
            let mut own = map.owner_computes_mut()?;
            started.fetch_add(1)?;
            own.iter_mut().for_each(|(_, value)| *value += 1);
            std::thread::sleep(std::time::Duration::from_millis(5));
            own.iter_mut().for_each(|(_, value)| *value += 999);
        } else {
            while started.get()? <= round as u32 {
                std::thread::yield_now();
            }
            for (n, value) in map.get_many(&(0..100).collect::<Vec<_>>())?.into_iter().enumerate() {
                let value = value.expect("it was inserted");
                check::equal("not half changed", value % 1000, n as u64)?;
            }
        }
        world.barrier()?;
    }
    Ok(())
}

fn all_write_the_same_keys_at_once(world: &World) -> Result<()> {
    let (p, me) = (world.size() as u64, world.rank().index() as u64);
    let mut map = GMap::<u8, u64>::new(world)?;
    for round in 0..200u64 {
        let key = (mix(round) % 10) as u8;
        map.update(&key, Sum, 1)?;
        map.update(&(key + 100), Max, me * 1000 + round)?;
        let seen = map.get(&key)?.expect("it was updated");
        assert!(seen <= 200 * p);
        map.insert(200, me)?;
        assert!(map.get(&200)?.is_some_and(|rank| rank < p));
        map.remove(&(201 + me as u8))?;
    }
    world.barrier()?;
    let counts = map.get_many(&(0..10).collect::<Vec<u8>>())?;
    check::equal("updates", counts.into_iter().flatten().sum(), 200 * p)?;
    check::equal("last", map.get(&((mix(199) % 10) as u8 + 100))?, Some((p - 1) * 1000 + 199))
}

fn a_long_list_of_keys(world: &World) -> Result<()> {
    let mut map = GMap::<String, Vec<u8>>::new(world)?;
    let mut scope = map.release_c()?;
    // Two thousand values of 1 to 9 KB: more than fits into an answer.
    let value = |n: usize| vec![n as u8; 1000 + n * 4];
    for n in (world.rank().index()..2000).step_by(world.size()) {
        scope.insert(format!("a key of some length, number {n}"), value(n))?;
    }
    drop(scope);
    let keys: Vec<_> = (0..6000).map(|n| format!("a key of some length, number {}", n * 7 % 3000)).collect();
    for (n, found) in map.get_many(&keys)?.into_iter().enumerate() {
        let number = n * 7 % 3000;
        check::equal("value", found, (number < 2000).then(|| value(number)))?;
    }
    Ok(())
}

fn cleared_and_used_again(world: &World) -> Result<()> {
    let me = world.rank().index() as u32;
    let mut map = GMap::<u32, u32>::new(world)?;
    for round in 0..5 {
        map.insert(me, round)?;
        map.insert(100 * me + 7, round)?;
        map.clear()?;
        check::equal("cleared", (map.get(&me)?, map.get(&((me + 1) % 2))?), (None, None))?;
        world.barrier()?;
        map.insert(me, round)?;
        check::equal("len", map.global_len()?, world.size())?;
        map.clear()?;
    }
    check::equal("empty", map.is_globally_empty()?, true)
}

/// Long batches are applied in steps, and other requests are served between the steps.
fn ranks_go_on_while_others_apply(world: &World) -> Result<()> {
    let p = world.size() as u64;
    let mut map = GMap::<String, u64>::new(world)?;
    let counter = GScalar::new(world, 0, 0u64)?;
    let mut scope = map.release_c_with(Sum)?;
    for n in 0..40_000u64 {
        scope.update(&*format!("{n}"), n)?;
        if n % 1000 == 0 {
            counter.fetch_add(1)?;
        }
    }
    drop(scope);
    check::equal("last", map.get("39999")?, Some(39_999 * p))?;
    world.barrier()?;
    check::equal("counter", counter.get()?, 40 * p)
}
