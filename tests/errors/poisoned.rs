//! Panics inside a scope, caught by the program: no rank ever sees values of an incomplete phase.

use crate::provoke::{Quiet, caught, every_route, on_every_route};
use aurora_core::ops::Sum;
use aurora_core::prelude::*;
use std::panic::panic_any;
use std::time::Duration;

/// The rank that panics.
const CULPRIT: usize = 1;

fn break_off(v: &mut GVector<i32>) {
    caught(|| {
        let mut own = v.owner_computes_mut().unwrap();
        own.local_mut()[0] = 666;
        panic_any(Quiet)
    });
}

#[test]
fn every_use_on_every_rank() {
    type Use = fn(&mut GVector<i32>) -> Result<()>;
    let uses: [(&str, Use); 25] = [
        ("at own", |v| v.at(v.local_range().start).map(drop)),
        ("at other", |v| v.at(v.range_of(CULPRIT).start).map(drop)),
        ("at_many", |v| v.at_many(&[0, 4, 9]).map(drop)),
        ("put", |v| v.put(9, 1)),
        ("put own", |v| v.put(v.local_range().start, 1)),
        ("put_many", |v| v.put_many(&[(0, 1), (4, 1), (9, 1)])),
        ("fill", |v| v.fill(1)),
        ("gather", |v| v.gather_to(0).map(drop)),
        ("gather", |v| v.gather_to(1).map(drop)),
        ("copy out", |v| distmemcpy(&mut [0; 10][..], v.range(..))),
        ("copy in", |v| distmemcpy(v.range_mut(..), &[0; 10][..])),
        ("OwnerComputes", |v| v.owner_computes().map(drop)),
        ("OwnerComputes", |v| v.owner_computes_mut().map(drop)),
        ("ReadCache", |v| v.read_cache().map(drop)),
        ("ReleaseC", |v| v.release_c().map(drop)),
        ("ReadCache + ReleaseC", |v| v.read_cache_release_c().map(drop)),
        ("ReleaseC alone", |v| v.release_alone().map(drop)),
        ("BatchedReads", |v| v.batched_reads().map(drop)),
        ("HaloCache", |v| v.halo_cache(1).map(drop)),
        ("HaloCache", |v| v.halo_cache_mut(1).map(drop)),
        ("streaming ReadCache", |v| v.read_cache_blocks().map(drop)),
        ("Accumulate", |v| v.accumulate(Sum).map(drop)),
        ("a part", |v| v.slice(..5).read_cache().map(drop)),
        ("a part", |v| v.slice_mut(..5).release_c().map(drop)),
        ("release of the cache", |v| v.release_cache()),
    ];
    for (name, next_use) in uses {
        let outcomes = every_route([2, 3]).run(|world| {
            let mut v = GVector::<i32>::new(world, 10)?;
            if world.rank() == CULPRIT {
                break_off(&mut v);
            }
            world.barrier()?;
            let outcome = next_use(&mut v);
            match &outcome {
                Err(Error::Poisoned { .. }) => {}
                other => panic!("{name} on {} says {other:?}", world.rank()),
            }
            outcome
        });
        outcomes
            .all_say(&["the GVector<i32> of 10 elements (made at", "is poisoned"])
            .all_say(&["rank 1 panicked inside the OwnerComputes that it opened at"])
            .all_cite(&["let mut own = v.owner_computes_mut()"]);
    }
}

/// Panics inside a scope after `done` has used it.
fn broken_off<G>(opened: Result<G>, done: impl FnOnce(&mut G)) {
    let mut guard = opened.unwrap();
    done(&mut guard);
    panic_any(Quiet)
}

#[test]
fn every_kind_of_scope() {
    type Open = fn(&mut GVector<i32>);
    /// For scopes that open without the other ranks.
    const ALONE: Open = |_| {};
    // The call of the culprit, and the call of the other ranks, which may get the error before they make it.
    let kinds: [(&str, Open, Open); 16] = [
        ("OwnerComputes", |v| broken_off(v.owner_computes(), |own| _ = own.local()), ALONE),
        ("OwnerComputes", |v| broken_off(v.owner_computes_mut(), |own| own.local_mut().fill(666)), ALONE),
        ("ReadCache", |v| broken_off(v.read_cache(), |_| {}), |v| drop(v.read_cache())),
        (
            "streaming ReadCache",
            |v| broken_off(v.read_cache_blocks(), |stream| drop(stream.blocks().next())),
            |v| drop(v.read_cache_blocks()),
        ),
        ("ReleaseC", |v| broken_off(v.release_c(), |scope| scope.put(0, 666).unwrap()), ALONE),
        ("ReleaseC", |v| broken_off(v.release_c_with(Sum), |scope| scope.update(0, 666).unwrap()), ALONE),
        ("ReleaseC alone", |v| broken_off(v.release_alone(), |scope| scope.put(0, 666).unwrap()), ALONE),
        (
            "ReadCache + ReleaseC",
            |v| broken_off(v.read_cache_release_c(), |all| all[0] = 666),
            |v| drop(v.read_cache_release_c()),
        ),
        ("Accumulate", |v| broken_off(v.accumulate(Sum), |sums| sums.update(0, 666).unwrap()), ALONE),
        ("Accumulate", |v| broken_off(v.accumulate_in_order(Sum), |sums| sums.update(0, 666).unwrap()), ALONE),
        ("BatchedReads", |v| broken_off(v.batched_reads(), |gather| _ = gather.read(&[0, 9]).unwrap()), ALONE),
        ("HaloCache", |v| broken_off(v.halo_cache(1), |halo| _ = halo.local()), |v| drop(v.halo_cache(1))),
        (
            "HaloCache",
            |v| broken_off(v.halo_cache_mut(1), |halo| halo.local_mut().fill(666)),
            |v| drop(v.halo_cache_mut(1)),
        ),
        ("OwnerComputes", |v| broken_off(v.slice_mut(1..9).owner_computes_mut(), |own| own.local_mut().fill(6)), ALONE),
        ("ReleaseC", |v| broken_off(v.slice_mut(..5).release_c(), |scope| scope.put(0, 666).unwrap()), ALONE),
        ("ReadCache", |v| broken_off(v.slice(..5).read_cache(), |_| {}), |v| drop(v.slice(..5).read_cache())),
    ];
    for (name, open, beside) in kinds {
        let outcomes = every_route([2, 3]).run(|world| {
            let mut v = GVector::<i32>::new(world, 10)?;
            // All ranks have the vector before it is poisoned.
            world.barrier()?;
            if world.rank() == CULPRIT {
                caught(|| open(&mut v));
            } else {
                beside(&mut v);
            }
            world.barrier()?;
            v.at(0).map(drop)
        });
        let words = format!("rank 1 panicked inside the {name} that it opened at");
        outcomes.all_say(&["is poisoned", &words]);
    }
}

