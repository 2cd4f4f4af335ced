//! Errors of an Accumulate: ranks that disagree, panics, forgotten guards, ranks that never open it.

use crate::provoke::{Quiet, caught, every_route, on_every_route};
use aurora_core::ops::{Max, Sum};
use aurora_core::prelude::*;
use std::mem::forget;
use std::panic::panic_any;

/// The rank that makes the error.
const CULPRIT: usize = 1;

#[test]
fn other_scopes_operations_and_orders() {
    type Open = fn(&mut GVector<i32>) -> Result<()>;
    let odd: [(&str, Open); 7] = [
        ("opened an Accumulate with operation Max of", |v| v.accumulate(Max)?.finish()),
        ("opened an Accumulate in order with operation Sum of", |v| v.accumulate_in_order(Sum)?.finish()),
        ("opened a ReleaseC with operation Sum of", |v| v.release_c_with(Sum)?.finish()),
        ("opened a ReleaseC of", |v| v.release_c()?.finish()),
        ("opened a ReadCache + ReleaseC of", |v| v.read_cache_release_c()?.finish()),
        ("opened a ReadCache of", |v| v.read_cache()?.finish()),
        ("is in a barrier", |_| Ok(())),
    ];
    for (words, open) in odd {
        let outcomes = every_route([2, 3]).run(|world| {
            let mut v = GVector::<i32>::new(world, 10)?;
            if world.rank() == CULPRIT {
                open(&mut v)?;
            } else {
                let mut sums = v.accumulate(Sum)?;
                sums.update(9, 1)?;
                sums.finish()?;
            }
            world.barrier()
        });
        outcomes.all_say(&["ranks disagree", words]);
        if words != "is in a barrier" {
            outcomes.all_say(&["an Accumulate with operation Sum of the GVector<i32> of 10 elements"]);
        }
    }
}

#[test]
fn a_panic_poisons() {
    for in_order in [false, true] {
        let outcomes = every_route([2, 3]).run(|world| {
            let mut v = GVector::<i32>::new(world, 10)?;
            let mut sums = if in_order { v.accumulate_in_order(Sum)? } else { v.accumulate(Sum)? };
            sums.update_slice(0, &[666; 10])?;
            // All ranks have opened their scopes.
            world.barrier()?;
            if world.rank() == CULPRIT {
                caught(move || {
                    let _half = sums;
                    panic_any(Quiet)
                });
            } else {
                let ended = sums.finish();
                assert!(matches!(ended, Err(Error::Poisoned { .. })), "{ended:?}");
            }
            let again = v.accumulate(Sum).map(drop);
            assert!(matches!(again, Err(Error::Poisoned { .. })), "{again:?}");
            v.at(0).map(drop)
        });
        outcomes
            .all_say(&["is poisoned", "rank 1 panicked inside the Accumulate that it opened at"])
            .all_cite(&["let mut sums"]);
    }
}

struct Unlucky;

impl Op<i32> for Unlucky {
    fn apply(current: i32, operand: i32) -> i32 {
        if operand == 13 {
            panic_any(Quiet);
        }
        current + operand
    }

    fn combine(first: i32, second: i32) -> i32 {
        if first + second == 14 {
            panic_any(Quiet);
        }
        first + second
    }
}

#[test]
fn an_operation_that_panics_poisons() {
    // The operation panics in an update, and in the merge with the rank's own part.
    for operands in [[7, 7], [6, 7]] {
        let outcomes = every_route([2, 3]).run(|world| {
            let mut v = GVector::<i32>::new(world, 3 * world.size())?;
            let own = v.local_range().start;
            if world.rank() == CULPRIT {
                caught(|| {
                    let mut half = v.accumulate(Unlucky).unwrap();
                    operands.iter().for_each(|operand| half.update(own, *operand).unwrap());
                    half.finish().unwrap();
                });
            } else {
                let _ = v.accumulate(Unlucky)?.finish();
            }
            v.read_cache().map(drop)
        });
        outcomes.all_say(&["is poisoned: rank 1 panicked inside the Accumulate"]).all_cite(&["let mut half"]);
    }
}

fn forget_one(v: &mut GVector<i32>) -> Result<()> {
    let mut sums = v.accumulate(Sum)?;
    sums.update(0, 7)?;
    forget(sums);
    Ok(())
}

#[test]
fn a_forgotten_one() {
    type Use = fn(&World, &mut GVector<i32>) -> Result<()>;
    let uses: [Use; 4] = [
        |_, v| v.read_cache().map(drop),
        |_, v| v.accumulate(Sum)?.finish(),
        |world, _| world.barrier(),
        // The other ranks wait for the end of the scope.
        |_, v| v.at(0).map(drop),
    ];
    for next_use in uses {
        let outcomes = every_route([2, 3]).run(|world| {
            let mut v = GVector::<i32>::new(world, 10)?;
            if world.rank() == CULPRIT {
                forget_one(&mut v)?;
            } else {
                v.accumulate(Sum)?.update(1, 1)?;
            }
            next_use(world, &mut v)
        });
        outcomes
            .all_say(&["rank 1 has not closed the Accumulate of the GVector<i32> of 10 elements"])
            .all_cite(&["let mut sums"]);
    }
}

/// More elements than a rank may send ahead to each of two or three owners.
const LONG: usize = 300_000;

/// Has no neutral element: its operands travel as messages on every route.
struct Plus;

impl Op<u64> for Plus {
    fn apply(current: u64, operand: u64) -> u64 {
        current + operand
    }
}

#[test]
fn a_rank_that_has_left_and_was_to_come_first() {
    on_every_route([2, 3], |job| {
        let outcomes = job.run_freely(|world| {
            let mut v = GVector::<u64>::new(world, LONG)?;
            if world.is_root() {
                forget(v);
                return Ok(());
            }
            let mut sums = v.accumulate_in_order(Plus)?;
            sums.update_slice(0, &vec![1; LONG])?;
            sums.finish()
        });
        for rank in 1..job.ranks {
            outcomes.says(rank, &["rank 0 has left `run`", "waits in an Accumulate for room to write to"]);
        }
        assert!(outcomes.run.is_err());
    });
}

#[test]
fn a_barrier_inside_of_the_scope_that_comes_first() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<u64>::new(world, LONG)?;
        let mut first = v.accumulate_in_order(Sum)?;
        if world.is_root() {
            world.barrier()?;
        }
        first.update_slice(0, &vec![1; LONG])?;
        drop(first);
        world.barrier()
    });
    outcomes.all_say(&["rank 0 has not closed the Accumulate"]).all_cite(&["let mut first"]);
}

#[test]
fn a_circle_through_the_room_for_own_writes() {
    let outcomes = every_route([2]).run(|world| {
        let mut v = GVector::<u64>::new(world, LONG)?;
        let own = v.local_range();
        let mut first = v.accumulate_in_order(Plus)?;
        if world.is_root() {
            world.barrier()?; // inside the scope
        }
        first.update_slice(own.start, &vec![1; own.len()])?;
        drop(first);
        world.barrier()
    });
    outcomes
        .all_say(&["ranks disagree", "rank 1 waits in an Accumulate for room to write to", "rank 0 is in a barrier"])
        .all_cite(&["world.barrier()?; // inside the scope"]);
}
