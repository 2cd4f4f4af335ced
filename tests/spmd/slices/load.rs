//! Loading a part.

use super::ranges;
use aurora_core::{GScalar, GVector, GlobalRead, Result, World};
use aurora_suite::check;
use std::time::Duration;

pub fn a_part_is_loaded(world: &World) -> Result<()> {
    for len in [1, world.size(), 3 * world.size() + 1, 1000, 70_001] {
        let mut v = GVector::<u32>::from_fn(world, len, |i| i as u32)?;
        for range in ranges(len) {
            let part = v.slice(range.clone()).read_cache()?;
            assert_eq!((part.len(), part.window(), part.iter().count()), (len, range.clone(), range.len()));
            check::same(part.as_slice(), range.start, |i| i as u32)?;
            for i in range.clone().step_by(range.len() / 10 + 1) {
                assert_eq!((part[i], part.at(i)?), (i as u32, i as u32));
            }
            assert_eq!(part[range.clone()], part[..]);
        }
        // A later load of the whole is correct too.
        v.owner_computes_mut()?.local_mut().iter_mut().for_each(|x| *x += 1);
        check::same(v.read_cache()?.as_slice(), 0, |i| i as u32 + 1)?;
        v.slice_mut(len / 2..).owner_computes_mut()?.local_mut().fill(7);
        check::same(v.slice(..len / 2).read_cache()?.as_slice(), 0, |i| i as u32 + 1)?;
        let want = |i| if i < len / 2 { i as u32 + 1 } else { 7 };
        check::same(v.read_cache()?.as_slice(), 0, want)?;
        check::whole(&v, want)?;
        world.barrier()?;
    }
    Ok(())
}

pub fn a_loaded_part_stays_as_it_is(world: &World) -> Result<()> {
    let len = 40 * world.size();
    let mut v = GVector::<u64>::new(world, len)?;
    for round in 0..6 {
        {
            let (left, right) = (v.slice(..len / 2).read_cache()?, v.slice(len / 4..).read_cache()?);
            check::same(left.as_slice(), 0, |_| round)?;
            drop(left);
            check::same(right.as_slice(), 0, |_| round)?;
        }
        let (mut left, mut right) = v.split_at_mut(len / 2);
        let seen = left.slice(..).read_cache()?;
        let mut own = right.slice_mut(..).owner_computes_mut()?;
        own.local_mut().iter_mut().for_each(|x| *x += 1);
        check::same(seen.as_slice(), 0, |_| round)?;
        drop(own);
        check::same(seen.as_slice(), 0, |_| round)?;
        drop(seen);
        // Other ranks may still show it.
        let mut own = left.slice_mut(..).owner_computes_mut()?;
        own.local_mut().iter_mut().for_each(|x| *x += 1);
    }
    world.barrier()?;
    check::whole(&v, |_| 6)
}

pub fn writes_before_a_load_are_in_it(world: &World) -> Result<()> {
    let (len, p, me) = (60 * world.size() + 1, world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, len)?;
    for round in 1..12_u64 {
        for i in (me..len).step_by(p).filter(|i| i % 7 == 3) {
            v.put(i, round)?;
        }
        if round % 2 == 0 {
            // More such elements, which a load of another part does not cover.
            let mut alone = v.slice_mut(len / 2..).release_alone()?;
            (len / 2..len).filter(|i| i % p == me && i % 7 == 4).try_for_each(|i| alone.put(i, round))?;
        }
        if me == round as usize % p {
            std::thread::sleep(Duration::from_micros(300));
        }
        let part = v.slice(len / 4..len - 3).read_cache()?;
        check::same(part.as_slice(), len / 4, |i| match i % 7 {
            3 => round,
            4 if i >= len / 2 => round / 2 * 2,
            _ => 0,
        })?;
        drop(part);
        if round % 3 == 0 {
            check::same(&v.read_cache()?[3..4], 3, |_| round)?;
        }
    }
    Ok(())
}

pub fn a_part_is_loaded_beside_writers_of_another(world: &World) -> Result<()> {
    let len = 64 * world.size();
    let mut v = GVector::<u64>::from_fn(world, len, |i| i as u64)?;
    let (mut left, mut right) = v.split_at_mut(len / 2 + 1);
    // A part that is lent for writing while the other part is loaded.
    for round in 0..5 {
        let mut own = right.slice_mut(..).owner_computes_mut()?;
        own.local_mut().iter_mut().for_each(|x| *x += 1);
        for _ in 0..3 {
            let seen = left.slice(..).read_cache()?;
            check::same(seen.as_slice(), 0, |i| i as u64 + round)?;
        }
        own.local_mut().iter_mut().for_each(|x| *x += 1);
        drop(own);
        let mut own = left.slice_mut(..).owner_computes_mut()?;
        own.local_mut().iter_mut().for_each(|x| *x += 1);
        let seen = right.slice(..).read_cache()?;
        check::same(seen.as_slice(), len / 2 + 1, |i| i as u64 + 2 * round + 2)?;
        drop((own, seen));
    }
    world.barrier()?;
    check::whole(&v, |i| i as u64 + if i <= len / 2 { 5 } else { 10 })
}

/// A block moves in parts from a place that other ranks still show, and is joined again.
pub fn a_place_that_others_show(world: &World) -> Result<()> {
    let (p, len) = (world.size(), 64 * world.size());
    let mut v = GVector::<u64>::new(world, len)?;
    let seen = GScalar::new(world, 0, 0u64)?;
    for round in 0..6_u64 {
        let whole = v.read_cache()?;
        if world.rank() == round as usize % p {
            std::thread::sleep(Duration::from_millis(1));
        }
        check::same(whole.as_slice(), 0, |_| round)?;
        drop(whole);
        let mine = v.local_range();
        let middle = (mine.start + mine.end) / 2;
        let (mut left, mut right) = v.split_at_mut(middle);
        let mut one = left.slice_mut(..).owner_computes_mut()?;
        one.local_mut().fill(round + 1);
        let mut other = right.slice_mut(..).owner_computes_mut()?;
        other.local_mut().fill(round + 1);
        drop(one);
        check::same(left.slice(..).owner_computes()?.local(), mine.start, |_| round + 1)?;
        drop(other);
        check::same(v.owner_computes()?.local(), mine.start, |_| round + 1)?;
        let local = v.owner_computes()?;
        check::same(local.local(), mine.start, |_| round + 1)?;
        drop(local);
        seen.fetch_add(1)?;
    }
    world.barrier()?;
    assert_eq!(seen.get()?, 6 * p as u64);
    check::whole(&v, |_| 6)
}
