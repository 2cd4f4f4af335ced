//! Objects that one rank drops early, ranks that leave first, and several jobs in one process.

use aurora_core::{Config, GScalar, GVector, Result, Route, World, distmemcpy};
use aurora_suite::memory;
use aurora_suite::{Body, End, check, want};
use libtest_mimic::{Failed, Trial};
use std::thread;
use std::time::Duration;

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(dropped_early_and_still_served),
        Body::of(dropped_right_after_a_scope),
        Body::of(dropped_in_any_order),
        Body::of(nothing_piles_up),
        Body::of(the_last_rank_leaves_first).ends(End::Last),
        Body::of(rank_0_leaves_first).ends(End::Last),
    ]
}

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("threads/several_jobs_one_after_the_other", one_after_the_other),
        Trial::test("threads/several_jobs_at_once", at_once),
    ]
}

fn dropped_early_and_still_served(world: &World) -> Result<()> {
    let p = world.size();
    for early in 0..p {
        let v = GVector::from_fn(world, 9000, want)?;
        let s = GScalar::new(world, early, 5u64)?;
        if world.rank() == early {
            drop((v, s));
        } else {
            thread::sleep(Duration::from_millis(2));
            check::whole(&v, want)?;
            let mut v = v;
            let theirs = v.range_of(early).start;
            v.put(theirs, v.at(theirs)?)?;
            check::equal("scalar", s.get()?, 5)?;
        }
    }
    world.barrier()
}

/// Writes that a scope has sent are still applied, and so are the writes of other ranks' scopes.
fn dropped_right_after_a_scope(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for early in 0..p {
        let mut v = GVector::<u64>::new(world, 500 * p)?;
        let mut scope = v.release_c()?;
        if me != early {
            thread::sleep(Duration::from_millis(2));
        }
        for i in (0..500 * p).filter(|i| i % p == me) {
            scope.put(i, want(i))?;
        }
        drop(scope);
        if me != early {
            check::whole(&v, want)?;
        }
    }
    Ok(())
}

fn dropped_in_any_order(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut kept = Vec::new();
    for round in 0..30 {
        let v = GVector::from_fn(world, 10 + round, |i| want(i + round))?;
        kept.push((round, v));
        if kept.len() > 3 {
            // A different vector on each rank.
            let (_, gone) = kept.swap_remove((me + round) % 4);
            drop(gone);
        }
        for (round, v) in &kept {
            check::equal("last", v.at(v.len() - 1)?, want(v.len() - 1 + round))?;
            check::equal("first", v.at(0)?, want(*round))?;
        }
    }
    check::equal("ranks", world.size(), p)
}

/// Neither objects, nor their caches, nor the remains of scopes accumulate.
fn nothing_piles_up(world: &World) -> Result<()> {
    /// If a cache of this length were kept in each round, the test would see it.
    const LEN: usize = 4000;
    const ROUNDS: usize = 400;
    let mut lasting = GVector::<u64>::new(world, LEN)?;
    let mut round = |n: usize| -> Result<()> {
        let mut v = GVector::<u64>::new(world, LEN)?;
        v.release_c()?.put(n % LEN, n as u64)?;
        drop(v.read_cache()?);
        lasting.release_c()?.put(n % LEN, n as u64)?;
        lasting.read_cache()?.finish()
    };
    (0..20).try_for_each(&mut round)?;
    world.barrier()?;
    memory::reset();
    let before = memory::peak();
    (0..ROUNDS).try_for_each(&mut round)?;
    world.barrier()?;
    let growth = memory::peak().saturating_sub(before);
    let limit = ROUNDS * LEN * 8 / 4;
    assert!(growth < limit, "grew by {} KiB", growth / 1024);
    Ok(())
}

fn the_last_rank_leaves_first(world: &World) -> Result<()> {
    leaves(world, world.size() - 1)
}

fn rank_0_leaves_first(world: &World) -> Result<()> {
    leaves(world, 0)
}

/// A rank that has left the closure still serves its block and its scalar.
fn leaves(world: &World, first: usize) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::from_fn(world, 20_000, want)?;
    let counter = GScalar::new(world, first, 0u64)?;
    if me == first {
        return Ok(());
    }
    thread::sleep(Duration::from_millis(20));
    // No order with the other ranks' writes is possible any more: each element has its old or its new value.
    let mut all = vec![0; v.len()];
    distmemcpy(&mut all[..], v.range(..))?;
    assert!(all.iter().enumerate().all(|(i, x)| [want(i), 7].contains(x)));
    let theirs = v.range_of(first);
    for i in theirs.clone().skip(me).step_by(p).take(20) {
        v.put(i, 7)?;
        check::equal("what I put there", v.at(i)?, 7)?;
    }
    counter.fetch_add(1)?;
    while counter.get()? < p as u64 - 1 {
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn job(seed: u64) -> Result<u64> {
    let route = [Route::Local, Route::Shm, Route::Udp][seed as usize % 3];
    let ranks = 2 + seed as usize % 2;
    Config::threads(ranks).route(route).run(|world| {
        let mut v = GVector::<u64>::new(world, 100)?;
        v.owner_computes_mut()?.local_mut().fill(seed);
        let all = v.read_cache()?;
        check::same(all.as_slice(), 0, |_| seed)?;
        // The job returns the value of rank 0.
        Ok(all.iter().sum::<u64>() + world.rank().index() as u64)
    })
}

fn one_after_the_other() -> Result<(), Failed> {
    for seed in 0..10 {
        check::equal("value", job(seed)?, 100 * seed)?;
    }
    Ok(())
}

fn at_once() -> Result<(), Failed> {
    let jobs: Vec<_> = (0..4).map(|seed| (seed, thread::spawn(move || job(seed)))).collect();
    for (seed, job) in jobs {
        check::equal("value", job.join().expect("no panic")?, 100 * seed)?;
    }
    Ok(())
}
