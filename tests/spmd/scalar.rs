//! Scalars: atomic operations at the home, and values that are encoded with serde.

use aurora_core::ops::{Min, Sum};
use aurora_core::{Atomic, GScalar, Result, World};
use aurora_suite::{Body, check};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::{Duration, Instant};

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(fetch_add_gives_every_number_once),
        Body::of(wrapping_and_signs),
        Body::of(min_and_max_of_all_ranks),
        Body::of(swap_passes_every_value_on),
        Body::of(compare_exchange_lets_one_win),
        Body::of(fetch_update_loses_nothing),
        Body::of(texts_and_structs),
        Body::of(values_grow_and_shrink),
        Body::of(many_scalars_at_once),
        Body::of(numbers_of_every_size_take_all_operations),
        Body::of(what_follows_a_scope_contains_it),
        Body::of(ranks_of_a_machine_send_nothing),
        Body::of(ranks_of_a_machine_share_tasks),
    ]
}

fn fetch_add_gives_every_number_once(world: &World) -> Result<()> {
    let p = world.size();
    for home in 0..p {
        let counter = GScalar::new(world, home, 100u64)?;
        check::equal("home", counter.home().index(), home)?;
        let mut mine: Vec<_> = (0..150).map(|_| counter.fetch_add(1)).collect::<Result<_>>()?;
        assert!(mine.is_sorted());
        world.barrier()?;
        check::equal("counter", counter.get()?, 100 + 150 * p as u64)?;
        // Every number went to exactly one rank: the sum of all ranks' numbers is correct, and no rank has a number
        // twice.
        let total = GScalar::new(world, home, 0u64)?;
        total.fetch_add(mine.iter().sum())?;
        world.barrier()?;
        let n = 150 * p as u64;
        check::equal("sum", total.get()?, 100 * n + n * (n - 1) / 2)?;
        mine.dedup();
        assert_eq!(mine.len(), 150);
    }
    Ok(())
}

fn wrapping_and_signs(world: &World) -> Result<()> {
    let home = world.size() - 1;
    let (byte, signed) = (GScalar::new(world, home, 250u8)?, GScalar::new(world, home, 5i64)?);
    let float = GScalar::new(world, home, 0.5f64)?;
    if world.is_root() {
        check::equal("old", byte.fetch_add(10)?, 250)?;
        signed.fetch_add(-8)?;
        float.fetch_add(0.25)?;
    }
    world.barrier()?;
    check::equal("byte", byte.get()?, 4)?;
    check::equal("signed", signed.get()?, -3)?;
    check::equal("float", float.get()?, 0.75)
}

fn min_and_max_of_all_ranks(world: &World) -> Result<()> {
    let (p, me) = (world.size() as i32, world.rank().index() as i32);
    for home in 0..world.size() {
        let (low, high) = (GScalar::new(world, home, 50i32)?, GScalar::new(world, home, 50i32)?);
        for step in 0..20 {
            low.fetch_min(-me - step)?;
            high.fetch_max(me * 10 + step)?;
        }
        low.fetch_min(1000)?;
        world.barrier()?;
        check::equal("min", low.get()?, -(p - 1) - 19)?;
        check::equal("max", high.get()?, 50.max((p - 1) * 10 + 19))?;
    }
    Ok(())
}

fn swap_passes_every_value_on(world: &World) -> Result<()> {
    let (p, me) = (world.size() as u64, world.rank().index() as u64);
    let (token, total) = (GScalar::new(world, 0, 0u64)?, GScalar::new(world, 0, 0u64)?);
    for step in 1..=50 {
        total.fetch_add(token.swap(me * 50 + step)?)?;
    }
    world.barrier()?;
    // Every number that was put in came out again, except the number that is still inside.
    let n = 50 * p;
    check::equal("sum", total.get()? + token.get()?, n * (n + 1) / 2)
}

