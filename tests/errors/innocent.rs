//! Checking mode reports no error for correct programs.

use crate::provoke::{Job, every_route};
use aurora_core::ops::Sum;
use aurora_core::prelude::*;

#[test]
fn writes_of_each_rank_and_sums_of_all() {
    let outcomes = every_route([1, 2, 3]).with(Job::checking).run(|world| {
        let (me, size) = (world.rank().index(), world.size());
        let mut v = GVector::<u64>::new(world, 30)?;
        for round in 1..4 {
            let mut scope = v.release_c_with(Sum)?;
            for i in (0..30).filter(|i| i % size == me) {
                scope.put(i, round)?;
                // A rank's own writes are in its own order.
                scope.update(i, 1)?;
                scope.put(i, round)?;
            }
            scope.finish()?;
            let mut scope = v.release_c_with(Sum)?;
            (0..30).try_for_each(|i| scope.update(i, 1))?;
            scope.finish()?;
            assert!(v.read_cache()?.iter().all(|x| *x == round + size as u64));
            // Each rank reads its own and other elements as soon as its scope has ended.
            let mut scope = v.release_c()?;
            (0..30).filter(|i| i % size == me).try_for_each(|i| scope.put(i, round + size as u64))?;
            drop(scope);
            for i in (0..30).step_by(7) {
                assert_eq!(v.at(i)?, round + size as u64);
            }
            let mut all = v.read_cache_release_c()?;
            for i in (0..30).filter(|i| i % size == me) {
                all[i] += all[(i + 1) % 30];
            }
            all.finish()?;
            world.barrier()?;
            if me == 0 {
                let mut alone = v.release_alone()?;
                alone.put_slice(0, &[7; 30])?;
                alone.finish()?;
            }
            world.barrier()?;
            assert_eq!(v.at_many(&[0, 10, 29])?, [7; 3]);
            world.barrier()?;
        }
        Ok(())
    });
    outcomes.succeed("nothing is wrong");
}

/// Sums, streams, queues, halos.
#[test]
fn the_other_behaviours() {
    let outcomes = every_route([1, 2, 3]).with(Job::checking).run(|world| {
        let (me, size) = (world.rank().index(), world.size() as u64);
        let mut v = GVector::<u64>::new(world, 30)?;
        for round in 1..4 {
            v.fill(0)?;
            // All ranks add to all elements.
            let mut sums = v.accumulate(Sum)?;
            (0..30).try_for_each(|i| sums.update(i, round))?;
            sums.finish()?;
            let mut sums = v.accumulate_in_order(Sum)?;
            sums.update_slice(0, &[1; 30])?;
            drop(sums);
            let wanted = size * (round + 1);
            // After scopes whose ends were not awaited.
            for block in v.read_cache_blocks()?.blocks() {
                assert!(block?.1.iter().all(|x| *x == wanted));
            }
            for value in v.batched_reads()?.iter(0..30) {
                assert_eq!(value?, wanted);
            }
            // Slower ranks may still read.
            world.barrier()?;
            let mut own = v.release_c()?;
            (0..30).filter(|i| i % size as usize == me).try_for_each(|i| own.put(i, wanted + 1))?;
            drop(own);
            assert_eq!(v.owner_computes()?.local().iter().sum::<u64>(), (wanted + 1) * v.local_range().len() as u64);
            // Ranks read the values that their neighbours wrote before the exchange.
            let mut halo = v.halo_cache_mut(Halo::periodic(1))?;
            for step in 0..3 {
                halo.local_mut().fill(100 + step);
                halo.refresh()?;
                assert!([halo.before(), halo.behind()].concat().iter().all(|x| *x == 100 + step));
            }
            halo.finish()?;
            // An exchange orders neighbours; the barrier orders all ranks.
            world.barrier()?;
            let seen = v.halo_cache(2)?;
            assert!(seen.local().iter().all(|x| *x == 102));
            seen.finish()?;
            assert_eq!(v.gather_to(0)?.map_or(3060, |all| all.iter().sum()), 3060);
        }
        Ok(())
    });
    outcomes.succeed("nothing is wrong");
}

/// Different ranks use parts in different ways at once, and one rank writes alone next to elements that the other ranks
/// read.
#[test]
fn parts_side_by_side() {
    let outcomes = every_route([1, 2, 3]).with(Job::checking).run(|world| {
        let (me, size) = (world.rank().index(), world.size());
        let last = size - 1;
        let mut v = GVector::<u64>::new(world, 30)?;
        for round in 1..4 {
            let (mut left, mut right) = v.split_at_mut(15);
            let mut own = left.slice_mut(..).owner_computes_mut()?;
            let mut writes = right.slice_mut(..).release_c()?;
            own.local_mut().fill(round);
            (15..30).filter(|i| i % size == me).try_for_each(|i| writes.put(i, round))?;
            own.finish()?;
            // The scope of the right part is still open and has sent nothing.
            assert!(left.slice(..).read_cache()?.iter().all(|x| *x == round));
            writes.finish()?;
            // One rank writes alone to a part of the right; the other ranks read the rest.
            let (low, high) = right.split_at_mut(20);
            let mut alone = if me == last { Some(high.release_alone()?) } else { None };
            if let Some(alone) = &mut alone {
                (20..30).try_for_each(|i| alone.put(i, 7))?;
            }
            assert!(low.slice(..).owner_computes()?.local().iter().all(|x| *x == round));
            assert_eq!(low.slice(..).batched_reads()?.read(&[15, 19])?, [round; 2]);
            assert_eq!(left.slice(..).batched_reads()?.read(&[0, 14])?, [round; 2]);
            drop(alone);
            assert!(left.slice(..5).read_cache()?.iter().all(|x| *x == round));
            assert_eq!(v.read_cache()?[15..].iter().sum::<u64>(), 5 * round + 70);
            let mut sums = v.slice_mut(10..20).accumulate(Sum)?;
            (10..20).try_for_each(|i| sums.update(i, 1))?;
            sums.finish()?;
            assert_eq!(v.at(10)?, round + size as u64);
            world.barrier()?;
        }
        Ok(())
    });
    outcomes.succeed("nothing is wrong");
}

/// A scope of a part without elements orders the ranks as any other does.
#[test]
fn scopes_of_an_empty_part() {
    let outcomes = every_route([2, 3]).with(Job::checking_strictly).run(|world| {
        let (me, size) = (world.rank().index(), world.size());
        let mut v = GVector::<u64>::new(world, 30)?;
        let mut other = GVector::<u64>::new(world, size)?;
        for round in 1..4 {
            other.put(me, round)?;
            drop(v.slice(10..10).read_cache()?);
            assert!((0..size).map(|rank| other.at(rank)).all(|value| value.is_ok_and(|value| value == round)));
            world.barrier()?;
            other.put(me, 10 * round)?;
            v.slice_mut(10..10).release_c()?.finish()?;
            assert_eq!(other.at((me + 1) % size)?, 10 * round);
            world.barrier()?;
            other.put(me, 20 * round)?;
            v.slice_mut(10..10).accumulate(Sum)?.finish()?;
            assert_eq!(other.at((me + 1) % size)?, 20 * round);
            world.barrier()?;
        }
        Ok(())
    });
    outcomes.succeed("nothing is wrong");
}
