//! A rank's own elements of a part, and requests for the other part meanwhile.

use super::ranges;
use aurora_core::{Error, GScalar, GVector, GlobalRead, GlobalWrite, Result, World, distmemcpy};
use aurora_suite::check;
use std::time::Duration;

pub fn my_part_of_a_part(world: &World) -> Result<()> {
    for len in [1, world.size() + 1, 501] {
        let mut v = GVector::<u32>::from_fn(world, len, |i| i as u32)?;
        let mine = v.local_range();
        for range in ranges(len) {
            let want = mine.start.max(range.start)..mine.end.min(range.end);
            let own = v.slice(range.clone()).owner_computes()?;
            assert_eq!(own.indices().len(), want.len());
            check::same(own.local(), want.start, |i| i as u32)?;
            for i in own.indices() {
                assert_eq!((own[i], own.at(i)?), (i as u32, i as u32));
            }
            drop(own);
            let mut own = v.slice_mut(range).owner_computes_mut()?;
            for i in own.indices() {
                own[i] += 1;
                own.put(i, i as u32 + 5)?;
            }
            own.finish()?;
            check::same(v.owner_computes()?.local(), mine.start, |i| {
                if want.contains(&i) { i as u32 + 5 } else { i as u32 }
            })?;
            v.slice_mut(want.start.min(want.end)..want.end)
                .owner_computes_mut()?
                .local_mut()
                .iter_mut()
                .for_each(|x| *x -= 5);
            world.barrier()?;
            check::whole(&v, |i| i as u32)?;
            world.barrier()?;
        }
    }
    Ok(())
}

pub fn both_parts_at_once(world: &World) -> Result<()> {
    let (len, me) = (30 * world.size() + 2, world.rank().index());
    let mut v = GVector::<i64>::new(world, len)?;
    for at in [0, 1, len / 2, len - 1, len] {
        let mine = v.local_range();
        let middle = (mine.start + mine.end) / 2;
        for at in [at, middle] {
            // Each rank may split at another place: nothing here is collective.
            let (mut left, mut right) = v.split_at_mut(at);
            let (mut one, mut other) =
                (left.slice_mut(..).owner_computes_mut()?, right.slice_mut(..).owner_computes_mut()?);
            let (a, b) = (one.local_mut(), other.local_mut());
            assert_eq!(a.len() + b.len(), mine.len());
            std::thread::scope(|scope| {
                scope.spawn(|| a.fill(me as i64));
                b.fill(-(me as i64));
            });
            if at % 2 == 0 {
                drop((one, other))
            } else {
                drop((other, one))
            }
            let seen = v.owner_computes()?;
            check::same(seen.local(), mine.start, |i| if i < at { me as i64 } else { -(me as i64) })?;
        }
    }
    world.barrier()
}

/// Rank 0 holds half of its block for writing and waits. The other ranks read and write the other half meanwhile.
pub fn what_is_not_lent_is_served(world: &World) -> Result<()> {
    let len = 100 * world.size();
    let mut v = GVector::<u64>::from_fn(world, len, |i| i as u64)?;
    let done = GScalar::new(world, world.size() - 1, 0u64)?;
    if world.is_root() {
        let (mut left, _right) = v.split_at_mut(50);
        let mut own = left.slice_mut(10..).owner_computes_mut()?;
        own.local_mut().fill(0);
        let until = std::time::Instant::now() + Duration::from_secs(20);
        while done.get()? < world.size() as u64 - 1 {
            if std::time::Instant::now() > until {
                return Err(Error::user("the others wait for what is lent"));
            }
            std::thread::yield_now();
        }
        own.local_mut().fill(1);
    } else {
        let at = 50 + world.rank().index();
        assert_eq!(v.at(at)?, at as u64);
        assert_eq!(v.at_many(&[at, 3, len - 1])?, [at as u64, 3, len as u64 - 1]);
        let mut some = [0; 40];
        distmemcpy(&mut some[..], v.range(60..100))?;
        check::same(&some, 60, |i| i as u64)?;
        v.put(at, 7)?;
        let mut alone = v.slice_mut(50..60).release_alone()?;
        alone.put(at, 8)?;
        alone.finish()?;
        assert_eq!(v.at(at)?, 8);
        done.fetch_add(1)?;
    }
    world.barrier()?;
    let written = 51..50 + world.size();
    check::whole(&v, |i| match i {
        10..50 => 1,
        i if written.contains(&i) => 8,
        i => i as u64,
    })
}

pub fn shared_guards_that_overlap(world: &World) -> Result<()> {
    let len = 30 * world.size();
    let v = GVector::<u64>::from_fn(world, len, |i| i as u64)?;
    let mine = v.local_range();
    let a = v.slice(..len / 2 + 5).owner_computes()?;
    check::same(a.local(), a.indices().start, |i| i as u64)?;
    let b = v.slice(mine.start + 3..).owner_computes()?;
    check::same(b.local(), mine.start + 3, |i| i as u64)?;
    let c = v.owner_computes()?;
    check::same(c.local(), mine.start, |i| i as u64)?;
    drop(a);
    check::same(v.read_cache()?.as_slice(), 0, |i| i as u64)?;
    check::same(v.slice(3..len - 3).read_cache()?.as_slice(), 3, |i| i as u64)?;
    check::same(b.local(), mine.start + 3, |i| i as u64)?;
    drop((b, c));
    check::whole(&v, |i| i as u64)
}
