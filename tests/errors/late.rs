//! A rank that is merely late is waited for, without a word.

use crate::provoke::on_every_route;
use aurora_core::prelude::*;
use std::time::Duration;

const LATE: Duration = Duration::from_millis(1500);

#[test]
fn a_late_rank_is_waited_for() {
    on_every_route([2, 3], |job| {
        let told = job.run(|world| {
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
        told.run.expect("late is not an error");
    });
}

#[test]
fn a_rank_that_holds_its_block_for_long_is_waited_for() {
    on_every_route([3], |job| {
        let told = job.run(|world| {
            let mut v = GVector::<i32>::new(world, 12)?;
            if world.rank() == 1 {
                let mut own = v.owner_computes_mut()?;
                own.local_mut().fill(9);
                std::thread::sleep(LATE);
            }
            let far = v.range_of(1).start;
            if world.rank() != 1 {
                // Before or after, never between.
                let seen = v.at_many(&[far, far + 3])?;
                assert!(seen == [0, 0] || seen == [9, 9], "{seen:?}");
                v.put(far + 1, 4)?;
            }
            world.barrier()
        });
        told.run.expect("late is not an error");
    });
}
