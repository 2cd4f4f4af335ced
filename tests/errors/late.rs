//! The other ranks wait for a late rank, without an error.

use crate::provoke::{Order, every_route, on_every_route};
use aurora_core::ops::Min;
use aurora_core::prelude::*;
use std::time::Duration;

const LATE: Duration = Duration::from_millis(1500);

#[test]
fn a_late_rank_is_waited_for() {
    let outcomes = every_route([2, 3]).run(|world| {
        let late = || {
            if world.rank() == 1 {
                std::thread::sleep(LATE / 4);
            }
        };
        let mut v = GVector::<i32>::new(world, 10)?;
        late();
        world.barrier()?;
        late();
        v.read_cache()?.finish()?;
        late();
        v.release_c()?.finish()?;
        late();
        v.fill(3)
    });
    outcomes.succeed("late is not an error");
}

#[test]
fn a_rank_that_holds_its_block_for_long_is_waited_for() {
    let outcomes = every_route([3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 12)?;
        if world.rank() == 1 {
            let mut own = v.owner_computes_mut()?;
            own.local_mut().fill(9);
            std::thread::sleep(LATE);
        }
        let far = v.range_of(1).start;
        if world.rank() != 1 {
            // Before or after the owner's scope, never in between.
            let seen = v.at_many(&[far, far + 3])?;
            assert!(seen == [0, 0] || seen == [9, 9], "{seen:?}");
            v.put(far + 1, 4)?;
        }
        world.barrier()
    });
    outcomes.succeed("late is not an error");
}

/// The other ranks wait for a third rank, not for the rank that they have asked. So their waits are no deadlock.
#[test]
fn a_request_that_is_held_back_for_a_late_third_is_waited_for() {
    for barrier in [true, false] {
        let outcomes = every_route([3]).run_freely(|world| {
            let mut v = GVector::<i32>::new(world, 9)?;
            let mut writes = v.release_c()?;
            if world.rank() == 0 {
                std::thread::sleep(LATE / 6);
            }
            writes.put(8, 5)?;
            drop(writes);
            if world.rank() == 1 {
                assert_eq!(v.at(8)?, 5);
            }
            // Rank 2 holds the request back while it is in the barrier or has left.
            if barrier { world.barrier() } else { Ok(()) }
        });
        outcomes.succeed("late is not an error");
    }
}

/// A batch of a ReleaseC alone waits at rank 0, which has lent its block. Its writer waits for an answer of rank 2 and
/// not for rank 0.
#[test]
fn a_batch_that_is_held_back_is_no_wait_before_somebody_waits_for_it() {
    on_every_route([3], |job| {
        let order = Order::new();
        let outcomes = job.run(|world| {
            let mut v = GVector::<u64>::new(world, 60_000)?;
            let mut w = GVector::<u64>::new(world, 12)?;
            let asked = w.range_of(2).start;
            match world.rank().index() {
                0 => {
                    let mut own = v.owner_computes_mut()?;
                    own.local_mut()[19_999] = 1;
                    order.advance();
                    world.barrier()?;
                }
                1 => {
                    order.wait_for(2);
                    let mut alone = v.release_alone()?;
                    // More than one batch, less than two.
                    (0..10_000).rev().step_by(2).chain((0..10_000).step_by(2)).try_for_each(|i| alone.put(i, 7))?;
                    assert_eq!(w.at(asked)?, 5);
                    world.barrier()?;
                    alone.finish()?;
                }
                _ => {
                    let mut own = w.owner_computes_mut()?;
                    own.local_mut()[0] = 5;
                    order.advance();
                    std::thread::sleep(LATE / 3);
                    drop(own);
                    world.barrier()?;
                }
            }
            world.barrier()?;
            assert_eq!(v.at_many(&[0, 9_999, 19_999])?, [7, 7, 1]);
            world.barrier()
        });
        outcomes.run.expect("late is not an error");
    });
}

