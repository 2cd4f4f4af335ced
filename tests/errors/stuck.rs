//! Waits that can never end: deadlocks, ranks that have left, and time limits.

use crate::provoke::{Order, every_route, on_every_route};
use aurora_core::prelude::*;
use std::time::{Duration, Instant};

#[test]
fn a_circle_through_lent_blocks() {
    on_every_route([2, 3], |job| {
        let order = Order::new();
        let outcomes = job.run(|world| {
            let (me, size) = (world.rank().index(), world.size());
            let mut mine = GVector::<i32>::new(world, 12)?;
            let mut theirs = GVector::<i32>::new(world, 12)?;
            if me % 2 == 1 {
                // The odd ranks lend the block that the even ranks need, and the reverse.
                std::mem::swap(&mut mine, &mut theirs);
            }
            let mut odd_lend = mine.owner_computes_mut()?;
            odd_lend.local_mut()[0] = 1;
            order.advance();
            order.wait_for(size);
            let next = theirs.range_of((me + 1) % 2).start;
            let asked = theirs.at(next);
            // After two ranks have given up, a third rank may get its answer; the job has failed anyway.
            asked?;
            world.barrier()
        });
        outcomes
            .all_say(&["ranks wait for each other and none can go on"])
            .all_say(&["rank 0 waits for the answer to `at` on", "rank 1 waits for the answer to `at` on"])
            .all_say(&["held back by the OwnerComputes that rank 1 opened at"])
            .all_say(&["held back by the OwnerComputes that rank 0 opened at"])
            .all_cite(&["let asked = theirs.at(next)", "let mut odd_lend"]);
    });
}

/// Rank 1 has not entered a scope yet, because a guard holds it back: the guard is the cause.
#[test]
fn a_guard_that_holds_a_rank_back_from_a_scope() {
    on_every_route([2], |job| {
        let order = Order::default();
        let outcomes = job.run(|world| {
            let mut lent = GVector::<i32>::on(world, 0, 10)?;
            let mut all = GVector::<i32>::new(world, 10)?;
            if world.rank() == 0 {
                let mut held = lent.owner_computes_mut()?;
                held.local_mut()[0] = 1;
                order.advance();
                drop(all.release_c()?);
                all.at(9)?;
            } else {
                order.wait_for(1);
                lent.at(0)?;
                drop(all.release_c()?);
            }
            world.barrier()
        });
        outcomes
            .all_say(&["ranks wait for each other", "held back by the OwnerComputes that rank 0 opened at"])
            .all_cite(&["let mut held", "lent.at(0)", "all.at(9)"]);
    });
}

#[test]
fn a_circle_of_a_held_back_put_and_a_barrier() {
    on_every_route([2, 3], |job| {
        let order = Order::new();
        let outcomes = job.run(|world| {
            let mut v = GVector::<i32>::new(world, 12)?;
            if world.rank() == 1 {
                let seen = v.owner_computes()?;
                assert_eq!(seen.local()[0], 0);
                order.advance();
                world.barrier()?;
                return Ok(());
            }
            order.wait_for(1);
            let far = v.range_of(1).start;
            v.put(far, 1)?;
            world.barrier()
        });
        // The guard is open, not forgotten. The error's words are true in both cases.
        outcomes.all_say(&["rank 1 has not closed the OwnerComputes"]).all_cite(&["let seen = v.owner_computes()"]);
    });
}

#[test]
fn a_circle_of_different_collectives() {
    let outcomes = every_route([2, 3]).run(|world| {
        let v = GVector::<i32>::new(world, 12)?;
        let w = GVector::<i32>::new(world, 12)?;
        if world.rank().index() == 0 {
            v.read_cache()?.finish()?;
            w.read_cache().map(drop)
        } else {
            w.read_cache()?.finish()?;
            v.read_cache().map(drop)
        }
    });
    outcomes.all_say(&["ranks disagree", "rank 0 opens a ReadCache"]);
}

#[test]
fn a_rank_that_has_left_while_others_wait_in_a_barrier() {
    let outcomes = every_route([2, 3, 4]).run_freely(|world| if world.rank() == 1 { Ok(()) } else { world.barrier() });
    let words = ["is in a barrier at", "but rank 1 has left `run` already"];
    outcomes.run_says(&words);
    outcomes.others_say(1, &words);
}

