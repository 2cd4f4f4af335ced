//! `OwnerComputes`: the rank's own part in place.

use aurora_core::{GVector, GlobalRead, GlobalWrite, MatrixDim, Result, World};
use aurora_suite::{Body, check, mix};

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(shared_shows_my_part),
        Body::of(mutable_writes_my_part),
        Body::of(rows_by_their_global_numbers),
        Body::of(cells_by_row_and_column),
        Body::of(nothing_of_mine),
        Body::of(two_shared_at_once),
        Body::of(remote_reads_are_served_meanwhile),
        Body::of(remote_access_waits_for_a_writer),
        Body::of(an_access_outside_holds_nothing),
        Body::of(threads_share_the_slices),
        Body::of(a_rank_enters_alone),
    ]
}

fn want(i: usize) -> i64 {
    mix(i as u64) as i64
}

fn shared_shows_my_part(world: &World) -> Result<()> {
    for len in [1, 7, 10_001] {
        let v = GVector::from_fn(world, len, want)?;
        let own = v.owner_computes()?;
        assert_eq!(own.indices(), v.local_range());
        assert_eq!(own.local().len(), v.local_range().len());
        check::same(own.local(), own.indices().start, want)?;
        for i in own.indices() {
            check::equal("by index", own[i], want(i))?;
        }
        own.finish()?;
    }
    Ok(())
}

fn mutable_writes_my_part(world: &World) -> Result<()> {
    let mut v = GVector::<i64>::new(world, 5001)?;
    for round in 0..4 {
        let mut own = v.owner_computes_mut()?;
        for i in own.indices() {
            check::equal("the last round", own[i], if round > 0 { want(i + round - 1) } else { 0 })?;
            own[i] = want(i + round);
        }
        if round % 2 == 0 {
            own.finish()?;
        } else {
            drop(own);
        }
        world.barrier()?;
        check::whole(&v, |i| want(i + round))?;
        world.barrier()?;
    }
    Ok(())
}

fn rows_by_their_global_numbers(world: &World) -> Result<()> {
    let (rows, cols) = (13, 6);
    let mut v = GVector::<i64>::new(world, MatrixDim::new(rows, cols))?;
    let mut own = v.owner_computes_mut()?;
    for row in own.rows() {
        own.row_mut(row).iter_mut().enumerate().for_each(|(col, x)| *x = want(row * 100 + col));
    }
    own.finish()?;
    let all = v.read_cache()?;
    check::same(all.as_slice(), 0, |i| want(i / cols * 100 + i % cols))?;
    let own = v.owner_computes()?;
    for row in own.rows() {
        assert_eq!(own.row(row), all.row(row));
    }
    drop(own);
    // In a vector that is no matrix every element is a row.
    let plain = GVector::from_fn(world, 10, want)?;
    let own = plain.owner_computes()?;
    assert_eq!(own.rows(), plain.local_range());
    own.rows().for_each(|row| assert_eq!(own.row(row), [want(row)]));
    Ok(())
}

fn cells_by_row_and_column(world: &World) -> Result<()> {
    let dim = MatrixDim::new(9, 4);
    let mut v = GVector::<i64>::new(world, dim)?;
    let mut own = v.owner_computes_mut()?;
    for row in own.rows() {
        for col in 0..4 {
            own[(row, col)] = want(row) + col as i64;
            own[(row, col)] -= 1;
            assert_eq!(own[(row, col)], own[row * 4 + col]);
        }
    }
    drop(own);
    world.barrier()?;
    check::whole(&v, |i| want(i / 4) + (i % 4) as i64 - 1)
}

fn nothing_of_mine(world: &World) -> Result<()> {
    let mut v = GVector::<i64>::on(world, world.size() - 1, 3)?;
    let own = v.owner_computes()?;
    if world.rank().index() < world.size() - 1 {
        assert!(own.local().is_empty() && own.rows().is_empty());
    }
    drop(own);
    v.owner_computes_mut()?.local_mut().fill(4);
    check::same(v.read_cache()?.as_slice(), 0, |_| 4)?;
    let mut none = GVector::<i64>::new(world, 0)?;
    assert!(none.owner_computes_mut()?.local_mut().is_empty());
    Ok(())
}

