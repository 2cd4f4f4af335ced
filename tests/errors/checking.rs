//! Checking mode: two ranks that write one element in one scope; and programs in which nothing is wrong.

use crate::provoke::{Job, Told, on_every_route};
use aurora_core::prelude::*;

/// Ranks write to one vector in one scope, and use it afterwards.
fn written(job: Job, write: impl Fn(&World, &mut GVector<u64>) -> Result<()> + Sync) -> Told {
    job.checking().run(|world| {
        let mut v = GVector::<u64>::new(world, 12)?;
        let outcome = write(world, &mut v);
        // Behind it all ranks know, also those whose scopes ended before.
        world.barrier()?;
        outcome?;
        v.at(0).map(drop)
    })
}

/// All ranks hear of two writes to an element, at these lines.
fn conflict(told: &Told, index: usize, lines: &[&str]) {
    for told in &told.ranks {
        let Some(Err(Error::Conflict { index: found, .. })) = told else {
            panic!("{told:?} is no conflict");
        };
        assert_eq!(*found, index);
    }
    told.all_say(&["two ranks write element", "rank 0 ", "rank 1 ", "of the GVector<u64> of 12 elements (made at"])
        .all_cite(lines);
}

#[test]
fn two_puts() {
    on_every_route([2, 3], |job| {
        // Each of the ranks as the owner.
        for index in [0, 5, 11] {
            let told = written(job, |world, v| {
                let mut together = v.release_c()?;
                match world.rank().index() {
                    0 => together.put(index, 1)?, // the lower rank's
                    1 => together.put(index, 2)?, // the other's
                    _ => {}
                }
                together.finish()
            });
            let lines = ["let mut together = v.release_c()", "the lower rank's", "the other's"];
            conflict(&told, index, &lines);
        }
    });
}

#[test]
fn a_put_and_an_update() {
    on_every_route([2, 3], |job| {
        let told = written(job, |world, v| {
            let mut scope = v.release_c_with::<Add>()?;
            match world.rank().index() {
                0 => scope.update(7, 1)?,
                1 => scope.put(7, 2)?,
                _ => {}
            }
            scope.finish()
        });
        conflict(&told, 7, &["scope.update(7, 1)", "scope.put(7, 2)"]);
    });
}

#[test]
fn slices_that_overlap() {
    on_every_route([2, 3], |job| {
        let told = written(job, |world, v| {
            let mut scope = v.release_c()?;
            match world.rank().index() {
                0 => scope.put_slice(0, &[1; 6])?,
                1 => scope.put_slice(5, &[2; 7])?,
                _ => {}
            }
            scope.finish()
        });
        conflict(&told, 5, &["scope.put_slice(0", "scope.put_slice(5"]);
    });
}

#[test]
fn what_two_ranks_add_to_in_a_combined_scope() {
    on_every_route([2, 3], |job| {
        let told = written(job, |world, v| {
            let mut all = v.read_cache_release_c()?;
            if world.rank().index() < 2 {
                all[3] += 1;
            }
            all.finish()
        });
        // The lines of the scopes.
        conflict(&told, 3, &["let mut all = v.read_cache_release_c()"]);
    });
}

#[test]
fn a_scope_of_a_part() {
    on_every_route([2, 3], |job| {
        for index in [3, 5, 8] {
            let told = written(job, |world, v| {
                let mut part = v.slice_mut(3..9).release_c()?;
                match world.rank().index() {
                    0 => part.put(index, 1)?, // the lower rank's
                    1 => part.put(index, 2)?, // the other's
                    _ => {}
                }
                part.finish()
            });
            conflict(&told, index, &["let mut part = v.slice_mut(3..9)", "the lower rank's", "the other's"]);
        }
    });
}

/// Of two parts whose scopes are open at once, each is looked at by itself.
#[test]
fn scopes_of_two_parts_at_once() {
    on_every_route([2, 3], |job| {
        let told = written(job, |world, v| {
            let (left, right) = v.split_at_mut(6);
            let (mut left, mut right) = (left.release_c()?, right.release_c_with::<Add>()?);
            let me = world.rank().index();
            left.put(me, 1)?;
            right.update(11, 1)?;
            match me {
                0 => right.put(8, 1)?, // the lower rank's
                1 => right.put(8, 2)?, // the other's
                _ => {}
            }
            left.finish().and(right.finish())
        });
        conflict(&told, 8, &["right.release_c_with::<Add>()", "the lower rank's", "the other's"]);
    });
}

#[test]
fn one_among_many_batches() {
    const LEN: usize = 100_000;
    on_every_route([2], |job| {
        let told = job.checking().run(|world| {
            let (me, size) = (world.rank().index(), world.size());
            let mut v = GVector::<u64>::new(world, LEN)?;
            let mut scope = v.release_c()?;
            let written = (0..LEN).filter(|i| i % size == me).try_for_each(|i| {
                if i == 77_776 {
                    scope.put(77_777, 2)?; // not its own
                }
                scope.put(i, 1) // each its own
            });
            let outcome = written.and(scope.finish());
            world.barrier()?;
            outcome?;
            v.at(0).map(drop)
        });
        told.all_say(&["two ranks write element 77777 of"]).all_cite(&["each its own", "not its own"]);
    });
}