#[test]
fn a_release_that_others_have_entered_too() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        if world.rank() == CULPRIT {
            caught(|| {
                let mut half = v.release_c().unwrap();
                half.put(0, 666).unwrap();
                panic_any(Quiet)
            });
        } else {
            v.release_c()?.put(1, 1)?;
        }
        v.read_cache().map(drop)
    });
    outcomes.all_say(&["rank 1 panicked inside the ReleaseC"]).all_cite(&["let mut half"]);
}

#[test]
fn other_objects_and_barriers_go_on() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let mut w = GVector::<i32>::new(world, 10)?;
        if world.rank() == CULPRIT {
            caught(|| {
                let _half = v.release_c().unwrap();
                panic_any(Quiet)
            });
        }
        w.fill(3)?;
        world.barrier()?;
        assert_eq!(w.read_cache()?.iter().sum::<i32>(), 30);
        v.at(0).map(drop)
    });
    outcomes.all_say(&["rank 1 panicked inside the ReleaseC"]);
}

#[test]
fn a_value_of_half_a_phase_is_never_seen() {
    // Another rank reads the block all the time while its owner panics again and again.
    for _ in 0..20 {
        let outcomes = every_route([2]).run(|world| {
            let mut v = GVector::<i32>::new(world, 2)?;
            if world.rank() == CULPRIT {
                break_off(&mut v);
                return v.at(0).map(drop);
            }
            loop {
                assert_eq!(v.at(1)?, 0, "half a phase");
            }
        });
        outcomes.all_say(&["is poisoned"]);
    }
}

#[test]
fn a_scope_opened_by_a_destructor_amid_a_panic_is_whole() {
    struct Writes<'a>(&'a mut GVector<i32>);
    impl Drop for Writes<'_> {
        fn drop(&mut self) {
            let mut own = self.0.owner_computes_mut().expect("usable");
            own.local_mut().fill(5);
        }
    }
    let outcomes = every_route([2]).run(|world| {
        let mut v = GVector::<i32>::new(world, 4)?;
        caught(|| {
            let _writes = Writes(&mut v);
            panic_any(Quiet)
        });
        assert!(v.read_cache()?.iter().all(|x| *x == 5));
        Ok(())
    });
    outcomes.succeed("nothing is poisoned");
}

struct Unlucky;

impl Op<i32> for Unlucky {
    fn apply(current: i32, operand: i32) -> i32 {
        if operand == 13 {
            panic_any(Quiet);
        }
        current + operand
    }
}

#[test]
fn what_waits_behind_an_operation_that_panics_is_answered() {
    let outcomes = every_route([3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 9)?;
        match world.rank().index() {
            0 => {
                // Wait until the writes of rank 1 and the request of rank 2 are queued here, in this order.
                std::thread::sleep(Duration::from_millis(150));
                drop(v.release_c_with(Unlucky));
            }
            1 => v.release_c_with(Unlucky)?.update(0, 13)?,
            _ => {
                std::thread::sleep(Duration::from_millis(50));
                drop(v.release_c_with(Unlucky)?);
            }
        }
        v.at(0).map(drop)
    });
    outcomes.all_say(&["is poisoned: rank 0 panicked inside the ReleaseC"]);
}

#[test]
fn an_operation_that_panics_amid_a_write_of_a_scope_that_goes_on() {
    /// More elements than a buffer holds.
    const MANY: usize = 40_000;
    on_every_route([1, 2], |job| {
        for alone in [false, true] {
            let outcomes = job.run(|world| {
                let mut v = GVector::<i32>::new(world, 9)?;
                v.release_c_with(Unlucky)?.finish()?;
                // No error of the next scope reaches a rank before all ranks have finished the first scope.
                world.barrier()?;
                let culprit = world.size() - 1;
                let unlucky = |update: &mut dyn FnMut(usize) -> Result<()>| {
                    if world.rank() == culprit {
                        caught(|| (0..MANY).for_each(|_| update(8).unwrap()));
                    }
                };
                // The error may reach a rank before it opens the scope.
                if !alone {
                    let _ = v.release_c_with(Unlucky).map(|mut scope| unlucky(&mut |i| scope.update(i, 13)));
                } else if world.rank() == culprit {
                    let mut scope = v.release_alone_with(Unlucky)?;
                    unlucky(&mut |i| scope.update(i, 13));
                }
                world.barrier()?;
                v.at(8).map(drop)
            });
            let words = format!("is poisoned: rank {} panicked inside the ReleaseC", job.ranks - 1);
            outcomes.all_say(&[&words]);
        }
    });
}
