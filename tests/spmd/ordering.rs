//! The order of accesses: barriers, the start of a ReadCache, the end of a scope, whichever rank is first.

use aurora_core::ops::Sum;
use aurora_core::{GScalar, GVector, Result, World, distmemcpy};
use aurora_suite::{Body, check, want};
use std::time::Duration;

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(barriers_order_puts),
        Body::of(a_write_before_a_cache_is_in_it),
        Body::of(a_write_by_a_rank_without_elements),
        Body::of(writes_to_a_block_that_is_on_its_way),
        Body::of(writes_to_a_block_that_is_always_on_its_way).from_ranks(3),
        Body::of(many_owners_written_before_a_cache).from_ranks(2),
        Body::of(many_parts_written_before_a_cache),
        Body::of(owner_and_cache_against_a_put),
        Body::of(an_access_after_a_scope_waits_for_the_slow),
        Body::of(a_put_after_a_scope_is_not_undone_by_it),
        Body::of(a_release_c_writes_behind_a_slow_owners_earlier_scope),
        Body::of(scopes_of_many_kinds_in_a_row),
    ]
}

/// Long enough for all other ranks to be first.
const LATE: Duration = Duration::from_millis(10);

fn barriers_order_puts(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, p)?;
    for round in 1..60 {
        v.put((me + round) % p, (round * p + me) as u64)?;
        world.barrier()?;
        for i in 0..p {
            let by = (i + p - round % p) % p;
            check::equal("element", v.at(i)?, (round * p + by) as u64)?;
        }
        world.barrier()?;
    }
    Ok(())
}

/// All ways to write without a collective scope.
#[derive(Clone, Copy, Debug)]
enum Means {
    Put,
    PutMany,
    Copy,
    Alone,
    Update,
}

const MEANS: [Means; 5] = [Means::Put, Means::PutMany, Means::Copy, Means::Alone, Means::Update];

fn write(v: &mut GVector<u64>, means: Means, index: usize, old: u64, new: u64) -> Result<()> {
    match means {
        Means::Put => v.put(index, new),
        Means::PutMany => v.put_many(&[(index, old), (index, new)]),
        Means::Copy => distmemcpy(v.range_mut(index..=index), &[new][..]),
        Means::Alone => v.release_alone()?.put(index, new),
        Means::Update => v.release_alone_with(Sum)?.update(index, new.wrapping_sub(old)),
    }
}

/// `if rank == 1 { v.put(0, 7)? } let b = v.read_cache()?`: all ranks see the write, whichever rank opens the cache
/// first.
fn a_write_before_a_cache_is_in_it(world: &World) -> Result<()> {
    let p = world.size();
    let mut v = GVector::<u64>::new(world, 3 * p)?;
    late_writes(world, &mut v)
}

/// The same writes with empty blocks, of the writer and of other ranks.
fn a_write_by_a_rank_without_elements(world: &World) -> Result<()> {
    late_writes(world, &mut GVector::<u64>::new(world, 1)?)?;
    for home in 0..world.size() {
        let mut v = GVector::<u64>::on(world, home, 2)?;
        let writer = (home + 1) % world.size();
        one_late_write(world, &mut v, Means::Put, 1, writer, Some(writer), 5)?;
        one_late_write(world, &mut v, Means::Copy, 0, writer, Some(home), 6)?;
    }
    Ok(())
}

fn late_writes(world: &World, v: &mut GVector<u64>) -> Result<()> {
    let p = world.size();
    let writer = 1 % p;
    let owner = v.owner(0).index();
    let mut value = 0;
    for means in MEANS {
        // The owner opens the cache first; the writer does; no rank is late on purpose.
        for late in [Some(writer), Some(owner), None] {
            value += 7;
            one_late_write(world, v, means, 0, writer, late, value)?;
        }
    }
    Ok(())
}

fn one_late_write(
    world: &World,
    v: &mut GVector<u64>,
    means: Means,
    index: usize,
    writer: usize,
    late: Option<usize>,
    value: u64,
) -> Result<()> {
    let before: Vec<_> = v.read_cache()?.as_slice().to_vec();
    // Only the write below may make a difference.
    world.barrier()?;
    if late.is_some_and(|rank| world.rank() == rank) {
        std::thread::sleep(LATE);
    }
    if world.rank() == writer {
        write(v, means, index, before[index], value)?;
    }
    let all = v.read_cache()?;
    let want = |i: usize| if i == index { value } else { before[i] };
    check::same(all.as_slice(), 0, want)?;
    drop(all);
    // The next load, which sends nothing, also has the value.
    check::same(v.read_cache()?.as_slice(), 0, want)
}

