//! `ReadCache`: the whole vector on each rank, as it was when all ranks had opened the scope.

use aurora_core::{GScalar, GVector, MatrixDim, Result, World, distmemcpy};
use aurora_suite::{Body, End, check, mix, want};
use std::time::Duration;

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(holds_everything),
        Body::of(rows_of_a_matrix),
        Body::of(stays_a_snapshot),
        Body::of(an_owner_overwrites_its_block_at_once),
        Body::of(nested_on_one_vector),
        Body::of(nested_on_two_vectors),
        Body::of(changed_by_some_only),
        Body::of(large_blocks_again_and_again),
        Body::of(some_still_show_what_others_overwrite),
        Body::of(late_writes_while_some_still_show_what_was),
        Body::of(beside_owner_computes),
        Body::of(released_and_loaded_again),
        Body::of(leaked_and_a_second_one).ends(End::Fails("has not closed the ReadCache")),
    ]
}

fn holds_everything(world: &World) -> Result<()> {
    for len in [0, 1, 2, 3, 5, 17, 1000, 100_003] {
        let v = GVector::from_fn(world, len, want)?;
        let all = v.read_cache()?;
        assert_eq!(all.len(), len);
        check::same(all.as_slice(), 0, want)?;
        all.finish()?;
    }
    Ok(())
}

fn rows_of_a_matrix(world: &World) -> Result<()> {
    let v = GVector::from_fn(world, MatrixDim::new(7, 30), want)?;
    let all = v.read_cache()?;
    for row in 0..7 {
        check::same(all.row(row), row * 30, want)?;
    }
    Ok(())
}

/// Released blocks come again from every owner, changed or not, and however late a rank is.
fn released_and_loaded_again(world: &World) -> Result<()> {
    let me = world.rank().index();
    for len in [0, 1, 7, 10_001, 400_000] {
        let mut v = GVector::from_fn(world, len, want)?;
        let mut shift = 0;
        for round in 0..5 {
            for _ in 0..1 + round % 2 {
                check::same(v.read_cache()?.as_slice(), 0, |i| want(i + shift))?;
            }
            std::thread::sleep(Duration::from_millis(if me == round % world.size() { 3 } else { 0 }));
            v.release_cache()?;
            if round == 2 {
                v.release_cache()?;
            }
            if round % 2 == 1 {
                shift += 1;
                let mut own = v.owner_computes_mut()?;
                for i in own.indices() {
                    own[i] = want(i + shift);
                }
            }
        }
    }
    Ok(())
}

/// One rank keeps its guard while the other ranks overwrite their blocks and also its block.
fn stays_a_snapshot(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::from_fn(world, 1000, want)?;
    let overwritten = GScalar::new(world, 0, 0usize)?;
    for round in 1..=2 * p {
        let watcher = round % p;
        if me == watcher {
            let all = v.read_cache()?;
            while overwritten.get()? < round * (p - 1) {
                std::thread::sleep(Duration::from_micros(200));
            }
            check::same(all.as_slice(), 0, |i| want(i + round - 1))?;
        } else {
            drop(v.read_cache()?);
            let mut own = v.owner_computes_mut()?;
            own.indices().for_each(|i| own[i] = want(i + round));
            drop(own);
            let of_watcher = v.range_of(watcher);
            if me == (watcher + 1) % p {
                let values: Vec<_> = of_watcher.clone().map(|i| want(i + round)).collect();
                distmemcpy(v.range_mut(of_watcher), &values[..])?;
            }
            overwritten.fetch_add(1)?;
        }
        if p == 1 {
            v.owner_computes_mut()?.local_mut().iter_mut().enumerate().for_each(|(i, x)| *x = want(i + round));
        }
        world.barrier()?;
        check::whole(&v, |i| want(i + round))?;
        world.barrier()?;
    }
    Ok(())
}