fn compare_exchange_lets_one_win(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for round in 0..10u32 {
        let home = round as usize % p;
        let owner = GScalar::<Option<usize>>::new(world, home, None)?;
        let winners = GScalar::new(world, home, 0u32)?;
        match owner.compare_exchange(&None, &Some(me))? {
            Ok(old) => {
                assert_eq!(old, None);
                winners.fetch_add(1)?;
            }
            Err(current) => assert!(current.is_some_and(|rank| rank != me && rank < p)),
        }
        world.barrier()?;
        check::equal("winners", winners.get()?, 1)?;
        assert!(owner.compare_exchange(&None, &None)?.is_err());
    }
    Ok(())
}

fn fetch_update_loses_nothing(world: &World) -> Result<()> {
    let p = world.size();
    let home = p / 2;
    let number = GScalar::new(world, home, 1.0f64)?;
    let list = GScalar::new(world, home, Vec::<u32>::new())?;
    for step in 0..25 {
        number.fetch_update(|x| x + 2.0)?;
        let mine = world.rank().index() as u32 * 100 + step;
        list.fetch_update(|mut list| {
            list.push(mine);
            list
        })?;
    }
    world.barrier()?;
    check::equal("number", number.get()?, 1.0 + 50.0 * p as f64)?;
    let mut found = list.get()?;
    found.sort_unstable();
    let want: Vec<_> = (0..p as u32).flat_map(|r| (0..25).map(move |s| r * 100 + s)).collect();
    check::equal("list", found, want)
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
struct Settings {
    title: String,
    weights: BTreeMap<String, f64>,
    inner: Option<Box<Settings>>,
}

fn texts_and_structs(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for home in 0..p {
        // The home's value counts; the other ranks may pass another.
        let text = GScalar::new(world, home, format!("by {me}"))?;
        check::equal("text", text.get()?, format!("by {home}"))?;
        let settings = GScalar::new(world, home, Settings::default())?;
        world.barrier()?;
        let want = |by: usize| Settings {
            title: format!("größer als {by}"),
            weights: (0..by).map(|i| (format!("w{i}"), i as f64 / 7.0)).collect(),
            inner: Some(Box::default()),
        };
        if me == (home + 1) % p {
            settings.set(want(me))?;
            text.set(String::new())?;
        }
        world.barrier()?;
        check::equal("settings", settings.get()?, want((home + 1) % p))?;
        check::equal("text", text.get()?, String::new())?;
        check::equal("unit", GScalar::new(world, home, ())?.get()?, ())?;
    }
    Ok(())
}

fn values_grow_and_shrink(world: &World) -> Result<()> {
    let p = world.size();
    let bytes = GScalar::new(world, p - 1, Vec::<u8>::new())?;
    for len in [1, 100_000, 3, 1_000_000, 0] {
        if world.is_root() {
            bytes.set(vec![len as u8; len])?;
        }
        world.barrier()?;
        check::equal("bytes", bytes.get()?, vec![len as u8; len])?;
        world.barrier()?;
    }
    Ok(())
}

fn many_scalars_at_once(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let scalars = (0..40).map(|i| GScalar::new(world, i % p, i as u32)).collect::<Result<Vec<_>>>()?;
    for scalar in scalars.iter().cycle().skip(me * 7).take(80) {
        scalar.fetch_add(1000)?;
    }
    world.barrier()?;
    for (i, scalar) in scalars.iter().enumerate() {
        check::equal("scalar", scalar.get()?, i as u32 + 2000 * p as u32)?;
    }
    Ok(())
}

fn numbers_of_every_size_take_all_operations(world: &World) -> Result<()> {
    fn check<T: Atomic + PartialEq + Debug>(world: &World, home: usize, [one, two, many]: [T; 3]) -> Result<()> {
        let (number, turn) = (GScalar::new(world, home, one)?, GScalar::new(world, home, 0usize)?);
        for actor in 0..world.size() {
            if world.rank() == actor {
                check::equal("first", number.swap(one)?, one)?;
                check::equal("added to", number.fetch_add(one)?, one)?;
                check::equal("sum", number.fetch_max(many)?, two)?;
                check::equal("largest", number.fetch_min(two)?, many)?;
                assert_eq!(number.compare_exchange(&one, &many)?, Err(two));
                assert_eq!(number.compare_exchange(&two, &many)?, Ok(two));
                check::equal("updated", number.fetch_update(|_| one)?, many)?;
                number.set(many)?;
                check::equal("set", number.get()?, many)?;
                number.set(one)?;
                turn.set(actor + 1)?;
            }
            while turn.get()? <= actor {
                // With more ranks than cores, the rank whose turn it is may be waiting for a core.
                std::thread::yield_now();
            }
        }
        check::equal("in the end", number.get()?, one)
    }
    for home in 0..world.size() {
        check(world, home, [1u8, 2, 255])?;
        check(world, home, [1i8, 2, 127])?;
        check(world, home, [1u16, 2, 60_000])?;
        check(world, home, [1i32, 2, 70_000])?;
        check(world, home, [1.0f32, 2.0, 1e30])?;
        check(world, home, [1u64, 2, u64::MAX])?;
        check(world, home, [1i64, 2, 1 << 40])?;
        check(world, home, [1.0f64, 2.0, 1e300])?;
        check(world, home, [1u128, 2, u128::MAX])?;
    }
    Ok(())
}

/// After a collective scope a rank sees all ranks' accesses inside it, and no access after a later scope.
fn what_follows_a_scope_contains_it(world: &World) -> Result<()> {
    let p = world.size() as u64;
    for home in 0..world.size() {
        let mut sum = GScalar::new(world, home, 0u64)?;
        for round in 0..40 {
            let mut scope = sum.accumulate(Sum)?;
            scope.update(1);
            drop(scope);
            let old = sum.fetch_add(1)?;
            let least = 2 * p * round + p;
            assert!((least..least + p).contains(&old), "{old} after scope {round}, at least {least}");
        }
        // A set before a ReadMostly is visible inside it, and the offers inside are visible after it.
        for round in 1..20 {
            world.barrier()?;
            sum.set(1000)?;
            let bound = sum.read_mostly_with(Min)?;
            bound.offer(100 - round)?;
            bound.finish()?;
            let old = sum.fetch_add(0)?;
            check::equal("bound", old, 100 - round)?;
        }
    }
    Ok(())
}

/// No messages where all ranks share memory.
fn ranks_of_a_machine_send_nothing(world: &World) -> Result<()> {
    let counters = (0..world.size()).map(|home| GScalar::new(world, home, 0u32)).collect::<Result<Vec<_>>>()?;
    let sent = || world.usage().iter().filter(|line| line.site.is_some()).map(|line| line.usage.messages).sum::<u64>();
    world.barrier()?;
    let before = sent();
    for counter in &counters {
        for _ in 0..100 {
            counter.fetch_add(counter.get()? % 2)?;
            counter.fetch_max(1)?;
        }
    }
    if world.about().shared {
        check::equal("messages", sent() - before, 0)?;
    }
    world.barrier()
}

/// No rank takes nearly all of the tasks, whichever rank is the counter's home.
fn ranks_of_a_machine_share_tasks(world: &World) -> Result<()> {
    const TASKS: u32 = 20_000;
    if !world.about().shared || world.size() != 2 {
        return Ok(());
    }
    for home in 0..2 {
        // On a busy machine one rank may get no processor time for a whole round, but hardly in every round.
        let mut shares = Vec::new();
        while shares.len() < 10 {
            let next = GScalar::new(world, home, 0u32)?;
            let mut mine = 0;
            world.barrier()?;
            while next.fetch_add(1)? < TASKS {
                let task = Instant::now();
                while task.elapsed() < Duration::from_micros(10) {}
                mine += 1;
            }
            world.barrier()?;
            // The smaller share, which both ranks can compute.
            shares.push(mine.min(TASKS - mine));
            if shares.last() >= Some(&(TASKS / 20)) {
                break;
            }
        }
        assert!(shares.last() >= Some(&(TASKS / 20)), "{shares:?} of {TASKS} tasks");
    }
    Ok(())
}