/// Rank 0 is too far ahead of rank 2. Rank 1 still has a scope open that rank 0 has ended, and waits for rank 0 in a
/// load after further scopes.
#[test]
fn who_is_too_far_ahead_waits_for_who_is_late() {
    let outcomes = every_route([3]).run(|world| {
        let mut v = GVector::<u64>::new(world, 30)?;
        let (mut left, mut rest) = v.split_at_mut(10);
        let (mut middle, right) = rest.split_at_mut(20);
        let mut around = Some(left.slice_mut(..).release_c()?);
        match world.rank().index() {
            0 => drop(around.take()),
            1 => {}
            _ => std::thread::sleep(LATE / 3),
        }
        for _ in 0..8 {
            drop(middle.slice_mut(..).release_c()?);
        }
        assert_eq!(right.slice(..).read_cache()?[..], [0; 10]);
        drop(around);
        world.barrier()
    });
    outcomes.succeed("late is not an error");
}

#[test]
fn room_behind_a_late_third_is_waited_for() {
    let outcomes = every_route([3]).run(|world| {
        let mut v = GVector::<u64>::new(world, 300_000)?;
        let first = v.release_c()?;
        if world.rank() == 0 {
            std::thread::sleep(LATE / 6);
        }
        drop(first);
        let mut second = v.release_c()?;
        if world.rank() == 1 {
            // More than may be in transit to rank 2, which applies nothing before the first scope has ended.
            (200_000..300_000).try_for_each(|i| second.put(i, 1))?;
        }
        drop(second);
        world.barrier()
    });
    outcomes.succeed("late is not an error");
}

/// An operation that takes time, in which the rank that applies it does nothing else.
struct Slow;

impl Op<u64> for Slow {
    fn apply(current: u64, operand: u64) -> u64 {
        std::thread::sleep(LATE / 300);
        current + operand
    }
}

/// Rank 3 receives for rank 2 the block that rank 1 sends slowly, while rank 3 is in the barrier or has left.
#[test]
fn a_load_that_is_received_in_the_background_is_waited_for() {
    const EACH: usize = 4 << 20;
    for barrier in [true, false] {
        on_every_route([4], |job| {
            if !job.is_nodes() {
                return;
            }
            let outcomes = job.run_freely(|world| {
                let (me, mine) = (world.rank(), world.rank().index());
                let mut w = GVector::<u64>::new(world, world.size())?;
                w.release_c_with(Slow)?.finish()?;
                let mut v = GVector::<u64>::new(world, EACH * world.size())?;
                v.read_cache()?.finish()?;
                // The only block that is sent.
                if me == 1 {
                    v.owner_computes_mut()?.local_mut().fill(7);
                }
                world.barrier()?;
                if me == 2 {
                    let all = v.read_cache()?;
                    assert!([EACH, 2 * EACH - 1].iter().all(|i| all[*i] == 7) && all[2 * EACH] == 0);
                } else {
                    drop(v.read_cache_blocks()?);
                }
                for _ in 0..if me == 1 { 60 } else { 0 } {
                    let mut alone = w.release_alone_with(Slow)?;
                    alone.update(mine, 1)?;
                    alone.finish()?;
                }
                if barrier { world.barrier() } else { Ok(()) }
            });
            outcomes.run.expect("late is not an error");
        });
    }
}

/// Because a third rank is late, the home of a scalar has not yet reported the end of a scope. The home itself is in
/// the barrier or has left.
#[test]
fn a_home_that_waits_for_a_late_third_is_waited_for() {
    for barrier in [true, false] {
        let outcomes = every_route([3]).run_freely(|world| {
            let mut s = GScalar::new(world, 0, 0)?;
            let mut scope = s.release_c()?;
            match world.rank().index() {
                0 => drop(scope),
                1 => {
                    std::thread::sleep(LATE / 6);
                    scope.set(5)?;
                    drop(scope);
                }
                _ => scope.finish()?,
            }
            if barrier { world.barrier() } else { Ok(()) }
        });
        outcomes.succeed("late is not an error");
    }
}

#[test]
fn a_read_mostly_of_a_late_third_is_waited_for() {
    for barrier in [true, false] {
        let outcomes = every_route([3]).run_freely(|world| {
            let s = GScalar::new(world, 0, 9u64)?;
            let scope = s.read_mostly_with(Min)?;
            match world.rank().index() {
                0 => drop(scope),
                1 => {
                    std::thread::sleep(LATE / 6);
                    scope.offer(5)?;
                    drop(scope);
                }
                _ => scope.finish()?,
            }
            if barrier { world.barrier() } else { Ok(()) }
        });
        outcomes.succeed("late is not an error");
    }
}
