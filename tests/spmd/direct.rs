//! Single elements that all ranks access at the same time. Where ranks share memory this sends no messages; the program
//! is legal, and has the same result, over every route.

use aurora_core::{GVector, Result, World};
use aurora_suite::{Body, Random, check};

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(what_others_put_is_never_lost),
        Body::of(what_i_put_is_in_every_copy),
        Body::of(neighbours_of_every_size),
        Body::of(wide_elements_are_whole),
        Body::of(puts_between_caches_that_stay_open),
        Body::of(a_put_is_seen_behind_the_scope_that_it_follows),
    ]
}

fn random(world: &World) -> Random {
    Random::new(0xd005 + world.rank().index() as u64)
}

/// Elements that were put directly in shared memory are in the next copy, whichever kind of copy it is.
fn what_i_put_is_in_every_copy(world: &World) -> Result<()> {
    let mut v = GVector::<u32>::new(world, 7 * world.size())?;
    let mine = v.local_range();
    for round in 1..=6 {
        mine.clone().try_for_each(|i| v.put(i, round * i as u32))?;
        let want = |i| round * i as u32;
        match round {
            1 | 4 => check::same(v.read_cache()?.as_slice(), 0, want)?,
            2 => check::same(v.read_cache_blocks()?.whole()?, 0, want)?,
            3 => check::same(v.read_cache_release_c()?.as_slice(), 0, want)?,
            5 => check::same(v.halo_cache(1)?.local(), mine.start, want)?,
            _ => check::same(v.slice(1..).read_cache()?.as_slice(), 1, want)?,
        }
        // A copy does not change; elements that are put meanwhile are in the next copy.
        let before = v.slice(..).read_cache()?;
        check::same(before.as_slice(), 0, want)?;
        drop(before);
        check::equal("an own element", v.at(mine.start)?, want(mine.start))?;
        world.barrier()?;
    }
    Ok(())
}

/// Each element has one writer, which increments it, and an owner, which writes back the found values while its block
/// is lent.
fn what_others_put_is_never_lost(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let len = 3 * p + 1;
    let mut v = GVector::<u64>::new(world, len)?;
    let mut random = random(world);
    let (mut put, mut seen) = (vec![0; len], vec![0; len]);
    for _ in 0..400 {
        let i = random.below(len);
        match random.below(10) {
            8 => {
                let mine: Vec<usize> = (0..3).map(|_| random.below(len / p) * p + me).collect();
                let writes: Vec<_> = mine.iter().map(|i| (*i, put[*i] + 1)).collect();
                v.put_many(&writes)?;
                mine.iter().for_each(|i| put[*i] = writes.iter().rfind(|(of, _)| of == i).map_or(0, |write| write.1));
                check::equal("what I have put", v.at(mine[0])?, put[mine[0]])?;
            }
            9 => {
                let some: Vec<usize> = (0..5).map(|_| random.below(len)).collect();
                for (i, now) in some.iter().zip(v.at_many(&some)?) {
                    assert!(now >= seen[*i], "element {i} was {} and is {now}", seen[*i]);
                    seen[*i] = now;
                }
            }
            0..3 => {
                let i = i - i % p + me;
                if i < len {
                    put[i] += 1;
                    v.put(i, put[i])?;
                    check::equal("what I have put", v.at(i)?, put[i])?;
                }
            }
            3..6 => {
                let now = v.at(i)?;
                assert!(now >= seen[i], "element {i} was {} and is {now}", seen[i]);
                seen[i] = now;
            }
            6 => {
                let mut scope = v.owner_computes_mut()?;
                for element in scope.local_mut() {
                    let before = *element;
                    std::hint::black_box(&before);
                    *element = before;
                }
            }
            _ => {
                let scope = v.owner_computes()?;
                let before = scope.local().to_vec();
                std::thread::yield_now();
                check::equal("my part, shown", scope.local(), &before[..])?;
            }
        }
    }
    world.barrier()?;
    for (i, put) in put.into_iter().enumerate().filter(|(i, _)| i % p == me) {
        check::equal("the last one", v.at(i)?, put)?;
    }
    world.barrier()
}

fn neighbours_of_every_size(world: &World) -> Result<()> {
    fn check_one<T: aurora_core::Element + PartialEq + std::fmt::Debug>(
        world: &World,
        value: fn(usize) -> T,
    ) -> Result<()> {
        let (p, me) = (world.size(), world.rank().index());
        let len = 16 * p + 3;
        let mut v = GVector::<T>::new(world, len)?;
        for round in 0..3 {
            for i in (me..len).step_by(p) {
                v.put(i, value(i + round))?;
            }
        }
        world.barrier()?;
        for i in 0..len {
            check::equal("element", v.at(i)?, value(i + 2))?;
        }
        world.barrier()
    }
    check_one(world, |i| i as u8)?;
    check_one(world, |i| [i as u8; 2])?;
    check_one(world, |i| [i as u8; 3])?;
    check_one(world, |i| i as f32)?;
    check_one(world, |i| [i as u16; 4])?;
    check_one(world, |i| i as f64 / 3.0)?;
    check_one(world, |i| i as u128)?;
    check_one(world, |i| [i; 40])
}

fn wide_elements_are_whole(world: &World) -> Result<()> {
    let mut v = GVector::<[u64; 6]>::new(world, 2 * world.size())?;
    let mut random = random(world);
    for _ in 0..200 {
        let i = random.below(v.len());
        if random.below(2) == 0 {
            v.put(i, [random.bits(); 6])?;
        }
        let got = v.at(i)?;
        check::equal("a whole element", got, [got[0]; 6])?;
    }
    world.barrier()
}

/// Ranks that keep a load open do not prevent other ranks from writing, and still show the loaded values.
fn puts_between_caches_that_stay_open(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let len = 5 * p;
    let (shown, mut written) = (GVector::<u32>::new(world, len)?, GVector::<u32>::new(world, len)?);
    for round in 0..12_u32 {
        let other = shown.read_cache()?;
        let value = |i: usize| round * 1000 + i as u32;
        // One rank in turn keeps its cache while the other ranks write: only their own blocks can be told apart then.
        let keeps = round as usize % p == me;
        let cache = written.read_cache()?;
        let before = cache.as_slice().to_vec();
        if keeps {
            world.barrier()?;
            check::equal("a cache that stays open", &cache[..], &before[..])?;
            drop(cache);
        } else {
            drop(cache);
            for i in (0..len).filter(|i| i % p == me) {
                written.put(i, value(i))?;
                check::equal("my own", written.at(i)?, value(i))?;
            }
            world.barrier()?;
        }
        if keeps {
            for i in (0..len).filter(|i| i % p == me) {
                written.put(i, value(i))?;
            }
        }
        drop(other);
        world.barrier()?;
        check::whole(&written, value)?;
    }
    Ok(())
}

/// An owner applies the batches of a scope later; no rank may read an element before that.
fn a_put_is_seen_behind_the_scope_that_it_follows(world: &World) -> Result<()> {
    let p = world.size();
    let len = 7 * p;
    let mut v = GVector::<u64>::new(world, len)?;
    for round in 1..20 {
        let mut scope = v.release_c_with(aurora_core::ops::Sum)?;
        for i in 0..len {
            scope.update(i, 1)?;
        }
        if world.rank().index() == round as usize % p {
            // This rank ends its scope later than the other ranks begin to read.
            std::thread::yield_now();
        }
        drop(scope);
        for i in 0..len {
            check::equal("a sum", v.at(i)?, round * p as u64)?;
        }
        world.barrier()?;
    }
    Ok(())
}