fn two_shared_at_once(world: &World) -> Result<()> {
    let v = GVector::from_fn(world, 100, want)?;
    let (a, b) = (v.owner_computes()?, v.owner_computes()?);
    check::same(a.local(), a.indices().start, want)?;
    drop(a);
    check::same(b.local(), b.indices().start, want)?;
    check::whole(&v, want)
}

fn remote_reads_are_served_meanwhile(world: &World) -> Result<()> {
    let v = GVector::from_fn(world, 3000, want)?;
    let own = v.owner_computes()?;
    let mine = own.local();
    world.barrier()?;
    // All ranks show their blocks and read all blocks.
    check::whole(&v, want)?;
    check::equal("last", v.at(2999)?, want(2999))?;
    world.barrier()?;
    check::same(mine, own.indices().start, want)
}

/// A remote read during a writer's scope sees the block before or after the scope, nothing in between.
fn remote_access_waits_for_a_writer(world: &World) -> Result<()> {
    let p = world.size();
    let len = 300 * p;
    let mut v = GVector::<i64>::new(world, len)?;
    let mut memory = vec![0; len];
    for round in 1..8i64 {
        let mut own = v.owner_computes_mut()?;
        for (n, x) in own.local_mut().iter_mut().enumerate() {
            *x = round;
            if n == 150 {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
        drop(own);
        aurora_core::distmemcpy(&mut memory[..], v.range(..))?;
        for rank in 0..p {
            let block = &memory[v.range_of(rank)];
            assert!(block.iter().all(|x| *x == block[0]), "half of a scope of rank {rank}");
        }
    }
    Ok(())
}

fn threads_share_the_slices(world: &World) -> Result<()> {
    let mut v = GVector::<i64>::new(world, 10_000)?;
    let mut own = v.owner_computes_mut()?;
    let first = own.indices().start;
    let half = own.local().len() / 2;
    let (low, high) = own.local_mut().split_at_mut(half);
    std::thread::scope(|threads| {
        threads.spawn(|| low.iter_mut().enumerate().for_each(|(i, x)| *x = want(first + i)));
        threads.spawn(|| high.iter_mut().enumerate().for_each(|(i, x)| *x = want(first + half + i)));
    });
    own.finish()?;
    let all = v.read_cache()?;
    let slice: &[i64] = all.as_slice();
    std::thread::scope(|threads| {
        let checks = [0, 5000].map(|at| threads.spawn(move || check::same(&slice[at..at + 5000], at, want)));
        checks.into_iter().try_for_each(|check| check.join().expect("no panic"))
    })
}

fn a_rank_enters_alone(world: &World) -> Result<()> {
    let mut v = GVector::<i64>::new(world, 4 * world.size())?;
    if world.is_root() {
        // Not collective: the other ranks are already in the barrier.
        for _ in 0..3 {
            v.owner_computes_mut()?.local_mut().iter_mut().for_each(|x| *x += 1);
        }
        check::same(v.owner_computes()?.local(), 0, |_| 3)?;
    }
    world.barrier()?;
    let roots = v.range_of(0);
    check::whole(&v, |i| if roots.contains(&i) { 3 } else { 0 })
}

/// Each rank keeps a guard over a barrier. Other ranks use its part meanwhile, because it has used none of its own.
fn an_access_outside_holds_nothing(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::from_fn(world, 10 * p, want)?;
    for keeper in 0..p {
        let outside = (10 * (me + 1)..10 * p).chain(0..10 * me).next().unwrap_or(10 * p);
        let mut own = v.owner_computes_mut()?;
        assert!(own.get(outside).is_none() && own.at(outside).is_err() && own.put(outside, 1).is_err());
        if me == keeper {
            world.barrier()?;
            drop(own);
        } else {
            drop(own);
            assert_eq!(v.at(10 * keeper)?, want(10 * keeper));
            world.barrier()?;
        }
        world.barrier()?;
        let own = v.owner_computes()?;
        assert!(own.get(outside).is_none() && own.at(outside).is_err());
        if me == keeper {
            world.barrier()?;
            drop(own);
        } else {
            drop(own);
            v.put(10 * keeper + me % 10, want(10 * keeper + me % 10))?;
            world.barrier()?;
        }
        world.barrier()?;
    }
    check::whole(&v, want)
}
