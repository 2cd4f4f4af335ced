//! Objects that are dropped while an operation panics: inside a call of the same rank, where no other call is possible.

use crate::provoke::{Job, Outcomes, every_route, on_every_route};
use aurora_core::ops::Sum;
use aurora_core::prelude::*;
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// The object that the operations below take and drop.
    static KEPT: RefCell<Option<Box<dyn Any>>> = const { RefCell::new(None) };
}

/// Makes the object for [`KEPT`].
type Keep = fn(&World) -> Result<Box<dyn Any>>;

/// Panics, and so drops the object.
struct Panics;

impl Op<u64> for Panics {
    fn apply(current: u64, operand: u64) -> u64 {
        let kept = KEPT.take();
        assert!(kept.is_none(), "an operation that panics");
        current + operand
    }
}

/// Uses the object, a vector: the use panics.
struct Asks;

impl Op<u64> for Asks {
    fn apply(current: u64, operand: u64) -> u64 {
        let kept = KEPT.take().map(|kept| kept.downcast::<GVector<u64>>().expect("a vector"));
        kept.into_iter().for_each(|kept| drop(kept.owner_computes()));
        current + operand
    }
}

/// Drops the object, and continues.
struct Drops;

impl Op<u64> for Drops {
    fn apply(current: u64, operand: u64) -> u64 {
        drop(KEPT.take());
        current + operand
    }
}

/// Keeps the result of `keep`, and lets rank 0 apply `op` to an element of its own. True if that panicked.
fn apply<O: Op<u64>>(world: &World, keep: Keep, op: O) -> Result<bool> {
    let mut v = GVector::<u64>::new(world, 9)?;
    let kept = keep(world)?;
    if !world.is_root() {
        // The other ranks' objects are dropped before the operation is applied, or when the job ends.
        drop(kept);
        v.release_c_with(op)?.finish()?;
        // The end of the scope waits only for the own block, so this read waits for rank 0's block.
        v.at(0)?;
        return Ok(false);
    }
    KEPT.set(Some(kept));
    let applied = catch_unwind(AssertUnwindSafe(|| {
        let mut scope = v.release_c_with(op)?;
        scope.update(0, 1)?;
        scope.finish()
    }));
    assert!(KEPT.take().is_none(), "the operation has taken it");
    applied.map_or(Ok(true), |outcome| outcome.map(|()| false))
}

fn vector(world: &World) -> Result<Box<GVector<u64>>> {
    GVector::new(world, 12).map(Box::new)
}

/// Checks that the operation has panicked, and all ranks get the error.
fn is_poisoned(job: Job, outcomes: &Outcomes) {
    assert!(outcomes.ranks[0].as_ref().is_some_and(Result::is_ok), "{job:?}: {outcomes:?}");
    for outcome in &outcomes.ranks[1..] {
        assert!(matches!(outcome, Some(Err(Error::Poisoned { .. }))), "{job:?}: {outcome:?}");
    }
    outcomes.run_says(&["is poisoned: rank 0 panicked"]);
}

#[test]
fn an_operation_that_owns_a_vector_and_is_refused_its_use() {
    on_every_route([1, 2, 3], |job| {
        let outcomes = job.run(|world| {
            assert_eq!(apply(world, |world| Ok(vector(world)?), Asks)?, world.is_root());
            Ok(())
        });
        is_poisoned(job, &outcomes);
    });
}

#[test]
fn an_operation_that_owns_anything_and_panics() {
    let kinds: [Keep; 14] = [
        |world| Ok(vector(world)?),
        |world| Ok(Box::new(GScalar::new(world, 0, 7u64)?)),
        |world| Ok(Box::new(GScalar::new(world, 0, String::new())?)),
        |world| Ok(Box::new(Box::leak(vector(world)?).owner_computes()?)),
        |world| Ok(Box::new(Box::leak(vector(world)?).owner_computes_mut()?)),
        |world| Ok(Box::new(Box::leak(vector(world)?).read_cache()?)),
        |world| Ok(Box::new(Box::leak(vector(world)?).read_cache_blocks()?)),
        |world| {
            let mut scope = Box::leak(vector(world)?).release_c_with(Sum)?;
            scope.update(11, 1)?;
            Ok(Box::new(scope))
        },
        |world| {
            let mut scope = Box::leak(vector(world)?).release_alone()?;
            scope.put(11, 1)?;
            Ok(Box::new(scope))
        },
        |world| {
            let mut scope = Box::leak(vector(world)?).accumulate(Sum)?;
            scope.update(11, 1)?;
            Ok(Box::new(scope))
        },
        |world| Ok(Box::new(Box::leak(vector(world)?).read_cache_release_c()?)),
        |world| {
            let gather = Box::leak(Box::new(Box::leak(vector(world)?).batched_reads()?));
            let mut gathered = gather.iter([11, 0, 5]);
            gathered.next().transpose()?;
            Ok(Box::new(gathered))
        },
        |world| Ok(Box::new(Box::leak(vector(world)?).halo_cache_mut(1)?)),
        |world| Ok(Box::new(Box::leak(Box::new(GScalar::new(world, 0, 7u64)?)).read_mostly_with(Sum)?)),
    ];
    on_every_route([1, 2, 3], |job| {
        for keep in kinds {
            let outcomes = job.run_freely(|world| apply(world, keep, Panics).map(drop));
            assert!(outcomes.run.is_err(), "{job:?}: {outcomes:?}");
        }
    });
}

#[test]
fn an_operation_that_drops_a_vector_and_goes_on() {
    let outcomes = every_route([1, 2, 3]).run(|world| {
        assert!(!apply(world, |world| Ok(vector(world)?), Drops)?);
        world.barrier()
    });
    outcomes.succeed("a vector may be dropped anywhere");
}

/// Uses a vector and a scalar while it is dropped, with an operation that panics.
struct Cleans<'v>(&'v mut GVector<u64>, &'v mut GScalar<u64>);

impl Drop for Cleans<'_> {
    fn drop(&mut self) {
        KEPT.set(Some(Box::new(())));
        if let Ok(mut scope) = self.0.release_alone_with(Panics) {
            scope.update(0, 1).expect("it is buffered");
        }
        KEPT.set(Some(Box::new(())));
        if let Ok(scope) = self.1.read_mostly_with(Panics) {
            let offered = catch_unwind(AssertUnwindSafe(|| scope.offer(1)));
            assert!(offered.is_err(), "the operation panics at home");
        }
        KEPT.take();
    }
}

/// Only one rank, because no other rank waits for this scope during a panic.
#[test]
fn an_operation_that_panics_amid_another_panic() {
    let outcomes = every_route([1]).run(|world| {
        let mut v = GVector::<u64>::new(world, 9)?;
        let mut s = GScalar::new(world, 0, 0u64)?;
        v.release_c_with(Panics)?.finish()?;
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _cleans = Cleans(&mut v, &mut s);
            panic!("the first");
        }));
        let message = panicked.expect_err("it panics").downcast_ref::<&str>().copied();
        assert_eq!(message, Some("the first"));
        assert!(matches!(v.at(0), Err(Error::Poisoned { .. })));
        Ok(())
    });
    outcomes.succeed("the program has been told");
}
