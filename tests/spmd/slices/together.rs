//! Scopes of several parts at the same time.

use aurora_core::ops::Sum;
use aurora_core::{GVector, ReleaseC, Result, SliceMut, World};
use aurora_suite::check;

pub fn two_collective_scopes_at_once(world: &World) -> Result<()> {
    let (p, me, len) = (world.size(), world.rank().index(), 50 * world.size() + 3);
    let mut v = GVector::<u64>::new(world, len)?;
    for round in 0..10_u64 {
        let (mut left, mut right) = v.split_at_mut(len / 2);
        let mut puts = left.slice_mut(..).release_c()?;
        let mut sums = right.slice_mut(..).release_c_with(Sum)?;
        for i in (me..len).step_by(p) {
            if i < len / 2 { puts.put(i, round)? } else { sums.update(i, 1)? }
        }
        match round % 4 {
            0 => puts.finish().and(sums.finish())?,
            1 => sums.finish().and(puts.finish())?,
            2 => drop((puts, sums)),
            _ => drop((sums, puts)),
        }
        check::same(v.read_cache()?.as_slice(), 0, |i| if i < len / 2 { round } else { round + 1 })?;
        // A load of one part, with the last scope's writes, while a scope of the other part is open.
        let (mut left, mut right) = v.split_at_mut(len / 2);
        let mut puts = right.slice_mut(..).release_c()?;
        check::same(left.slice(..).read_cache()?.as_slice(), 0, |_| round)?;
        (len / 2..len).filter(|i| i % p == me).try_for_each(|i| puts.put(i, round + 1))?;
        let mut more = left.slice_mut(1..).release_c()?;
        (1..len / 2).filter(|i| i % p == me).try_for_each(|i| more.put(i, round))?;
        more.finish()?;
        check::same(left.slice(..).read_cache()?.as_slice(), 0, |_| round)?;
        puts.finish()?;
    }
    Ok(())
}

/// More scopes than a rank may be ahead: one stays open, the others follow each other.
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
            check::same(
                rest.slice(len / 4..).read_cache()?.as_slice(),
                len / 4,
                |i| if i < len / 2 { 0 } else { round },
            )?;
        }
    }
    drop(outer);
    check::same(v.read_cache()?.as_slice(), 0, |i| if i < len / 4 || i >= len / 2 { 20 } else { 0 })
}

/// One rank ends eight of many scopes before the other ranks have ended any, and all ranks hold some around a load; or
/// each rank ends the scopes that its neighbours hold.
pub fn scopes_of_many_parts_end_at_any_time(world: &World) -> Result<()> {
    const PARTS: usize = 16;
    let (p, me, n) = (world.size(), world.rank().index(), 7 * world.size());
    let mut v = GVector::<u32>::new(world, (PARTS + 2) * n)?;
    fn writes<'v>(part: SliceMut<'v, u32>, (p, me): (usize, usize), value: u32) -> Result<ReleaseC<'v, u32>> {
        let range = part.range();
        let mut scope = part.release_c()?;
        range.filter(|i| i % p == me).try_for_each(|i| scope.put(i, value))?;
        Ok(scope)
    }
    for round in 1..=2 * p as u32 {
        let (one, early) = ((round as usize).is_multiple_of(2), round as usize / 2 % p);
        macro_rules! cut {
            ($from:ident;) => {};
            ($from:ident; $part:ident $rest:ident $($more:ident)*) => {
                let at = $from.range().start + n;
                let ($part, mut $rest) = $from.split_at_mut(at);
                cut!($rest; $($more)*);
            };
        }
        let mut all = v.slice_mut(..);
        cut!(all; a ra b rb c rc d rd e re f rf g rg h rh i ri j rj k rk l rl m rm o ro q rq r rr s rs);
        let mut scopes = Vec::new();
        for part in [a, b, c, d, e, f, g, h, i, j, k, l, m, o, q, r] {
            scopes.push(writes(part, (p, me), round)?);
        }
        let mut ended: Vec<_> = if me % 2 == 0 { scopes.drain(..8).collect() } else { scopes.split_off(8) };
        if one && me != early {
            scopes.append(&mut ended);
        }
        drop(ended);
        // The rank that has ended eight scopes is still not too far ahead.
        let beside = writes(s, (p, me), round)?;
        check::same(rs.slice_mut(..).read_cache()?.as_slice(), (PARTS + 1) * n, |_| 0)?;
        drop((scopes, beside));
        check::same(v.read_cache()?.as_slice(), 0, |i| if i < (PARTS + 1) * n { round } else { 0 })?;
    }
    Ok(())
}

