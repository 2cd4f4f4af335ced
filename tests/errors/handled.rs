//! Errors that a call has returned to the program, which then continues: `run` does not return them again. Errors that
//! no call has returned are never lost.

use crate::provoke::{Job, Order, Quiet, every_route, on_every_route};
use aurora_core::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::time::Duration;

/// Makes the ranks disagree about a scope of `v`, which rank 1 has dropped with its writes.
fn disagree(world: &World, v: &mut GVector<i32>, order: &Order, step: usize) -> Result<()> {
    if world.rank() == 1 {
        let mut scope = v.release_c()?;
        scope.put(0, 1)?;
        order.advance();
        // Wait until the other ranks have opened something else.
        std::thread::sleep(Duration::from_millis(100));
        drop(scope);
        return Ok(());
    }
    order.wait_for(step);
    v.read_cache()?.finish()
}

#[test]
fn what_a_call_has_returned_is_not_returned_by_run() {
    on_every_route([2, 3], |job| {
        let order = Order::new();
        let outcomes = job.run(|world| {
            let mut v = GVector::<i32>::new(world, 10)?;
            if disagree(world, &mut v, &order, 1).is_ok() {
                let error = v.at(0).expect_err("all ranks hear of it");
                assert!(matches!(error, Error::Mismatch { .. }), "{error}");
            }
            // The program continues with another vector.
            let w = GVector::<i32>::from_fn(world, 10, |_| 3)?;
            assert_eq!(w.read_cache()?[9], 3);
            Ok(())
        });
        outcomes.run.expect("handled is handled");
    });
}

#[test]
fn what_a_copy_of_several_vectors_has_returned_is_not_returned_by_run() {
    for into in [true, false] {
        on_every_route([2, 3], |job| {
            let order = Order::new();
            let outcomes = job.run(|world| {
                let mut sound = GVector::<i32>::new(world, 10)?;
                let mut v = GVector::<i32>::new(world, 10)?;
                if disagree(world, &mut v, &order, 1).is_ok() {
                    let (mut first, mut second) = ([1; 10], [2; 10]);
                    let outcome = match into {
                        true => distmemcpy_many([(sound.range_mut(..), &first[..]), (v.range_mut(..), &second[..])]),
                        false => distmemcpy_many([(&mut first[..], sound.range(..)), (&mut second[..], v.range(..))]),
                    };
                    let error = outcome.expect_err("all ranks hear of it");
                    assert!(matches!(error, Error::Mismatch { .. }), "{error}");
                }
                world.barrier()?;
                assert!([0, 1].contains(&sound.at(9)?));
                Ok(())
            });
            outcomes.run.expect("handled is handled");
        });
    }
}

#[test]
fn what_no_call_has_returned_is_returned_by_run_also_the_second_time() {
    // Both rounds have the same lines and texts, but different vectors.
    on_every_route([2, 3], |job| {
        let order = Order::new();
        let outcomes = job.run_freely(|world| {
            for round in 1..3 {
                let mut v = GVector::<i32>::new(world, 10)?;
                let outcome = disagree(world, &mut v, &order, round);
                if round == 1 {
                    assert!(outcome.is_err() || v.at(0).is_err());
                }
                world.barrier()?;
            }
            Ok(())
        });
        outcomes.run_says(&["ranks disagree", "opened a ReleaseC"]);
    });
}

#[test]
fn a_put_that_says_so_and_a_scope_that_is_dropped_then() {
    on_every_route([2, 3], |job| {
        let order = Order::new();
        let outcomes = job.run(|world| {
            let mut v = GVector::<u64>::new(world, 100_000)?;
            if world.rank() == 1 {
                let mut scope = v.release_c()?;
                order.advance();
                // More writes than may be in transit to a rank.
                let put = (0..2_000_000).try_for_each(|i| scope.put(i % 100_000, 1));
                assert!(matches!(put, Err(Error::Mismatch { .. })), "{put:?}");
                // The rest in the buffers cannot be sent either, which is no new error.
            } else {
                order.wait_for(1);
                let read = v.read_cache().map(drop);
                assert!(matches!(read, Err(Error::Mismatch { .. })), "{read:?}");
            }
            Ok(())
        });
        outcomes.run.expect("handled is handled");
    });
}

struct Stumbles;

impl Op<i32> for Stumbles {
    fn apply(current: i32, operand: i32) -> i32 {
        if operand == 13 {
            panic_any(Quiet);
        }
        current + operand
    }
}

/// Rank 0 owns the element. It waits in a call on another object when the batch arrives.
fn stumble_elsewhere(job: Job, elsewhere: impl Fn(&World, &mut GVector<i32>, &GScalar<u64>) -> Result<()> + Sync) {
    let outcomes = job.run(|world| {
        let mut v = GVector::<i32>::new(world, 9)?;
        let mut w = GVector::<i32>::new(world, 9)?;
        let s = GScalar::new(world, 1, 0u64)?;
        let mut scope = v.release_c_with(Stumbles)?;
        if world.rank() == 1 {
            // Rank 0 is in the other call by then.
            std::thread::sleep(Duration::from_millis(60));
            scope.update(0, 13)?;
        }
        drop(scope);
        elsewhere(world, &mut w, &s)?;
        // The other vector has no error.
        w.fill(4)?;
        assert_eq!(w.at(8)?, 4);
        world.barrier()?;
        let error = v.at(0).expect_err("half a batch is never shown");
        let text = error.to_string();
        assert!(matches!(error, Error::Poisoned { .. }), "{text}");
        assert!(text.contains("rank 0 panicked inside the ReleaseC"), "{text}");
        Ok(())
    });
    outcomes.run.expect("all ranks have been told");
}

#[test]
fn an_operation_that_panics_amid_a_call_on_another_object() {
    on_every_route([2, 3], |job| {
        stumble_elsewhere(job, |world, _, _| world.barrier());
        stumble_elsewhere(job, |_, w, _| w.read_cache()?.finish());
        stumble_elsewhere(job, |_, w, _| w.release_c()?.finish());
        stumble_elsewhere(job, |_, w, _| {
            let whole = w.read_cache()?;
            // The open scope of the other vector stays valid: reads in it do not panic.
            let inner = catch_unwind(AssertUnwindSafe(|| whole.iter().sum::<i32>()));
            assert_eq!(inner.unwrap(), 0);
            whole.finish()
        });
        stumble_elsewhere(job, |world, _, s| {
            // Usually no call waits, and the daemon applies the batch.
            (0..20).try_for_each(|_| {
                std::thread::sleep(Duration::from_millis(10));
                s.get().map(drop)
            })?;
            world.barrier()
        });
    });
}

#[test]
fn an_operation_that_panics_and_of_which_nobody_hears_otherwise() {
    let outcomes = every_route([2]).run_freely(|world| {
        let mut v = GVector::<i32>::new(world, 9)?;
        let mut scope = v.release_c_with(Stumbles)?;
        if world.rank() == 1 {
            std::thread::sleep(Duration::from_millis(60));
            scope.update(0, 13)?;
        }
        drop(scope);
        world.barrier()
    });
    outcomes.run_says(&["is poisoned: rank 0 panicked inside the ReleaseC"]);
}
