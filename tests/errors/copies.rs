//! Copies that fail midway: data that arrive afterwards are not written to the destination.

use crate::provoke::{Order, caught, on_every_route};
use aurora_core::prelude::*;
use std::panic::panic_any;
use std::time::Duration;

/// The elements of each rank's block: enough for a copy that takes a while.
const BLOCK: usize = 1 << 20;

/// Memory of the size of a copy's destination, most likely the very same memory.
fn reused(len: usize) -> Vec<u64> {
    vec![0xdead_beef; len]
}

fn untouched(memory: &[u64]) -> bool {
    memory.iter().all(|x| *x == 0xdead_beef)
}

/// Rank 0 copies everything. Rank 2 is asked last and holds its block until it panics.
#[test]
fn nothing_lands_in_freed_memory() {
    on_every_route([3], |job| {
        let order = Order::new();
        let outcomes = job.run(|world| {
            let mut v = GVector::<u64>::from_fn(world, 3 * BLOCK, |i| i as u64)?;
            if world.rank() == 2 {
                caught(|| {
                    let mut own = v.owner_computes_mut().unwrap();
                    own.local_mut()[0] = 1;
                    order.advance();
                    // Rank 0's copy is still active.
                    order.wait_for(2);
                    panic_any("half a phase")
                });
            }
            order.wait_for(1);
            if world.rank() != 0 {
                order.wait_for(3);
                return v.at(0).map(drop);
            }
            order.advance();
            let mut memory = vec![1u64; 3 * BLOCK];
            let outcome = distmemcpy(&mut memory[..], v.range(..));
            drop(memory);
            let again = reused(3 * BLOCK);
            order.advance();
            for _ in 0..10 {
                std::thread::sleep(Duration::from_millis(10));
                let _ = v.at(0);
                assert!(untouched(&again), "something landed");
            }
            outcome
        });
        outcomes.all_say(&["rank 2 panicked inside the OwnerComputes"]);
    });
}

/// The answers of the copy are still on the network when the job ends.
#[test]
fn nothing_lands_after_a_job_has_failed() {
    on_every_route([2, 3], |job| {
        for pause in [0, 1, 3, 10] {
            let order = Order::new();
            let outcomes = job.run_freely(|world| {
                let v = GVector::<u64>::from_fn(world, job.ranks * BLOCK, |i| i as u64)?;
                if world.rank() == 1 {
                    order.wait_for(1);
                    std::thread::sleep(Duration::from_millis(pause));
                    return Err(Error::user("rank 1 has had enough"));
                }
                if world.rank() != 0 {
                    return world.barrier();
                }
                loop {
                    let mut memory = vec![1u64; v.len()];
                    order.advance();
                    let outcome = distmemcpy(&mut memory[..], v.range(..));
                    drop(memory);
                    let again = reused(v.len());
                    if outcome.is_err() {
                        std::thread::sleep(Duration::from_millis(30));
                        assert!(untouched(&again), "something landed");
                        break outcome;
                    }
                }
            });
            outcomes.says(0, &["rank 1 failed: rank 1 has had enough"]);
        }
    });
}

/// The source is freed before all of it has been sent. The owners never get other memory in its place.
#[test]
fn a_copy_in_that_fails_midway_sends_nothing_else() {
    on_every_route([3], |job| {
        let order = Order::new();
        let outcomes = job.run(|world| {
            let mut v = GVector::<u64>::new(world, 3 * BLOCK)?;
            if world.rank() == 2 {
                caught(|| {
                    let own = v.owner_computes().unwrap();
                    assert_eq!(own.local()[0], 0);
                    order.advance();
                    order.wait_for(2);
                    panic_any("half a phase")
                });
            }
            order.wait_for(1);
            if world.rank() != 0 {
                order.wait_for(3);
                return v.at(0).map(drop);
            }
            order.advance();
            let memory = vec![7u64; 3 * BLOCK];
            let outcome = distmemcpy(v.range_mut(..), &memory[..]);
            drop(memory);
            let again = reused(3 * BLOCK);
            order.advance();
            std::thread::sleep(Duration::from_millis(50));
            assert!(untouched(&again));
            outcome
        });
        outcomes.all_say(&["rank 2 panicked inside the OwnerComputes"]);
    });
}

/// One call writes to two vectors, and the write to one of them fails midway. All data that were counted as sent to the
/// other vector arrive there, so that its next load completes.
#[test]
fn a_copy_in_that_fails_midway_leaves_the_other_vector_whole() {
    on_every_route([3], |job| {
        let order = Order::new();
        let outcomes = job.run(|world| {
            let mut sound = GVector::<u64>::new(world, 3 * BLOCK)?;
            let mut broken = GVector::<u64>::new(world, 3)?;
            let mut outcome = Ok(());
            if world.rank() == 2 {
                caught(|| {
                    let own = broken.owner_computes().unwrap();
                    assert_eq!(own.local(), [0]);
                    order.advance();
                    // Wait until the copy has begun, long before its end.
                    let first = sound.local_range().start;
                    while sound.at(first).unwrap() == 0 {
                        std::hint::spin_loop();
                    }
                    panic_any("half a phase")
                });
            }
            if world.is_root() {
                order.wait_for(1);
                let memory = vec![7u64; 3 * BLOCK];
                outcome = distmemcpy_many([(broken.range_mut(..), &[1; 3][..]), (sound.range_mut(..), &memory[..])]);
                assert!(matches!(outcome, Err(Error::Poisoned { .. })), "{outcome:?}");
                drop(memory);
                assert!(untouched(&reused(3 * BLOCK)));
            }
            let all = sound.read_cache()?;
            assert!(all.iter().all(|x| *x == 0 || *x == 7));
            outcome
        });
        outcomes.says(0, &["is poisoned", "rank 2 panicked inside the OwnerComputes"]);
        assert!(outcomes.ranks[1..].iter().flatten().all(Result::is_ok), "{outcomes:?}");
    });
}

/// A failed call cancels its requests. A rank that holds one of the requested blocks and waits for us must not be taken
/// for a part of a deadlock.
#[test]
fn a_copy_out_that_fails_at_once_waits_for_nobody_afterwards() {
    on_every_route([3], |job| {
        let order = Order::new();
        let outcomes = job.run(|world| {
            let mut held = GVector::<u64>::new(world, 3)?;
            let mut late = GVector::<u64>::new(world, 3)?;
            let mut broken = GVector::<u64>::new(world, 3)?;
            if world.rank() == 2 {
                caught(|| {
                    let _own = broken.owner_computes_mut().unwrap();
                    panic_any("half a phase")
                });
            }
            world.barrier()?;
            match world.rank().index() {
                0 => {
                    order.wait_for(2);
                    let (mut first, mut second) = ([0], [0]);
                    let pairs = [(&mut first[..], held.range(1..2)), (&mut second[..], broken.range(1..2))];
                    let outcome = distmemcpy_many(pairs);
                    assert!(matches!(outcome, Err(Error::Poisoned { .. })), "{outcome:?}");
                    assert_eq!(late.at(2)?, 5);
                }
                1 => {
                    let mut own = held.owner_computes_mut()?;
                    own.local_mut()[0] = 1;
                    order.advance();
                    world.barrier()?;
                    return own.finish();
                }
                _ => {
                    let mut own = late.owner_computes_mut()?;
                    own.local_mut()[0] = 5;
                    order.advance();
                    // The waiting ranks check for a deadlock several times in this time.
                    std::thread::sleep(Duration::from_millis(300));
                    own.finish()?;
                }
            }
            world.barrier()
        });
        outcomes.run.expect("each waits for the next and nobody in a circle");
    });
}