/// All parts of an empty vector are empty, and do not conflict.
pub fn both_parts_of_an_empty_vector(world: &World) -> Result<()> {
    let mut v = GVector::<u64>::new(world, 0)?;
    let (mut left, mut right) = v.split_at_mut(0);
    {
        let both = (left.slice_mut(..).release_c()?, right.slice_mut(..).release_c_with(Sum)?);
        drop(both);
        let both = (left.slice_mut(..).owner_computes_mut()?, right.slice_mut(..).owner_computes_mut()?);
        check::same(both.0.local(), 0, |_| 0)?;
        drop(both);
        let both = (left.slice_mut(..).release_alone()?, right.slice(..).read_cache()?);
        check::same(both.1.as_slice(), 0, |_| 0)?;
        drop(both);
        let both = (left.slice_mut(..).read_cache_release_c()?, right.slice_mut(..).accumulate(Sum)?);
        check::same(both.0.as_slice(), 0, |_| 0)?;
    }
    check::same(v.slice(..).read_cache()?.as_slice(), 0, |_| 0)?;
    check::same(v.read_cache()?.as_slice(), 0, |_| 0)?;
    v.slice_mut(..).release_c()?.finish()?;
    world.barrier()
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
        // The single rank's scope ends before the collective scope around it.
        alone.finish()?;
        all.finish()?;
        check::same(v.read_cache()?.as_slice(), 0, |_| round)?;
        // It also stays open around a load of the other part.
        let (mut left, mut right) = v.split_at_mut(len / 2);
        let mut alone = right.slice_mut(..).release_alone_with(Sum)?;
        (len / 2..len).filter(|i| i % p == me).try_for_each(|i| alone.update(i, 1))?;
        check::same(left.slice(..).read_cache()?.as_slice(), 0, |_| round)?;
        (len / 2..len).filter(|i| i % p == me).try_for_each(|i| alone.update(i, 1))?;
        left.slice_mut(..).owner_computes_mut()?.local_mut().reverse();
        alone.finish()?;
        check::same(v.read_cache()?.as_slice(), 0, |i| if i < len / 2 { round } else { round + 2 })?;
    }
    Ok(())
}

/// Rank 0 holds the right part of its block, and loads the left part. Rank 1 has sent writes to the right part, and
/// also loads the left part.
pub fn a_load_does_not_wait_for_writes_to_another_part(world: &World) -> Result<()> {
    let (block, me) = (20_000, world.rank().index());
    let mut v = GVector::<u64>::new(world, block * world.size())?;
    let (left, mut right) = v.split_at_mut(block / 2);
    if me == 0 {
        let mut own = right.slice_mut(..).owner_computes_mut()?;
        own.local_mut().fill(1);
        world.barrier()?;
        check::same(left.slice(..).read_cache()?.as_slice(), 0, |_| 0)?;
        check::same(own.local(), block / 2, |_| 1)?;
    } else {
        world.barrier()?;
        let mut alone = right.slice_mut(..).release_alone()?;
        if me == 1 {
            // More than one batch, less than two.
            (block / 2..block / 2 + 7000).try_for_each(|i| alone.put(i, if i % 2 == 0 { 7 } else { 8 }))?;
            (block / 2..block / 2 + 10).rev().try_for_each(|i| alone.put(i, 9))?;
        }
        check::same(left.slice(..).read_cache()?.as_slice(), 0, |_| 0)?;
        alone.finish()?;
    }
    world.barrier()?;
    check::same(v.slice(..block).read_cache()?.as_slice(), 0, |i| match i - block / 2 * usize::from(i >= block / 2) {
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
