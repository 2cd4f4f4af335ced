//! Errors of reductions and related calls: ranks that disagree, invalid values, and operations that panic.

use crate::provoke::{every_route, on_every_route};
use aurora_core::ops::{Max, Min, Sum};
use aurora_core::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

const ODD: usize = 1;

#[test]
fn different_calls_types_operations_lengths_and_roots() {
    type Call = fn(&World) -> Result<()>;
    let calls: [(Call, &str); 14] = [
        (|world| world.barrier(), "is in a barrier"),
        (|world| world.all_reduce(Sum, 1u64).map(drop), "is in all_reduce(Sum) of 1 u64"),
        (|world| world.all_reduce(Min, 1u64).map(drop), "is in all_reduce(Min) of 1 u64"),
        (|world| world.all_reduce(Sum, 1i64).map(drop), "is in all_reduce(Sum) of 1 i64"),
        (|world| world.all_reduce_slice(Sum, &mut [1u64; 2]), "is in all_reduce(Sum) of 2 u64"),
        (|world| world.all_reduce_slice(Sum, &mut vec![1u64; 50_000]), "is in all_reduce(Sum) of 50000 u64"),
        (|world| world.reduce_to(0, Sum, 1u64).map(drop), "is in reduce_to(Sum) of 1 u64 to rank 0"),
        (|world| world.reduce_to(1, Sum, 1u64).map(drop), "is in reduce_to(Sum) of 1 u64 to rank 1"),
        (|world| world.scan(Sum, 1u64).map(drop), "is in scan(Sum) of 1 u64"),
        (|world| world.exclusive_scan(Sum, 1u64).map(drop), "is in exclusive_scan(Sum) of 1 u64"),
        (|world| world.broadcast(0, 1u64).map(drop), "is in broadcast of a u64 from rank 0"),
        (|world| world.broadcast_slice(1, &mut [1u64]), "is in broadcast_slice of 1 u64 from rank 1"),
        (|world| world.all_gather(1u64).map(drop), "is in all_gather of a u64"),
        (|world| world.all_gather_slice(&[1u64]).map(drop), "is in all_gather_slice of u64"),
    ];
    for (at, (usual, first)) in calls.iter().enumerate() {
        for (odd, second) in &calls[at + 1..] {
            let outcomes = every_route([2]).run(|world| if world.rank() == ODD { odd(world) } else { usual(world) });
            outcomes.all_say(&["ranks disagree", first, second]);
        }
    }
}

#[test]
fn both_lines_are_named_to_all() {
    let outcomes = every_route([2, 3, 4]).run(|world| {
        if world.rank() == ODD { world.scan(Max, 1.0).map(drop) } else { world.all_reduce(Max, 1.0).map(drop) }
    });
    outcomes
        .all_say(&["ranks disagree", "rank 1 is in scan(Max) of 1 f64"])
        .all_cite(&["world.scan(Max, 1.0)", "world.all_reduce(Max, 1.0)"]);
}

/// The operations have the same name and different types: they compute different results.
#[test]
fn operations_of_one_name() {
    let outcomes = every_route([2, 3]).run(|world| {
        if world.rank() == ODD {
            struct Twice;
            impl Op<u64> for Twice {
                fn apply(current: u64, operand: u64) -> u64 {
                    current + 2 * operand
                }
            }
            world.all_reduce(Twice, 1u64).map(drop)
        } else {
            struct Twice;
            impl Op<u64> for Twice {
                fn apply(current: u64, operand: u64) -> u64 {
                    2 * current + operand
                }
            }
            world.all_reduce(Twice, 1u64).map(drop)
        }
    });
    outcomes.all_say(&["ranks disagree", "is in all_reduce(Twice) of 1 u64"]);
}

#[test]
fn ranks_that_do_not_exist() {
    every_route([2, 3]).run(|world| world.reduce_to(7, Sum, 1).map(drop)).all_say(&["rank 7 does not exist"]);
    every_route([2, 3]).run(|world| world.broadcast(7, 1).map(drop)).all_say(&["rank 7 does not exist"]);
    every_route([2, 3]).run(|world| world.broadcast_slice(7, &mut [1])).all_say(&["rank 7 does not exist"]);
}

