//! Forgotten guards: the next use that depends on one finds it, and every waiting rank gets the error.

use crate::provoke::{Order, every_route, on_every_route};
use aurora_core::prelude::*;
use std::mem::forget;

/// The rank that forgets its guard.
const CULPRIT: usize = 1;

/// All ranks get the error about the guard that `forget_one` forgets, after `next_use`.
fn all_hear(
    behaviour: &str,
    line: &str,
    forget_one: fn(&mut GVector<i32>) -> Result<()>,
    next_use: fn(&World, &mut GVector<i32>) -> Result<()>,
) {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        if world.rank() == CULPRIT {
            forget_one(&mut v)?;
        }
        // The guard has been forgotten before this barrier.
        world.barrier()?;
        next_use(world, &mut v)
    });
    let words = format!("rank 1 has not closed the {behaviour} of the GVector<i32> of 10 elements");
    outcomes.all_say(&[&words]).all_cite(&[line]);
}

fn forget_mut(v: &mut GVector<i32>) -> Result<()> {
    let mut own = v.owner_computes_mut()?;
    own.local_mut()[0] = 7;
    forget(own);
    Ok(())
}

fn forget_shared(v: &mut GVector<i32>) -> Result<()> {
    let seen = v.owner_computes()?;
    assert_eq!(seen.local()[0], 0);
    forget(seen);
    Ok(())
}

fn forget_release(v: &mut GVector<i32>) -> Result<()> {
    let mut buffered = v.release_c()?;
    buffered.put(0, 7)?;
    forget(buffered);
    Ok(())
}

#[test]
fn a_write_guard_at_the_next_use() {
    let line = "v.owner_computes_mut()";
    all_hear("OwnerComputes", line, forget_mut, |_, v| v.read_cache().map(drop));
    all_hear("OwnerComputes", line, forget_mut, |_, v| {
        // The other ranks find the error because they wait for the culprit's part.
        v.at(v.range_of(CULPRIT).start).map(drop)
    });
    all_hear("OwnerComputes", line, forget_mut, |_, v| v.at_many(&[0, 4, 9]).map(drop));
    all_hear("OwnerComputes", line, forget_mut, |world, v| {
        if world.rank() == CULPRIT {
            // The element belongs to another rank, and the owner does not know the guard yet.
            return v.at_many(&[0]).map(drop);
        }
        v.read_cache().map(drop)
    });
}

#[test]
fn a_write_guard_by_those_who_wait_for_the_block() {
    all_hear("OwnerComputes", "v.owner_computes_mut()", forget_mut, |world, v| {
        if world.rank() != CULPRIT {
            v.at(v.range_of(CULPRIT).start)?;
        }
        world.barrier()
    });
}

#[test]
fn a_write_guard_at_the_next_gather_and_fill() {
    let line = "v.owner_computes_mut()";
    all_hear("OwnerComputes", line, forget_mut, |_, v| v.gather_to(0).map(drop));
    all_hear("OwnerComputes", line, forget_mut, |_, v| v.gather_to(1).map(drop));
    all_hear("OwnerComputes", line, forget_mut, |_, v| v.fill(1));
}

#[test]
fn a_shared_guard_at_the_next_use_for_writing() {
    all_hear("OwnerComputes", "v.owner_computes()", forget_shared, |world, v| {
        // Reading works as if the guard were open.
        assert_eq!(v.at(9)?, 0);
        if world.rank() == CULPRIT {
            return v.put(0, 1);
        }
        v.read_cache().map(drop)
    });
    all_hear("OwnerComputes", "v.owner_computes()", forget_shared, |_, v| v.fill(1));
    all_hear("OwnerComputes", "v.owner_computes()", forget_shared, |_, v| v.release_cache());
}

#[test]
fn a_shared_guard_by_those_who_wait_to_write() {
    all_hear("OwnerComputes", "v.owner_computes()", forget_shared, |world, v| {
        if world.rank() != CULPRIT {
            v.put(v.range_of(CULPRIT).start, 1)?;
        }
        world.barrier()
    });
}

#[test]
fn a_read_cache() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<i32>::from_fn(world, 10, |i| i as i32)?;
        let cache = v.read_cache()?;
        if world.rank() == CULPRIT {
            forget(cache);
        } else {
            drop(cache);
        }
        // A second ReadCache works.
        assert_eq!(v.read_cache()?.iter().sum::<i32>(), 45);
        world.barrier()?;
        v.fill(7)
    });
    outcomes
        .all_say(&["rank 1 has not closed the ReadCache of the GVector<i32> of 10 elements"])
        .all_cite(&["let cache = v.read_cache()"]);
}