/// An owner ends its scope and overwrites its block while the old block is in transit to the other ranks.
fn an_owner_overwrites_its_block_at_once(world: &World) -> Result<()> {
    let p = world.size();
    let len = 50_000 * p + 7;
    let mut v = GVector::<u64>::new(world, len)?;
    for round in 0..12 {
        {
            let all = v.read_cache()?;
            if (round + world.rank().index()).is_multiple_of(3) {
                std::thread::sleep(Duration::from_millis(3));
            }
            check::same(all.as_slice(), 0, |_| round as u64)?;
        }
        let mut own = v.owner_computes_mut()?;
        own.local_mut().fill(round as u64 + 1);
    }
    Ok(())
}

fn nested_on_one_vector(world: &World) -> Result<()> {
    let v = GVector::from_fn(world, 3001, want)?;
    let outer = v.read_cache()?;
    let inner = v.read_cache()?;
    let third = v.read_cache()?;
    check::same(outer.as_slice(), 0, want)?;
    check::same(third.as_slice(), 0, want)?;
    drop(outer);
    check::same(inner.as_slice(), 0, want)?;
    let fourth = v.read_cache()?;
    drop((inner, third));
    check::same(fourth.as_slice(), 0, want)
}

fn nested_on_two_vectors(world: &World) -> Result<()> {
    let mut a = GVector::from_fn(world, 500, want)?;
    let mut b = GVector::from_fn(world, 700, |i| want(i + 1))?;
    for round in 0..4 {
        let whole_a = a.read_cache()?;
        let whole_b = b.read_cache()?;
        check::same(whole_a.as_slice(), 0, |i| want(i + 2 * round))?;
        check::same(whole_b.as_slice(), 0, |i| want(i + 2 * round + 1))?;
        // The outer scope ends first.
        drop(whole_a);
        let mut own = a.owner_computes_mut()?;
        for i in own.indices() {
            own[i] = want(i + 2 * round + 2);
        }
        drop(own);
        check::same(whole_b.as_slice(), 0, |i| want(i + 2 * round + 1))?;
        drop(whole_b);
        let mut own = b.owner_computes_mut()?;
        for i in own.indices() {
            own[i] = want(i + 2 * round + 3);
        }
    }
    Ok(())
}

/// Unchanged blocks are taken from the last load, wherever it is stored.
fn changed_by_some_only(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, 1000 * p)?;
    let mut last = vec![0u64; p];
    for round in 1..20usize {
        let changes = |rank: usize| mix((round * p + rank) as u64).is_multiple_of(2);
        if changes(me) {
            v.owner_computes_mut()?.local_mut().fill(round as u64);
        }
        for (rank, last) in last.iter_mut().enumerate().filter(|(rank, _)| changes(*rank)) {
            let _ = rank;
            *last = round as u64;
        }
        let all = v.read_cache()?;
        check::same(all.as_slice(), 0, |i| last[i / 1000])?;
        if round % 5 == 0 {
            // The next load finds this load in use and takes other memory.
            let again = v.read_cache()?;
            check::same(again.as_slice(), 0, |i| last[i / 1000])?;
        }
    }
    Ok(())
}

fn large_blocks_again_and_again(world: &World) -> Result<()> {
    let mut v = GVector::<u64>::new(world, 400_000)?;
    for round in 1..4 {
        let mut own = v.owner_computes_mut()?;
        let first = own.indices().start;
        own.local_mut().iter_mut().enumerate().for_each(|(i, x)| *x = want(first + i + round));
        drop(own);
        check::same(v.read_cache()?.as_slice(), 0, |i| want(i + round))?;
    }
    Ok(())
}

