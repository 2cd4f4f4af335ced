//! Operations of the user that panic at the home of a scalar or at a replica: the scalar is poisoned for all ranks, and
//! no rank hangs.

use crate::provoke::{Quiet, Runs, every_route};
use aurora_core::prelude::*;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::time::Duration;

thread_local! {
    /// The rank whose program runs on this thread.
    static RANK: Cell<Option<usize>> = const { Cell::new(None) };
    /// True while the program makes a call of a scope: a panic now is a panic in that call.
    static IN_CALL: Cell<bool> = const { Cell::new(false) };
}

/// The rank of this thread, which is the thread of its program or its daemon.
fn here() -> Option<usize> {
    let daemon = || std::thread::current().name()?.strip_prefix("aurora-daemon-")?.parse().ok();
    RANK.get().or_else(daemon)
}

/// Runs `body` on every rank, and sets the rank of each program's thread.
fn run(body: impl Fn(&World) -> Result<()> + Sync) -> Runs {
    every_route([2, 3]).run(|world| {
        RANK.set(Some(world.rank().index()));
        let outcome = body(world);
        RANK.set(None);
        outcome
    })
}

/// Runs a call of the program.
fn by_itself<R>(call: impl FnOnce() -> R) -> R {
    IN_CALL.set(true);
    let outcome = call();
    IN_CALL.set(false);
    outcome
}

fn panics(call: impl FnOnce() -> Result<()>) -> bool {
    let outcome = by_itself(|| catch_unwind(AssertUnwindSafe(call)));
    outcome.map(|outcome| outcome.expect("either it panics, or it is well")).is_err()
}

/// Panics on the operand 13.
struct Unlucky;

impl Op<u64> for Unlucky {
    fn apply(current: u64, operand: u64) -> u64 {
        if operand == 13 {
            panic_any(Quiet);
        }
        current + operand
    }
}

/// Panics on the operand 13, only at the home.
struct UnluckyAtHome;

impl Op<u64> for UnluckyAtHome {
    fn apply(current: u64, operand: u64) -> u64 {
        if operand == 13 && here() == Some(0) {
            panic_any(Quiet);
        }
        current + operand
    }
}

/// Panics at rank 1, only outside of its own calls.
struct UnluckyToHear;

impl Op<u64> for UnluckyToHear {
    fn apply(current: u64, operand: u64) -> u64 {
        if here() == Some(1) && !IN_CALL.get() {
            panic_any(Quiet);
        }
        current + operand
    }
}

fn all_say_that(rank: usize, behaviour: &str, outcomes: &Runs) {
    outcomes
        .all_say(&["the GScalar<u64> on rank 0", &format!("is poisoned: rank {rank} panicked inside the {behaviour}")]);
}

/// The state of the home when all parts have arrived.
#[derive(Clone, Copy, PartialEq)]
enum Home {
    EndsItsOwn,
    Computes,
    Waits,
}

#[test]
fn a_merge_at_home() {
    for home in [Home::EndsItsOwn, Home::Computes, Home::Waits] {
        let outcomes = run(|world| {
            let mut s = GScalar::new(world, 0, 5u64)?;
            if (world.rank() == 0) == (home == Home::EndsItsOwn) {
                std::thread::sleep(Duration::from_millis(100));
            }
            let mut scope = s.accumulate(Unlucky)?;
            scope.update(if world.rank() == 0 { 12 } else { 13 });
            drop(scope);
            if world.rank() == 0 && home == Home::Computes {
                std::thread::sleep(Duration::from_millis(200));
            }
            world.barrier()?;
            s.get().map(drop)
        });
        all_say_that(0, "Accumulate", &outcomes);
    }
}

#[test]
fn a_checked_end_is_told_of_it() {
    let outcomes = run(|world| {
        let mut s = GScalar::new(world, 0, 5u64)?;
        let mut scope = s.accumulate(Unlucky)?;
        scope.update(13);
        scope.finish()
    });
    all_say_that(0, "Accumulate", &outcomes);
    outcomes.all_cite(&["s.accumulate(Unlucky)"]);
}

#[test]
fn an_offer_at_home() {
    let outcomes = run(|world| {
        let s = GScalar::new(world, 0, 5u64)?;
        let scope = s.read_mostly_with(UnluckyAtHome)?;
        if world.rank() == 1 {
            scope.offer(13)?;
        }
        // Reads the replica without a message.
        loop {
            scope.get()?;
            std::thread::yield_now();
        }
    });
    all_say_that(0, "ReadMostly", &outcomes);
    outcomes.all_cite(&["s.read_mostly_with(UnluckyAtHome)"]);
}

#[test]
fn a_request_that_waits_behind_such_an_offer() {
    let outcomes = run(|world| {
        let s = GScalar::new(world, 0, 5u64)?;
        let scope = s.read_mostly_with(UnluckyAtHome)?;
        if world.rank() == 1 {
            scope.offer(13)?;
            return scope.swap(1).map(drop);
        }
        scope.finish()?;
        s.get().map(drop)
    });
    all_say_that(0, "ReadMostly", &outcomes);
}

#[test]
fn what_spreads_to_a_replica() {
    let outcomes = run(|world| {
        let s = GScalar::new(world, 0, 5u64)?;
        let scope = by_itself(|| s.read_mostly_with(UnluckyToHear))?;
        loop {
            // Of two offers in a row, the second waits until the first is answered.
            if world.rank() == 1 {
                by_itself(|| scope.offer(1).and_then(|()| scope.offer(1)))?;
            }
            scope.get()?;
            std::thread::yield_now();
        }
    });
    all_say_that(1, "ReadMostly", &outcomes);
    outcomes.all_cite(&["s.read_mostly_with(UnluckyToHear)"]);
}

#[test]
fn amid_a_call_the_panic_goes_on_from_there() {
    for culprit in [0, 1] {
        let outcomes = run(|world| {
            let s = GScalar::new(world, 0, 5u64)?;
            let scope = s.read_mostly_with(Unlucky)?;
            if world.rank() == culprit {
                assert!(panics(|| scope.offer(13)));
            }
            loop {
                scope.get()?;
                std::thread::yield_now();
            }
        });
        all_say_that(culprit, "ReadMostly", &outcomes);
    }
}