/// A large block is being sent while the slowest rank still writes all over it.
fn writes_to_a_block_that_is_on_its_way(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let each = 40_000;
    let mut v = GVector::<u64>::new(world, each * p)?;
    for round in 1..=4 * p {
        let slow = round % p;
        v.owner_computes_mut()?.local_mut().fill(round as u64);
        world.barrier()?;
        let spots: Vec<_> = (0..each * p).step_by(997).collect();
        if me == slow {
            std::thread::sleep(Duration::from_millis(1));
            if round % 2 == 0 {
                v.put_many(&spots.iter().map(|i| (*i, want(*i))).collect::<Vec<_>>())?;
            } else {
                // More runs than an owner records separately.
                spots.iter().try_for_each(|i| v.put(*i, want(*i)))?;
            }
        }
        let all = v.read_cache()?;
        check::same(all.as_slice(), 0, |i| if i % 997 == 0 { want(i) } else { round as u64 })?;
    }
    Ok(())
}

/// Two ranks read the whole block of rank 0 again and again, so that there is always a transfer of it. Rank 0 still
/// writes to the block, in a scope and element by element. So does the last rank if it does not read.
fn writes_to_a_block_that_is_always_on_its_way(world: &World) -> Result<()> {
    const TURNS: u64 = 30;
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::on(world, 0, 1 << 17)?;
    let over = GScalar::new(world, 0, 0u64)?;
    world.barrier()?;
    if me == 0 {
        for turn in 1..=TURNS {
            // The other ranks read meanwhile.
            std::thread::sleep(Duration::from_millis(1));
            if turn % 2 == 0 {
                v.put(1, turn)?;
            }
            v.owner_computes_mut()?.local_mut()[2..].fill(turn);
        }
        over.fetch_add(1)?;
    } else if me == p - 1 && p > 3 {
        (1..=TURNS).try_for_each(|turn| v.put(0, turn))?;
        over.fetch_add(1)?;
    } else {
        let mut memory = vec![0; v.len()];
        let writers = if p > 3 { 2 } else { 1 };
        while over.get()? < writers {
            distmemcpy(&mut memory[..], v.range(..))?;
            assert!(memory[2..].iter().all(|x| *x == memory[2]), "half of a scope");
        }
    }
    world.barrier()?;
    check::equal("in scopes", v.at(v.len() - 1)?, TURNS)?;
    check::equal("by its owner", v.at(1)?, TURNS)?;
    check::equal("by another rank", v.at(0)?, if p > 3 { TURNS } else { 0 })
}

/// All ranks write to all blocks just before they open the cache, at different times.
fn many_owners_written_before_a_cache(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, p * p)?;
    for round in 0..40 {
        if round % 7 == me {
            std::thread::sleep(Duration::from_millis(1));
        }
        for owner in 0..p {
            v.put(owner * p + me, want(round * p * p + owner * p + me))?;
        }
        let all = v.read_cache()?;
        check::same(all.as_slice(), 0, |i| want(round * p * p + i))?;
    }
    Ok(())
}

/// Parts of every length, all over the vector. No load covers exactly one of them.
fn many_parts_written_before_a_cache(world: &World) -> Result<()> {
    const EACH: usize = 60;
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, EACH * p)?;
    for round in 1..6 {
        if me == round % p {
            std::thread::sleep(LATE);
        }
        for i in (me..EACH * p).step_by(p) {
            let end = (i + 1 + i % 7).min(EACH * p);
            let part = v.slice_mut(i..end);
            let mut alone = part.release_alone()?;
            alone.put(i, want(i * round))?;
            alone.finish()?;
        }
        if round % 2 == 0 {
            check::same(v.slice(p..EACH * p).read_cache()?.as_slice(), p, |i| want(i * round))?;
        }
        check::same(v.read_cache()?.as_slice(), 0, |i| want(i * round))?;
    }
    Ok(())
}