/// A new load while some ranks still show the last one, other ranks each time, and then a load without changes. Blocks
/// arrive in their places or in copies, and are copied from one to the other.
fn some_still_show_what_others_overwrite(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for each in [1, 100, 40_000] {
        let mut v = GVector::<u64>::new(world, each * p)?;
        let mut versions = vec![0u64; p];
        for round in 1..30u64 {
            let before = versions.clone();
            // One rank in four holds the last load: often no rank, often several.
            let holds = |rank: usize| mix(round * 64 + rank as u64).is_multiple_of(4);
            (0..p).filter(|rank| !holds(*rank)).for_each(|rank| versions[rank] = round);
            let first = |all: &[u64]| check::same(all, 0, |i| before[i / each]);
            let second = |all: &[u64]| check::same(all, 0, |i| versions[i / each]);
            if holds(me) {
                let held = v.read_cache()?;
                let new = v.read_cache()?;
                second(new.as_slice())?;
                first(held.as_slice())?;
                // The held load ends before or after the next load.
                let held = if round % 2 == 0 {
                    Some(held)
                } else {
                    drop(held);
                    None
                };
                second(v.read_cache()?.as_slice())?;
                held.map_or(Ok(()), |held| first(held.as_slice()))?;
            } else {
                first(v.read_cache()?.as_slice())?;
                v.owner_computes_mut()?.local_mut().fill(round);
                second(v.read_cache()?.as_slice())?;
                second(v.read_cache()?.as_slice())?;
            }
        }
    }
    Ok(())
}

/// Ranks still show the last load while one rank writes to all blocks, which may already be in transit.
fn late_writes_while_some_still_show_what_was(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for each in [2, 3000] {
        let mut v = GVector::<u64>::new(world, each * p)?;
        let mut late = 0;
        for round in 1..60u64 {
            let (writer, before) = (mix(round) as usize % p, late);
            late = round;
            let holds = |rank: usize| rank != writer && mix(round * 64 + rank as u64).is_multiple_of(3);
            let want = |i: usize, late| if i.is_multiple_of(each) { late } else { 0 };
            if holds(me) {
                let held = v.read_cache()?;
                check::same(v.read_cache()?.as_slice(), 0, |i| want(i, late))?;
                check::same(held.as_slice(), 0, |i| want(i, before))?;
            } else {
                drop(v.read_cache()?);
                if me == writer {
                    std::thread::sleep(Duration::from_micros(500));
                    (0..p).try_for_each(|rank| v.put(rank * each, round))?;
                } else if mix(round + me as u64).is_multiple_of(2) {
                    // This block is sent as it is; the other blocks have not changed so far.
                    v.put(me * each + 1, 0)?;
                }
                check::same(v.read_cache()?.as_slice(), 0, |i| want(i, late))?;
            }
        }
    }
    Ok(())
}

/// A small version of the main program: one matrix read by its owners, one cached, one written.
fn beside_owner_computes(world: &World) -> Result<()> {
    let n = 24;
    let dim = MatrixDim::new(n, n);
    let q = GVector::<u64>::from_fn(world, dim, |i| want(i) % 100)?;
    let mut r = GVector::<u64>::from_fn(world, dim, |i| want(i + 1) % 100)?;
    let mut p = GVector::<u64>::new(world, dim)?;
    let multiply = |a: &GVector<u64>, b: &GVector<u64>, c: &mut GVector<u64>| {
        let (a, b) = (a.owner_computes()?, b.read_cache()?);
        let mut c = c.owner_computes_mut()?;
        for i in a.rows() {
            for j in 0..n {
                c[(i, j)] = (0..n).map(|k| a.row(i)[k] * b.row(k)[j]).sum();
            }
        }
        c.finish()
    };
    multiply(&q, &r, &mut p)?;
    multiply(&q, &p, &mut r)?;
    let plain = |a: &[u64], b: &[u64]| -> Vec<u64> {
        let cell = |ij: usize| (0..n).map(|k| a[ij / n * n + k] * b[k * n + ij % n]).sum();
        (0..n * n).map(cell).collect()
    };
    let old: Vec<_> = (0..n * n).map(|i| want(i + 1) % 100).collect();
    let mut factor = vec![0; n * n];
    distmemcpy(&mut factor[..], q.range(..))?;
    let result = plain(&factor, &plain(&factor, &old));
    check::same(r.read_cache()?.as_slice(), 0, |i| result[i])
}

/// The second load is correct. The forgotten first guard is an error at the end.
fn leaked_and_a_second_one(world: &World) -> Result<()> {
    let v = GVector::from_fn(world, 999, want)?;
    std::mem::forget(v.read_cache()?);
    let second = v.read_cache()?;
    check::same(second.as_slice(), 0, want)?;
    drop(second);
    check::same(v.read_cache()?.as_slice(), 0, want)
}