#[test]
fn elements_without_size() {
    struct Nothing;
    impl Op<()> for Nothing {
        fn apply((): (), (): ()) {}
    }
    every_route([2]).run(|world| world.all_reduce(Nothing, ())).all_say(&["have no size"]);
    every_route([2]).run(|world| world.all_gather_slice(&[(), ()]).map(drop)).all_say(&["have no size"]);
}

/// A list of unknown length, which the format cannot encode.
#[derive(Debug)]
struct Endless;

impl serde::Serialize for Endless {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serde::ser::SerializeSeq::end(serializer.serialize_seq(None)?)
    }
}

impl<'de> serde::Deserialize<'de> for Endless {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> std::result::Result<Self, D::Error> {
        Ok(Endless)
    }
}

#[test]
fn values_that_cannot_travel() {
    every_route([2, 3])
        .run(|world| world.broadcast(1, Endless).map(drop))
        .all_say(&["a value of type Endless cannot be sent to other ranks"]);
    every_route([2, 3])
        .run(|world| world.all_gather(Endless).map(drop))
        .all_say(&["a value of type Endless cannot be sent to other ranks"]);
}

#[test]
fn a_rank_that_has_left() {
    for len in [1, 50_000] {
        let outcomes = every_route([2, 3]).run_freely(|world| match world.rank() == ODD {
            true => Ok(()),
            false => world.all_reduce_slice(Sum, &mut vec![1u64; len]),
        });
        outcomes.says(0, &["rank 1 has left `run`", "is in all_reduce"]);
    }
}

/// Rank 1's thread continues after its operation has panicked, and makes another call than the other ranks.
#[test]
fn an_operation_that_panics_on_one_rank() {
    struct Fragile;
    impl Op<u64> for Fragile {
        fn apply(current: u64, operand: u64) -> u64 {
            assert_ne!(operand, 13, "a number that brings bad luck");
            current + operand
        }
    }
    let outcomes = every_route([2, 3]).run(|world| {
        // Each rank combines a share. The share of rank 1 contains the bad number.
        let mut values = vec![1u64; 60_000];
        let share = values.len() / world.size();
        if world.rank() == ODD {
            values[share + 5] = 13;
        }
        let reduced = catch_unwind(AssertUnwindSafe(|| world.all_reduce_slice(Fragile, &mut values)));
        assert_eq!(reduced.is_err(), world.rank() == ODD);
        let reduced = reduced.unwrap_or(Ok(()));
        if world.rank() == ODD { world.barrier() } else { reduced }
    });
    outcomes.all_say(&["is in all_reduce", "is in a barrier"]);
}

/// An operation must not wait for other ranks.
#[test]
fn a_collective_call_inside_of_an_operation() {
    use std::cell::RefCell;
    thread_local! {
        static VECTOR: RefCell<Option<GVector<u64>>> = const { RefCell::new(None) };
    }
    struct Nested;
    impl Op<u64> for Nested {
        fn apply(current: u64, operand: u64) -> u64 {
            VECTOR.with_borrow_mut(|vector| vector.as_mut().map(|vector| vector.fill(operand)));
            current + operand
        }
    }
    on_every_route([2], |job| {
        let outcomes = job.run_freely(|world| {
            VECTOR.set(Some(GVector::new(world, 5)?));
            let reduced = catch_unwind(AssertUnwindSafe(|| world.all_reduce(Nested, 1)));
            VECTOR.take();
            reduced.map(drop).map_err(|_| Error::user("the operation has panicked"))
        });
        // If the library holds no lock meanwhile, the call is an ordinary `fill`. Otherwise the first rank that makes
        // the call panics.
        if job.is_shared() {
            outcomes.run.expect_err("an operation must not wait for anybody");
        }
    });
}