/// A rank that has opened `OwnerComputes` and waits in a ReadCache still accepts writes to its block.
fn owner_and_cache_against_a_put(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut q = GVector::from_fn(world, 10 * p, want)?;
    let r = GVector::from_fn(world, 10 * p, |i| want(i + 1))?;
    for round in 1..4 {
        if me == 0 {
            let a = q.owner_computes()?;
            let b = r.read_cache()?;
            check::same(b.as_slice(), 0, |i| want(i + 1))?;
            // The other ranks wrote before they opened the ReadCache.
            check::same(&a.local()[p..], p, want)?;
            check::same(&a.local()[1..p], 1, |i| want(i + round))?;
        } else {
            std::thread::sleep(LATE);
            q.put(me, want(me + round))?;
            let b = r.read_cache()?;
            check::same(b.as_slice(), 0, |i| want(i + 1))?;
        }
        world.barrier()?;
    }
    Ok(())
}

fn an_access_after_a_scope_waits_for_the_slow(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, 2 * p)?;
    for slow in 0..p {
        if me == slow {
            std::thread::sleep(LATE);
        }
        let mut scope = v.release_c()?;
        // To itself and to the next rank.
        scope.put(2 * me, want(slow))?;
        scope.put((2 * me + 3) % (2 * p), want(slow))?;
        drop(scope);
        match slow % 3 {
            0 => check::equal("element", v.at(2 * slow)?, want(slow))?,
            1 => check::equal("element", v.at_many(&[(2 * slow + 3) % (2 * p)])?[0], want(slow))?,
            _ => check::same(v.read_cache()?.as_slice(), 0, |_| want(slow))?,
        }
        world.barrier()?;
    }
    Ok(())
}

fn a_put_after_a_scope_is_not_undone_by_it(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, p)?;
    for round in 0..3 * p {
        let (slow, fast) = (round % p, (round + 1) % p);
        let target = (round / p) % p;
        if me == slow && slow != fast {
            std::thread::sleep(LATE / 2);
        }
        let mut scope = v.release_c()?;
        scope.put(target, 1)?;
        drop(scope);
        if me == fast {
            v.put(target, 2)?;
        }
        world.barrier()?;
        check::equal("element", v.at(target)?, 2)?;
        world.barrier()?;
    }
    Ok(())
}

/// An owner still holds its part for writing when all other ranks have ended a ReleaseC that writes there. None of them
/// has waited. Their writes are applied after the owner's last write.
fn a_release_c_writes_behind_a_slow_owners_earlier_scope(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, p)?;
    for slow in 0..p {
        let gone_on = GScalar::new(world, slow, 0)?;
        if me == slow {
            let mut own = v.owner_computes_mut()?;
            let mine = own.local_mut();
            mine[0] = 1;
            while gone_on.get()? < p - 1 {
                std::thread::yield_now();
            }
            check::equal("what is lent", mine[0], 1)?;
            mine[0] = 2;
        }
        let mut scope = v.release_c()?;
        if me != slow {
            scope.put(slow, want(slow))?;
        }
        drop(scope);
        if me != slow {
            gone_on.fetch_add(1)?;
        }
        check::equal("element", v.at(slow)?, if p == 1 { 2 } else { want(slow) })?;
        world.barrier()?;
    }
    Ok(())
}

fn scopes_of_many_kinds_in_a_row(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let len = 100 * p + 3;
    let mut v = GVector::<u64>::new(world, len)?;
    for round in 0..25usize {
        let mut scope = v.release_c()?;
        for i in (0..len).filter(|i| i % p == (me + round) % p) {
            scope.put(i, want(i + round))?;
        }
        drop(scope);
        {
            let all = v.read_cache()?;
            check::same(all.as_slice(), 0, |i| want(i + round))?;
        }
        let mut scope = v.release_c_with(Sum)?;
        for i in 0..len {
            scope.update(i, 1)?;
        }
        drop(scope);
        let mut own = v.owner_computes_mut()?;
        for i in own.indices() {
            check::equal("my element", own[i], want(i + round).wrapping_add(p as u64))?;
            own[i] = round as u64;
        }
        drop(own);
        if round % 5 == 4 {
            v.fill(9)?;
            check::same(v.read_cache()?.as_slice(), 0, |_| 9)?;
        }
    }
    Ok(())
}