#[test]
fn a_release_at_the_next_use() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        if world.rank() == CULPRIT {
            forget_release(&mut v)?;
        } else {
            v.release_c()?.put(1, 1)?;
        }
        v.read_cache().map(drop)
    });
    outcomes.all_say(&["rank 1 has not closed the ReleaseC"]).all_cite(&["let mut buffered"]);
}

#[test]
fn a_release_at_the_next_barrier() {
    let outcomes = every_route([2, 3, 4]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        if world.rank() == CULPRIT {
            forget_release(&mut v)?;
        } else {
            v.release_c()?.put(1, 1)?;
        }
        world.barrier()
    });
    outcomes.all_say(&["rank 1 has not closed the ReleaseC"]).all_cite(&["let mut buffered"]);
}

#[test]
fn a_release_on_a_rank_that_never_touches_the_vector_again() {
    let other = every_route([2, 3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let w = GVector::<i32>::new(world, 10)?;
        if world.rank() == CULPRIT {
            forget_release(&mut v)?;
            w.read_cache().map(drop)
        } else {
            v.release_c()?.finish()?;
            v.read_cache().map(drop)
        }
    });
    other.all_say(&["rank 1 has not closed the ReleaseC"]).all_cite(&["let mut buffered"]);
    let leaving = every_route([2, 3]).run_freely(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        if world.rank() == CULPRIT { forget_release(&mut v) } else { v.release_c()?.finish() }
    });
    // The culprit's body returns no error; the end of the job reports the guard.
    leaving.run_says(&["rank 1 has not closed the ReleaseC"]);
    leaving.others_say(CULPRIT, &["rank 1 has not closed the ReleaseC"]);
}

#[test]
fn what_a_leaked_guard_shows_stays_as_it_is() {
    // No rank can write to the vector any more, so that borrows of it stay valid.
    on_every_route([2, 3], |job| {
        let order = Order::new();
        let outcomes = job.run_freely(|world| {
            let v: &'static GVector<u64> = Box::leak(Box::new(GVector::from_fn(world, 10, |i| i as u64)?));
            let cache: &'static ReadCache<'static, u64> = Box::leak(Box::new(v.read_cache()?));
            let own: &'static OwnerComputes<'static, u64> = Box::leak(Box::new(v.owner_computes()?));
            let (whole, part): (&'static [u64], &'static [u64]) = (cache.as_slice(), own.local());
            for _ in 0..3 {
                v.read_cache()?.finish()?;
            }
            assert!(whole.iter().copied().eq(0..10));
            assert!(part.iter().map(|x| *x as usize).eq(own.indices()));
            order.advance();
            order.wait_for(job.ranks);
            Ok(())
        });
        assert!(outcomes.run.is_err());
    });
}

#[test]
fn later_loads_do_not_land_in_what_a_leaked_cache_shows() {
    // The culprit keeps its first cache for ever; the other ranks continue to write.
    let outcomes = every_route([2, 3]).run_freely(|world| {
        let mut v = GVector::<u64>::from_fn(world, 3000, |i| i as u64)?;
        if world.rank() == CULPRIT {
            let v: &'static GVector<u64> = Box::leak(Box::new(v));
            let first: &'static ReadCache<'static, u64> = Box::leak(Box::new(v.read_cache()?));
            let whole: &'static [u64] = first.as_slice();
            for round in 1..5 {
                let cache = v.read_cache()?;
                assert_eq!(cache[0], 1000 * round);
                drop(cache);
                assert!(whole.iter().copied().eq(0..3000), "round {round}");
                world.barrier()?;
            }
            return Ok(());
        }
        v.read_cache()?.finish()?;
        for round in 1..5 {
            v.owner_computes_mut()?.local_mut().fill(1000 * round);
            v.read_cache()?.finish()?;
            world.barrier()?;
        }
        Ok(())
    });
    outcomes.run_says(&["rank 1 has not closed the ReadCache"]);
}

#[test]
fn a_release_that_holds_what_others_need_does_not_hang_them() {
    // The culprit computes, and enters the barrier last.
    on_every_route([2], |job| {
        let order = Order::new();
        let outcomes = job.run(|world| {
            let mut v = GVector::<i32>::new(world, 10)?;
            if world.rank() == CULPRIT {
                forget_release(&mut v)?;
                order.wait_for(1);
                std::thread::sleep(std::time::Duration::from_millis(300));
                return world.barrier();
            }
            drop(v.release_c()?);
            order.advance();
            v.at(0).map(drop)
        });
        outcomes.all_say(&["rank 1 has not closed the ReleaseC"]);
    });
}
