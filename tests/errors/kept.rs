//! Guards of every kind that are never closed: `run` returns an error for each.

use crate::provoke::{every_route, on_every_route};
use aurora_core::ops::Sum;
use aurora_core::prelude::*;
use std::any::Any;
use std::cell::RefCell;
use std::mem::forget;

/// Forgets a guard after `done` has used it.
fn forget_used<G>(opened: Result<G>, done: impl FnOnce(&mut G)) -> Result<()> {
    opened.map(|mut guard| {
        done(&mut guard);
        forget(guard);
    })
}

#[test]
fn every_kind_at_the_end_of_run() {
    type Forget = fn(&mut GVector<i32>) -> Result<()>;
    let kinds: [(Forget, &str); 22] = [
        (|v| v.release_c_with(Sum).map(forget), "ReleaseC"),
        (|v| v.read_cache_release_c().map(forget), "ReadCache + ReleaseC"),
        (|v| forget_used(v.owner_computes(), |own| _ = own.local()), "OwnerComputes"),
        (|v| forget_used(v.owner_computes_mut(), |own| own.local_mut().fill(7)), "OwnerComputes"),
        (|v| v.read_cache().map(forget), "ReadCache"),
        (|v| forget_used(v.release_c(), |scope| scope.put(0, 7).unwrap()), "ReleaseC"),
        (|v| v.release_alone().map(forget), "ReleaseC alone"),
        (|v| v.batched_reads().map(forget), "BatchedReads"),
        (|v| v.read_cache_blocks().map(forget), "streaming ReadCache"),
        (|v| forget_used(v.read_cache_blocks(), |stream| drop(stream.blocks().next())), "streaming ReadCache"),
        (|v| v.halo_cache(1).map(forget), "HaloCache"),
        (|v| forget_used(v.halo_cache_mut(1), |halo| halo.local_mut().fill(7)), "HaloCache"),
        (|v| forget_used(v.accumulate(Sum), |sums| sums.update(0, 7).unwrap()), "Accumulate"),
        (|v| v.accumulate_in_order(Sum).map(forget), "Accumulate"),
        (|v| forget_used(v.slice_mut(..5).owner_computes_mut(), |own| own.local_mut().fill(7)), "OwnerComputes"),
        (|v| v.slice(3..).owner_computes().map(forget), "OwnerComputes"),
        (|v| v.slice_mut(..5).release_c().map(forget), "ReleaseC"),
        (|v| v.slice_mut(5..).accumulate(Sum).map(forget), "Accumulate"),
        (|v| v.slice_mut(2..7).read_cache_release_c().map(forget), "ReadCache + ReleaseC"),
        (|v| v.slice_mut(..5).release_alone().map(forget), "ReleaseC alone"),
        (|v| v.slice(..5).read_cache().map(forget), "ReadCache"),
        (|v| v.slice(..5).batched_reads().map(forget), "BatchedReads"),
    ];
    for (forget_one, name) in kinds {
        for keep in [false, true] {
            let outcomes = every_route([1, 2, 3]).run_freely(|world| {
                let mut v = GVector::<i32>::new(world, 10)?;
                forget_one(&mut v)?;
                if keep {
                    forget(v);
                }
                Ok(())
            });
            let words = format!("has not closed the {name} of the GVector<i32>");
            outcomes.run_says(&[&words]);
        }
    }
}

thread_local!(static KEPT: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) });

/// Keeps a guard in its thread until the thread ends, or for ever.
fn keep<G: 'static>(guard: G, for_ever: bool) {
    let guard: Box<dyn Any> = Box::new(guard);
    if for_ever {
        Box::leak(guard);
    } else {
        KEPT.with_borrow_mut(|kept| kept.push(guard));
    }
}

#[test]
fn every_kind_kept_beyond_run() {
    type Keep = fn(&'static mut GVector<i32>, bool) -> Result<()>;
    let kinds: [(Keep, &str); 17] = [
        (|v, how| v.owner_computes().map(|guard| keep(guard, how)), "OwnerComputes"),
        (|v, how| v.owner_computes_mut().map(|guard| keep(guard, how)), "OwnerComputes"),
        (|v, how| v.read_cache().map(|guard| keep(guard, how)), "ReadCache"),
        (|v, how| v.release_c().map(|guard| keep(guard, how)), "ReleaseC"),
        (|v, how| v.release_c_with(Sum).map(|guard| keep(guard, how)), "ReleaseC"),
        (|v, how| v.read_cache_release_c().map(|guard| keep(guard, how)), "ReadCache + ReleaseC"),
        (|v, how| v.release_alone().map(|guard| keep(guard, how)), "ReleaseC alone"),
        (|v, how| v.release_alone_with(Sum).map(|guard| keep(guard, how)), "ReleaseC alone"),
        (|v, how| v.batched_reads().map(|guard| keep(guard, how)), "BatchedReads"),
        (|v, how| v.read_cache_blocks().map(|guard| keep(guard, how)), "streaming ReadCache"),
        (|v, how| v.halo_cache(1).map(|guard| keep(guard, how)), "HaloCache"),
        (|v, how| v.halo_cache_mut(1).map(|guard| keep(guard, how)), "HaloCache"),
        (|v, how| v.accumulate(Sum).map(|guard| keep(guard, how)), "Accumulate"),
        (|v, how| v.accumulate_in_order(Sum).map(|guard| keep(guard, how)), "Accumulate"),
        (|v, how| v.slice_mut(..5).owner_computes_mut().map(|guard| keep(guard, how)), "OwnerComputes"),
        (|v, how| v.slice_mut(..5).release_c().map(|guard| keep(guard, how)), "ReleaseC"),
        (|v, how| v.slice(..5).read_cache().map(|guard| keep(guard, how)), "ReadCache"),
    ];
    on_every_route([1, 2, 3], |job| {
        for (keep_one, name) in kinds {
            for for_ever in [false, true] {
                let outcomes = job.run_freely(|world| {
                    let v: &'static mut GVector<i32> = Box::leak(Box::new(GVector::new(world, 10)?));
                    keep_one(v, for_ever)
                });
                let words = format!("has not closed the {name} of the GVector<i32>");
                outcomes.run_says(&[&words]);
                // Rank 0 ran on this thread. The threads of the other ranks have ended, with their guards.
                KEPT.take();
            }
        }
    });
}

#[test]
fn a_guard_on_the_heap_that_is_never_freed() {
    let outcomes = every_route([2]).run_freely(|world| {
        let v: &'static mut GVector<i32> = Box::leak(Box::new(GVector::new(world, 10)?));
        let own = Box::leak(Box::new(v.owner_computes_mut()?));
        let kept: &'static mut [i32] = own.local_mut();
        kept.fill(3);
        Ok(())
    });
    outcomes.run_says(&["has not closed the OwnerComputes"]);
}
