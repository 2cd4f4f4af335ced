//! Ranks that make the same collective calls of two vectors in different order.

use crate::pairs::CALLS;
use crate::provoke::on_every_route;
use aurora_core::prelude::*;
use std::time::{Duration, Instant};

#[test]
fn two_calls_the_other_way_round() {
    on_every_route([2], |job| {
        for (at, first) in CALLS.iter().enumerate() {
            for second in &CALLS[at..] {
                if ["world.barrier()", "GVector::<u8>::new(world, 3)"].contains(&first.0) && first.0 == second.0 {
                    // Of no vector: that is the same order.
                    continue;
                }
                let begun = Instant::now();
                let told = job.run(|world| {
                    let mut a = GVector::<i32>::new(world, 10)?;
                    let mut b = GVector::<i32>::new(world, 20)?;
                    if world.is_root() {
                        first.1(world, &mut a)?;
                        second.1(world, &mut b)
                    } else {
                        second.1(world, &mut b)?;
                        first.1(world, &mut a)
                    }
                });
                let is_typed = |told: &Option<Result<()>>| {
                    matches!(told, Some(Err(Error::Mismatch { .. } | Error::Deadlock { .. })))
                };
                assert!(told.ranks.iter().all(is_typed), "{} and {}: {told:#?}", first.0, second.0);
                told.all_cite(&[first.0, second.0]);
                assert!(begun.elapsed() < Duration::from_secs(5), "{} and {}", first.0, second.0);
            }
        }
    });
}

#[test]
fn a_circle_of_three() {
    on_every_route([3], |job| {
        let told = job.run(|world| {
            let me = world.rank().index();
            let mut all: Vec<_> = (0..3).map(|_| GVector::<i32>::new(world, 10)).collect::<Result<_>>()?;
            match me {
                0 => all[0].read_cache()?.finish(),
                1 => all[1].release_c()?.finish(),
                _ => all[2].fill(1),
            }
        });
        // Who finds it names two of the three.
        for rank in 0..3 {
            let text = told.text(rank);
            let lines = ["all[0].read_cache()", "all[1].release_c()", "all[2].fill(1)"];
            let cited = crate::provoke::cited(&text);
            let named = lines.iter().filter(|line| cited.iter().any(|cited| cited.contains(**line)));
            assert!(named.count() >= 2, "{text}");
        }
        assert!(told.run.is_err());
    });
}

#[test]
fn ends_that_wait_for_nobody_may_come_in_any_order() {
    on_every_route([2, 3], |job| {
        let told = job.run(|world| {
            let mut a = GVector::<i32>::new(world, 10)?;
            let b = GVector::<i32>::from_fn(world, 20, |i| i as i32)?;
            let s = GScalar::new(world, 0, 0u64)?;
            let write = |a: &mut GVector<i32>| a.release_c()?.put(world.rank().index(), 7);
            if world.is_root() {
                write(&mut a)?;
                assert_eq!(b.read_cache()?[19], 19);
            } else {
                // Its home is in a ReadCache, or waits for us there.
                s.fetch_add(1)?;
                assert_eq!(b.read_cache()?[19], 19);
                write(&mut a)?;
            }
            assert_eq!(a.read_cache()?[0], 7);
            assert_eq!(s.get()? as usize, world.size() - 1);
            world.barrier()
        });
        told.run.expect("no rank waits for another in a circle");
    });
}
