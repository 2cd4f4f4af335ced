//! Scopes of several parts at once.

use aurora_core::{Add, GVector, Result, World};
use aurora_suite::check;

pub fn two_collective_scopes_at_once(world: &World) -> Result<()> {
    let (p, me, len) = (world.size(), world.rank().index(), 50 * world.size() + 3);
    let mut v = GVector::<u64>::new(world, len)?;
    for round in 0..10_u64 {
        let (mut left, mut right) = v.split_at_mut(len / 2);
        let mut puts = left.slice_mut(..).release_c()?;
        let mut sums = right.slice_mut(..).release_c_with::<Add>()?;
        for i in (me..len).step_by(p) {
            if i < len / 2 { puts.put(i, round)? } else { sums.update(i, 1)? }
        }
        match round % 4 {
            0 => puts.finish().and(sums.finish())?,
            1 => sums.finish().and(puts.finish())?,
            2 => drop((puts, sums)),
            _ => drop((sums, puts)),
        }
        check::same(&v.read_cache()?, 0, |i| if i < len / 2 { round } else { round + 1 })?;
        // A load of one part, with what the last scope wrote there, while a scope of the other is open.
        let (mut left, mut right) = v.split_at_mut(len / 2);
        let mut puts = right.slice_mut(..).release_c()?;
        check::same(&left.slice(..).read_cache()?, 0, |_| round)?;
        (len / 2..len).filter(|i| i % p == me).try_for_each(|i| puts.put(i, round + 1))?;
        let mut more = left.slice_mut(1..).release_c()?;
        (1..len / 2).filter(|i| i % p == me).try_for_each(|i| more.put(i, round))?;
        more.finish()?;
        check::same(&left.slice(..).read_cache()?, 0, |_| round)?;
        puts.finish()?;
    }
    Ok(())
}

/// More of them than a rank may be ahead: one open, the others one after the other.
pub fn many_scopes_around_each_other(world: &World) -> Result<()> {
    let (p, me, len) = (world.size(), world.rank().index(), 40 * world.size());
    let mut v = GVector::<u32>::new(world, len)?;
    let (mut first, mut rest) = v.split_at_mut(len / 4);
    let mut outer = first.slice_mut(..).release_c()?;
    for round in 1..=20_u32 {
        let mut inner = rest.slice_mut(len / 2..).release_c()?;
        (len / 2..len).filter(|i| i % p == me).try_for_each(|i| inner.put(i, round))?;
        drop(inner);
        (0..len / 4).filter(|i| i % p == me).try_for_each(|i| outer.put(i, round))?;
        if round % 5 == 0 {
            check::same(&rest.slice(len / 4..).read_cache()?, len / 4, |i| if i < len / 2 { 0 } else { round })?;
        }
    }
    drop(outer);
    check::same(&v.read_cache()?, 0, |i| if i < len / 4 || i >= len / 2 { 20 } else { 0 })
}

pub fn one_rank_writes_alone_beside_a_scope_of_all(world: &World) -> Result<()> {
    let (p, me, len) = (world.size(), world.rank().index(), 24_000 * world.size());
    let mut v = GVector::<u64>::new(world, len)?;
    for round in 1..4_u64 {
        let (mut left, mut right) = v.split_at_mut(len / 2);
        let mut alone = right.slice_mut(..).release_alone()?;
        let mut all = left.slice_mut(..).release_c()?;
        for i in (me..len).step_by(p) {
            if i < len / 2 { all.put(i, round)? } else { alone.put(i, round)? }
        }
        // It ends before the scope that is open around it everywhere.
        alone.finish()?;
        all.finish()?;
        check::same(&v.read_cache()?, 0, |_| round)?;
        // And it stays open around a load of the other part.
        let (mut left, mut right) = v.split_at_mut(len / 2);
        let mut alone = right.slice_mut(..).release_alone_with::<Add>()?;
        (len / 2..len).filter(|i| i % p == me).try_for_each(|i| alone.update(i, 1))?;
        check::same(&left.slice(..).read_cache()?, 0, |_| round)?;
        (len / 2..len).filter(|i| i % p == me).try_for_each(|i| alone.update(i, 1))?;
        left.slice_mut(..).owner_computes_mut()?.local_mut().reverse();
        alone.finish()?;
        check::same(&v.read_cache()?, 0, |i| if i < len / 2 { round } else { round + 2 })?;
    }
    Ok(())
}

/// Rank 0 has the right of its block in its hands, and loads the left; rank 1 has sent writes to the right, and loads it too.
pub fn a_load_does_not_wait_for_writes_to_another_part(world: &World) -> Result<()> {
    let (block, me) = (20_000, world.rank().index());
    let mut v = GVector::<u64>::new(world, block * world.size())?;
    let (left, mut right) = v.split_at_mut(block / 2);
    if me == 0 {
        let mut own = right.slice_mut(..).owner_computes_mut()?;
        own.local_mut().fill(1);
        world.barrier()?;
        check::same(&left.slice(..).read_cache()?, 0, |_| 0)?;
        check::same(own.local(), block / 2, |_| 1)?;
    } else {
        world.barrier()?;
        let mut alone = right.slice_mut(..).release_alone()?;
        if me == 1 {
            // More than one batch holds, less than two do.
            (block / 2..block / 2 + 7000).try_for_each(|i| alone.put(i, if i % 2 == 0 { 7 } else { 8 }))?;
            (block / 2..block / 2 + 10).rev().try_for_each(|i| alone.put(i, 9))?;
        }
        check::same(&left.slice(..).read_cache()?, 0, |_| 0)?;
        alone.finish()?;
    }
    world.barrier()?;
    check::same(&v.slice(..block).read_cache()?, 0, |i| match i - block / 2 * usize::from(i >= block / 2) {
        _ if i < block / 2 => 0,
        0..10 => 9,
        10..7000 => {
            if i % 2 == 0 {
                7
            } else {
                8
            }
        }
        _ => 1,
    })
}