#[test]
fn a_rank_that_has_left_while_others_open_a_read_cache() {
    on_every_route([2, 3], |job| {
        let outcomes = job.run_freely(|world| {
            let v = GVector::<i32>::new(world, 10)?;
            if world.rank() == 1 {
                // The rank still serves its block, and never opens the scope.
                std::mem::forget(v);
                return Ok(());
            }
            v.read_cache().map(drop)
        });
        outcomes.others_say(1, &["rank 1 has left `run`", "opens a ReadCache of the GVector<i32>"]);
        assert!(outcomes.run.is_err());
    });
}

#[test]
fn a_rank_that_has_left_and_holds_back_a_put() {
    let outcomes = every_route([2, 3]).run_freely(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        if world.rank() == 1 {
            std::mem::forget(v);
            return Ok(());
        }
        // Rank 1 never opens this scope, and the put comes after it.
        drop(v.release_c()?);
        v.put(v.range_of(1).start, 7)
    });
    outcomes.run_says(&["rank 1 has left `run`"]);
    outcomes.others_say(1, &["rank 1 has left `run`", "waits for the answer to `put` on"]);
}

#[test]
fn a_wait_longer_than_the_limit() {
    const LIMIT: Duration = Duration::from_millis(400);
    on_every_route([2, 3], |job| {
        // The limit of the first wait counts: a rank that waits later gets its error.
        let (order, begun) = (Order::new(), Instant::now());
        let outcomes = job.limit(LIMIT).run(|world| {
            if world.rank() == 1 {
                // The rank computes, and gets the error in its next call.
                order.wait_for(world.size() - 1);
                std::thread::sleep(LIMIT / 8);
                return world.barrier();
            }
            let outcome = world.barrier();
            assert!(begun.elapsed() >= LIMIT, "{outcome:?} after {:?}", begun.elapsed());
            assert!(begun.elapsed() < LIMIT * 30, "after {:?}", begun.elapsed());
            order.advance();
            outcome
        });
        outcomes
            .all_say(&["is in a barrier at", "has waited for 400ms, longer than AURORA_TIMEOUT allows"])
            .all_say(&["missing: rank"])
            .all_cite(&["world.barrier()"]);
    });
}

#[test]
fn a_circle_through_the_room_for_own_writes() {
    let outcomes = every_route([2]).run(|world| {
        let mut v = GVector::<u64>::new(world, 300_000)?;
        let first = v.release_c()?;
        if world.rank() == 1 {
            world.barrier()?; // inside the scope
        }
        drop(first);
        let mut second = v.release_c()?;
        if world.rank() == 0 {
            (0..150_000).try_for_each(|i| second.put(i, 1))?;
        }
        drop(second);
        world.barrier()
    });
    outcomes
        .all_say(&["ranks disagree", "rank 0 waits in a ReleaseC for room to write to", "rank 1 is in a barrier"])
        .all_cite(&["world.barrier()?; // inside the scope"]);
}

/// An operation that blocks the rank that applies it, inside a call of its endpoint.
struct Blocks;

impl Op<u64> for Blocks {
    fn apply(_: u64, _: u64) -> u64 {
        loop {
            std::thread::park();
        }
    }
}

#[test]
#[ignore = "only for the next one to start"]
fn an_operation_that_blocks() {
    let ran = aurora_core::run(|world| {
        let mut v = GVector::<u64>::new(world, world.size())?;
        let owner: usize = std::env::var("OWNER").expect("a rank").parse().expect("a rank");
        let mut scope = v.release_c_with(Blocks)?;
        if world.rank() != owner {
            scope.update(owner, 1)?;
        }
        scope.finish()?;
        world.barrier()
    });
    panic!("ended: {}", ran.expect_err("it blocks"));
}

/// The thread that ends a process does not wait for the program's code.
#[test]
fn processes_end_while_an_operation_blocks() {
    for owner in ["0", "1"] {
        let variables = [("AURORA_RANKS", "3"), ("AURORA_ROUTE", "udp"), ("AURORA_TIMEOUT", "2"), ("OWNER", owner)];
        let output = crate::environment::started("true", "stuck::an_operation_that_blocks", &variables);
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("longer than AURORA_TIMEOUT allows"), "rank {owner}: {:?}: {text}", output.status);
    }
}
