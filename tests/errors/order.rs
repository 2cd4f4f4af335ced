//! Ranks that make the same collective calls on two objects in different order.

use crate::pairs::CALLS;
use crate::provoke::{Job, every_route, on_every_route};
use crate::scalars::KINDS;
use aurora_core::prelude::*;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Rank 0 makes two calls in one order, the other rank in the reverse order. Both soon get an error with both lines.
fn other_way_round<Objects>(
    job: Job,
    lines: [&str; 2],
    made: impl Fn(&World) -> Result<Objects> + Sync,
    first: impl Fn(&World, &mut Objects) -> Result<()> + Sync,
    second: impl Fn(&World, &mut Objects) -> Result<()> + Sync,
) {
    let begun = Instant::now();
    let outcomes = job.run(|world| {
        let mut objects = made(world)?;
        if world.is_root() {
            first(world, &mut objects)?;
            second(world, &mut objects)
        } else {
            second(world, &mut objects)?;
            first(world, &mut objects)
        }
    });
    let is_typed =
        |outcome: &Option<Result<()>>| matches!(outcome, Some(Err(Error::Mismatch { .. } | Error::Deadlock { .. })));
    assert!(outcomes.ranks.iter().all(is_typed), "{lines:?}: {outcomes:#?}");
    outcomes.all_cite(&lines);
    assert!(begun.elapsed() < Duration::from_secs(5), "{lines:?}");
}

#[test]
fn two_calls_the_other_way_round() {
    on_every_route([2], |job| {
        for (at, first) in CALLS.iter().enumerate() {
            for second in &CALLS[at..] {
                if ["world.barrier()", "GVector::<u8>::new(world, 3)"].contains(&first.0) && first.0 == second.0 {
                    // These calls belong to no vector, so the order is the same.
                    continue;
                }
                other_way_round(
                    job,
                    [first.0, second.0],
                    |world| Ok([GVector::<i32>::new(world, 10)?, GVector::<i32>::new(world, 20)?]),
                    |world, [a, _]| first.1(world, a),
                    |world, [_, b]| second.1(world, b),
                );
            }
        }
    });
}

/// The two scalars have their homes on different ranks.
#[test]
fn scopes_of_two_scalars_the_other_way_round() {
    on_every_route([2], |job| {
        for (at, first) in KINDS.iter().enumerate() {
            for second in &KINDS[at..] {
                other_way_round(
                    job,
                    [first.1, second.1],
                    |world| Ok([GScalar::new(world, 0, 1u64)?, GScalar::new(world, 1, 2u64)?]),
                    |_, [a, _]| first.0(a),
                    |_, [_, b]| second.0(b),
                );
            }
        }
    });
}

#[test]
fn a_scalar_and_a_vector_the_other_way_round() {
    let routes = Cell::new(0);
    on_every_route([2], |job| {
        let route = routes.replace(routes.get() + 1);
        for (number, (line, call)) in CALLS.iter().enumerate() {
            // Each call and each kind once with both homes and over each route, but not every pair.
            for (other, (step, kind)) in KINDS.iter().enumerate().filter(|(other, _)| (number + other) % 4 == route) {
                let home = (number / 2 + other) % 2;
                other_way_round(
                    job,
                    [line, kind],
                    |world| Ok((GVector::<i32>::new(world, 10)?, GScalar::new(world, home, 1u64)?)),
                    |world, (v, _)| call(world, v),
                    |_, (_, s)| step(s),
                );
            }
        }
    });
}

#[test]
fn a_circle_of_three() {
    on_every_route([3], |job| {
        let outcomes = job.run(|world| {
            let me = world.rank().index();
            let mut all: Vec<_> = (0..3).map(|_| GVector::<i32>::new(world, 10)).collect::<Result<_>>()?;
            match me {
                0 => all[0].read_cache()?.finish(),
                1 => all[1].release_c()?.finish(),
                _ => all[2].fill(1),
            }
        });
        // The rank that finds the deadlock names two of the three lines.
        for rank in 0..3 {
            let text = outcomes.text(rank);
            let lines = ["all[0].read_cache()", "all[1].release_c()", "all[2].fill(1)"];
            let cited = crate::provoke::cited(&text);
            let named = lines.iter().filter(|line| cited.iter().any(|cited| cited.contains(**line)));
            assert!(named.count() >= 2, "{text}");
        }
        assert!(outcomes.run.is_err());
    });
}

#[test]
fn ends_that_wait_for_nobody_may_come_in_any_order() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut a = GVector::<i32>::new(world, 10)?;
        let b = GVector::<i32>::from_fn(world, 20, |i| i as i32)?;
        let s = GScalar::new(world, 0, 0u64)?;
        let write = |a: &mut GVector<i32>| a.release_c()?.put(world.rank().index(), 7);
        if world.is_root() {
            write(&mut a)?;
            assert_eq!(b.read_cache()?[19], 19);
        } else {
            // The home of the scalar is in a ReadCache, or waits there for this rank.
            s.fetch_add(1)?;
            assert_eq!(b.read_cache()?[19], 19);
            write(&mut a)?;
        }
        assert_eq!(a.read_cache()?[0], 7);
        assert_eq!(s.get()? as usize, world.size() - 1);
        world.barrier()
    });
    outcomes.succeed("no rank waits for another in a circle");
}
