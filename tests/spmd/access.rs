//! `GlobalRead` and `GlobalWrite`: one loop on the bare vector and under each behaviour.

use aurora_core::ops::Sum;
use aurora_core::{GVector, GlobalRead, GlobalWrite, Result, World};
use aurora_suite::{Body, check, want};
use std::ops::Range;

pub fn bodies() -> Vec<Body> {
    vec![Body::of(one_loop_reads), Body::of(one_loop_writes), Body::of(a_loop_over_a_pair)]
}

fn sum(v: &impl GlobalRead<u64>, range: Range<usize>) -> Result<u64> {
    range.map(|i| v.at(i)).try_fold(0u64, |sum, x| Ok(sum.wrapping_add(x?)))
}

fn write(v: &mut impl GlobalWrite<u64>, mut indices: impl Iterator<Item = usize>, plus: usize) -> Result<()> {
    indices.try_for_each(|i| v.put(i, want(i + plus)))
}

fn one_loop_reads(world: &World) -> Result<()> {
    let len = 200;
    let mut v = GVector::from_fn(world, len, want)?;
    let expected = |range: Range<usize>| range.map(want).fold(0, u64::wrapping_add);
    let own = v.local_range();
    assert_eq!(GlobalRead::len(&v), len);
    check::equal("bare", sum(&v, 0..len)?, expected(0..len))?;
    let cache = v.read_cache()?;
    assert_eq!(GlobalRead::len(&cache), len);
    check::equal("cached", sum(&cache, 0..len)?, expected(0..len))?;
    drop(cache);
    let part = v.owner_computes()?;
    assert_eq!((GlobalRead::len(&part), part.is_empty()), (len, false));
    check::equal("own", sum(&part, own.clone())?, expected(own.clone()))?;
    drop(part);
    check::equal("own, mutable", sum(&v.owner_computes_mut()?, own.clone())?, expected(own))
}

fn one_loop_writes(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let len = 30 * p + 1;
    let mut v = GVector::<u64>::new(world, len)?;
    let mine = || (0..len).filter(move |i| i % p == me);
    write(&mut v, mine(), 1)?;
    world.barrier()?;
    check::whole(&v, |i| want(i + 1))?;
    world.barrier()?;
    write(&mut v.release_c()?, mine(), 2)?;
    check::whole(&v, |i| want(i + 2))?;
    world.barrier()?;
    write(&mut v.release_c_with(Sum)?, mine(), 3)?;
    check::whole(&v, |i| want(i + 3))?;
    world.barrier()?;
    write(&mut v.release_alone()?, mine(), 4)?;
    world.barrier()?;
    check::whole(&v, |i| want(i + 4))?;
    world.barrier()?;
    let own = v.local_range();
    write(&mut v.owner_computes_mut()?, own, 5)?;
    world.barrier()?;
    check::whole(&v, |i| want(i + 5))
}

/// Reads one vector and writes another, in the plain form and in the fast one.
fn a_loop_over_a_pair(world: &World) -> Result<()> {
    fn shift(from: &impl GlobalRead<u64>, into: &mut impl GlobalWrite<u64>, range: Range<usize>) -> Result<()> {
        let len = from.len();
        range.into_iter().try_for_each(|i| into.put((i + 1) % len, from.at(i)?))
    }
    let len = 50;
    let from = GVector::from_fn(world, len, want)?;
    let own = from.local_range();
    let right = |i: usize| want((i + len - 1) % len);
    let mut into = GVector::<u64>::new(world, len)?;
    shift(&from, &mut into, own.clone())?;
    world.barrier()?;
    check::whole(&into, right)?;
    into.fill(0)?;
    shift(&from.owner_computes()?, &mut into.release_c()?, own.clone())?;
    check::whole(&into, right)?;
    into.fill(0)?;
    let before = own.start..own.end;
    let cache = from.read_cache()?;
    let mut mine = into.owner_computes_mut()?;
    for i in before {
        mine.put(i, cache.at((i + len - 1) % len)?)?;
    }
    mine.finish()?;
    world.barrier()?;
    check::whole(&into, right)
}
