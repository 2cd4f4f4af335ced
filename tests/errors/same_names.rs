//! Several types with the same name, declared in blocks of one function or by a macro.

use crate::provoke::{Order, Runs, every_route, on_every_route};
use aurora_core::prelude::*;

/// Declares an operation `O` on numbers.
macro_rules! operation {
    (|$current:ident, $operand:ident| $new:expr) => {
        struct O;
        impl Op<u64> for O {
            fn apply($current: u64, $operand: u64) -> u64 {
                $new
            }
        }
    };
}

/// Declares an element `E`.
macro_rules! element {
    ($number:ty) => {
        #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable, serde::Serialize, serde::Deserialize)]
        #[repr(C)]
        struct E($number);
    };
}

/// Rank `late` ends its first scope only after all other ranks have opened their second scope.
fn hold_back(world: &World, late: usize, order: &Order) {
    if world.rank() == late {
        order.wait_for(world.size() - 1);
    }
}

const N: usize = 9;

#[test]
fn two_operations_in_sequence_and_a_rank_late_in_the_first() {
    on_every_route([2, 3], |job| {
        for late in 0..job.ranks {
            let order = Order::new();
            let outcomes = job.run(|world| {
                let mut v = GVector::<u64>::new(world, N)?;
                {
                    operation!(|current, operand| current + operand);
                    let mut sum = v.release_c_with(O)?;
                    (0..N).try_for_each(|i| sum.update(i, 10))?;
                    hold_back(world, late, &order);
                }
                {
                    operation!(|current, operand| current.max(operand));
                    let mut max = v.release_c_with(O)?;
                    order.advance();
                    (0..N).try_for_each(|i| max.update(i, 7))?;
                }
                assert_eq!(v.at_many(&Vec::from_iter(0..N))?, [10 * world.size() as u64; N]);
                world.barrier()
            });
            outcomes.run.expect("a late rank is waited for");
        }
    });
}

#[test]
fn two_operations_of_accumulates_in_sequence_and_a_rank_late_in_the_first() {
    on_every_route([2, 3], |job| {
        for late in 0..job.ranks {
            let order = Order::new();
            let outcomes = job.run(|world| {
                let mut v = GVector::<u64>::new(world, N)?;
                {
                    operation!(|current, operand| current + operand);
                    let mut sum = v.accumulate(O)?;
                    (0..N).try_for_each(|i| sum.update(i, 10))?;
                    hold_back(world, late, &order);
                }
                {
                    operation!(|current, operand| current.max(operand));
                    let mut max = v.accumulate_in_order(O)?;
                    order.advance();
                    (0..N).try_for_each(|i| max.update(i, 7))?;
                }
                assert_eq!(v.at_many(&Vec::from_iter(0..N))?, [10 * world.size() as u64; N]);
                world.barrier()
            });
            outcomes.run.expect("a late rank is waited for");
        }
    });
}

#[test]
fn two_operations_in_two_parts_at_once() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<u64>::from_fn(world, N, |_| 1)?;
        {
            let (mut left, mut right) = v.split_at_mut(4);
            operation!(|current, operand| current + operand);
            let mut sum = left.slice_mut(..).release_c_with(O)?;
            (0..4).try_for_each(|i| sum.update(i, 10))?;
            {
                operation!(|current, operand| current.max(operand));
                let mut max = right.slice_mut(..).release_c_with(O)?;
                (4..N).try_for_each(|i| max.update(i, 7))?;
                max.finish()?;
            }
            sum.finish()?;
        }
        let sum = 1 + 10 * world.size() as u64;
        assert_eq!(v.at_many(&Vec::from_iter(0..N))?, [sum, sum, sum, sum, 7, 7, 7, 7, 7]);
        world.barrier()
    });
    outcomes.succeed("two parts are two vectors");
}

#[test]
fn an_operation_alone_that_no_owner_knows() {
    on_every_route([1, 2, 3], |job| {
        let outcomes = job.run(|world| {
            let mut v = GVector::<u64>::new(world, N)?;
            {
                operation!(|current, operand| current + operand);
                v.release_c_with(O)?.finish()?;
                let mut known = v.release_alone_with(O)?;
                known.update(1, 1)?;
                known.finish()?;
            }
            {
                operation!(|current, operand| current.max(operand));
                v.release_alone_with(O)?.finish()
            }
        });
        for outcome in outcomes.ranks {
            assert!(matches!(outcome, Some(Err(Error::UnknownOp { .. }))), "{outcome:?}");
        }
    });
}