#[test]
fn a_scope_that_is_dropped_and_a_vector_that_is_not_used_again() {
    on_every_route([2, 3], |job| {
        let told = job.checking().run_freely(|world| {
            let mut v = GVector::<u64>::new(world, 12)?;
            let mut scope = v.release_c()?;
            scope.put(4, 1)?;
            drop(scope);
            Ok(())
        });
        let text = told.run.expect_err("it is not silent").to_string();
        assert!(text.contains("two ranks write element 4"), "{text}");
    });
}

#[test]
fn without_it_one_of_them_wins() {
    on_every_route([2], |job| {
        let told = job.run(|world| {
            let mut v = GVector::<u64>::new(world, 12)?;
            let mut scope = v.release_c()?;
            scope.put(4, 1 + world.rank().index() as u64)?;
            scope.finish()?;
            assert!([1, 2].contains(&v.at(4)?));
            Ok(())
        });
        told.run.expect("nobody has asked");
    });
}

#[test]
fn a_program_without_misuse_is_left_in_peace() {
    on_every_route([1, 2, 3], |job| {
        let told = job.checking().run(|world| {
            let (me, size) = (world.rank().index(), world.size());
            let mut v = GVector::<u64>::new(world, 30)?;
            for round in 1..4 {
                let mut scope = v.release_c_with::<Add>()?;
                for i in (0..30).filter(|i| i % size == me) {
                    scope.put(i, round)?;
                    // Its own order.
                    scope.update(i, 1)?;
                    scope.put(i, round)?;
                }
                scope.finish()?;
                let mut scope = v.release_c_with::<Add>()?;
                (0..30).try_for_each(|i| scope.update(i, 1))?;
                scope.finish()?;
                assert!(v.read_cache()?.iter().all(|x| *x == round + size as u64));
                // Read where it was written, as soon as that scope has ended here.
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
        told.run.expect("nothing is wrong");
    });
}

/// The other behaviours: sums, streams, queues, halos.
#[test]
fn nor_is_one_with_every_other_behaviour() {
    on_every_route([1, 2, 3], |job| {
        let told = job.checking().run(|world| {
            let (me, size) = (world.rank().index(), world.size() as u64);
            let mut v = GVector::<u64>::new(world, 30)?;
            for round in 1..4 {
                v.fill(0)?;
                // All ranks add to all elements.
                let mut sums = v.accumulate::<Add>()?;
                (0..30).try_for_each(|i| sums.update(i, round))?;
                sums.finish()?;
                let mut sums = v.accumulate_in_order::<Add>()?;
                sums.update_slice(0, &[1; 30])?;
                drop(sums);
                let wanted = size * (round + 1);
                // Behind scopes whose ends were not waited for.
                for block in v.read_cache_blocks()?.blocks() {
                    assert!(block?.1.iter().all(|x| *x == wanted));
                }
                for value in v.gatherer()?.iter(0..30) {
                    assert_eq!(value?, wanted);
                }
                // Who is behind still reads.
                world.barrier()?;
                let mut own = v.release_c()?;
                (0..30).filter(|i| i % size as usize == me).try_for_each(|i| own.put(i, wanted + 1))?;
                drop(own);
                assert_eq!(
                    v.owner_computes()?.local().iter().sum::<u64>(),
                    (wanted + 1) * v.local_range().len() as u64
                );
                // Neighbours look at what others write between two exchanges.
                let mut halo = v.halo_cache_mut(Halo::periodic(1))?;
                for step in 0..3 {
                    halo.local_mut().fill(100 + step);
                    halo.refresh()?;
                    assert!([halo.before(), halo.behind()].concat().iter().all(|x| *x == 100 + step));
                }
                halo.finish()?;
                // It orders neighbours, and this all ranks.
                world.barrier()?;
                let seen = v.halo_cache(2)?;
                assert!(seen.local().iter().all(|x| *x == 102));
                seen.finish()?;
                assert_eq!(v.gather(0)?.map_or(3060, |all| all.iter().sum()), 3060);
            }
            Ok(())
        });
        told.run.expect("nothing is wrong");
    });
}

/// Parts that are used at once by different ranks in different ways, and what one rank writes alone beside what others read.
#[test]
fn nor_is_one_that_uses_parts() {
    on_every_route([1, 2, 3], |job| {
        let told = job.checking().run(|world| {
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
                // The scope of the right is open still, and has flushed nothing.
                assert!(left.slice(..).read_cache()?.iter().all(|x| *x == round));
                writes.finish()?;
                // One rank writes to the right, alone; the others read what it leaves alone.
                let (low, high) = right.split_at_mut(20);
                let mut alone = if me == last { Some(high.release_alone()?) } else { None };
                if let Some(alone) = &mut alone {
                    (20..30).try_for_each(|i| alone.put(i, 7))?;
                }
                assert!(low.slice(..).owner_computes()?.local().iter().all(|x| *x == round));
                assert_eq!(low.slice(..).gatherer()?.read(&[15, 19])?, [round; 2]);
                assert_eq!(left.slice(..).gatherer()?.read(&[0, 14])?, [round; 2]);
                drop(alone);
                assert!(left.slice(..5).read_cache()?.iter().all(|x| *x == round));
                assert_eq!(v.read_cache()?[15..].iter().sum::<u64>(), 5 * round + 70);
                let mut sums = v.slice_mut(10..20).accumulate::<Add>()?;
                (10..20).try_for_each(|i| sums.update(i, 1))?;
                sums.finish()?;
                assert_eq!(v.at(10)?, round + size as u64);
                world.barrier()?;
            }
            Ok(())
        });
        told.run.expect("nothing is wrong");
    });
}