/// Each rank gets a `Mismatch` that says how to correct the program.
fn all_are_told(outcomes: &Runs, words: &[&str]) {
    outcomes.all_say(words).all_say(&["both descriptions are equal", "types with one name", "the same executable"]);
    let mut all = outcomes.0.iter().flat_map(|outcomes| &outcomes.ranks);
    assert!(all.all(|outcome| matches!(outcome, Some(Err(Error::Mismatch { .. })))), "{outcomes:?}");
}

#[test]
fn two_operations_at_once() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<u64>::new(world, N)?;
        if world.rank() == 1 {
            operation!(|current, operand| current + operand);
            v.release_c_with(O)?.finish()
        } else {
            operation!(|current, operand| current.max(operand));
            v.release_c_with(O)?.finish()
        }
    });
    all_are_told(&outcomes, &["opened a ReleaseC with operation O"]);
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<u64>::new(world, N)?;
        if world.rank() == 1 {
            operation!(|current, operand| current + operand);
            v.accumulate(O)?.finish()
        } else {
            operation!(|current, operand| current.max(operand));
            v.accumulate(O)?.finish()
        }
    });
    all_are_told(&outcomes, &["opened an Accumulate with operation O"]);
}

#[test]
fn two_elements_at_once() {
    let outcomes = every_route([2, 3]).run(|world| {
        if world.rank() == 1 {
            element!(u64);
            GVector::<E>::new(world, N).map(drop)
        } else {
            element!(f64);
            GVector::<E>::new(world, N).map(drop)
        }
    });
    all_are_told(&outcomes, &["is in the construction of a GVector<E> of 9 elements"]);
}

#[test]
fn two_values_of_scalars_at_once() {
    let outcomes = every_route([2, 3]).run(|world| {
        if world.rank() == 1 {
            element!(u64);
            GScalar::new(world, 0, E(1)).map(drop)
        } else {
            element!(f64);
            GScalar::new(world, 0, E(1.0)).map(drop)
        }
    });
    all_are_told(&outcomes, &["is in the construction of a GScalar<E> on rank 0"]);
}

#[test]
fn two_operations_of_a_scalar_in_sequence_and_a_rank_late_in_the_first() {
    on_every_route([2, 3], |job| {
        for late in 0..job.ranks {
            let order = Order::new();
            let outcomes = job.run(|world| {
                let mut s = GScalar::new(world, 0, 0u64)?;
                {
                    operation!(|current, operand| current + operand);
                    let mut sum = s.accumulate(O)?;
                    sum.update(10);
                    hold_back(world, late, &order);
                }
                {
                    operation!(|current, operand| current.max(operand));
                    let mut max = s.accumulate(O)?;
                    order.advance();
                    max.update(7);
                }
                assert_eq!(s.get()?, 10 * world.size() as u64);
                world.barrier()
            });
            outcomes.run.expect("a late rank is waited for");
        }
    });
}

#[test]
fn two_operations_of_a_scalar_at_once() {
    let outcomes = every_route([2, 3]).run(|world| {
        let s = GScalar::new(world, 0, 0u64)?;
        if world.rank() == 1 {
            operation!(|current, operand| current + operand);
            s.read_mostly_with(O)?.finish()
        } else {
            operation!(|current, operand| current.max(operand));
            s.read_mostly_with(O)?.finish()
        }
    });
    all_are_told(&outcomes, &["opened a ReadMostly with operation O"]);
    let outcomes = every_route([2, 3]).run(|world| {
        let mut s = GScalar::new(world, 0, 0u64)?;
        if world.rank() == 1 {
            operation!(|current, operand| current + operand);
            s.accumulate(O)?.finish()
        } else {
            operation!(|current, operand| current.max(operand));
            s.accumulate(O)?.finish()
        }
    });
    all_are_told(&outcomes, &["opened an Accumulate with operation O"]);
}

/// The calls of both ranks have the same text. Only their numbers differ.
#[test]
fn one_scope_more_of_the_same_line() {
    on_every_route([2, 3], |job| {
        let outcomes = job.run(|world| {
            let mut v = GVector::<u64>::new(world, N)?;
            for _ in 0..2 + usize::from(world.rank() == 1) {
                v.release_c()?.put(0, 7)?;
            }
            world.barrier()
        });
        outcomes.all_say(&["ranks disagree", "rank 1 opened a ReleaseC", "its scope 2 of it", "its scope 3 of it"]);
        assert!(!outcomes.text(0).contains("descriptions are equal"), "{}", outcomes.text(0));
    });
}
