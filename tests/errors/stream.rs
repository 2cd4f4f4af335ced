//! Errors around a streaming ReadCache: every rank that uses the vector gets the error, in any call.

use crate::provoke::{Quiet, caught, every_route, on_every_route};
use aurora_core::prelude::*;
use std::panic::panic_any;

/// The rank that does something else.
const ODD: usize = 1;

fn sum(v: &GVector<u64>) -> Result<u64> {
    let stream = v.read_cache_blocks()?;
    let blocks = stream.blocks();
    blocks.map(|block| block.map(|(_, elements)| elements.iter().sum::<u64>())).sum()
}

#[test]
fn another_behaviour() {
    let outcomes = every_route([2, 3, 4]).run(|world| {
        let mut v = GVector::<u64>::new(world, 100_000)?;
        if world.rank() == ODD {
            let scope = v.release_c()?;
            scope.finish()
        } else {
            sum(&v).map(drop)
        }
    });
    outcomes
        .all_say(&["ranks disagree", "opened a ReadCache", "rank 1 opened a ReleaseC"])
        .all_cite(&["v.read_cache_blocks()?", "v.release_c()"]);
}

#[test]
fn an_early_end_hides_no_disagreement() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<u64>::new(world, 100_000)?;
        if world.rank() == ODD {
            let _ = v.release_c().and_then(|scope| scope.finish());
        } else {
            // The rank may or may not have received blocks of other ranks yet.
            let _ = v.read_cache_blocks().map(drop);
        }
        v.fill(1)
    });
    outcomes.all_say(&["ranks disagree", "opened a ReadCache", "opened a ReleaseC"]);
}

#[test]
fn a_panic_between_two_pieces() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<u64>::new(world, 100_000)?;
        if world.rank() == ODD {
            caught(|| {
                let stream = v.read_cache_blocks().unwrap();
                stream.blocks().next();
                panic_any(Quiet)
            });
        } else {
            // The error may arrive before or after the last block.
            let _ = sum(&v);
        }
        let _ = world.barrier();
        v.fill(1)
    });
    outcomes
        .all_say(&["is poisoned: rank 1 panicked inside the streaming ReadCache that it opened at"])
        .all_cite(&["let stream = v.read_cache_blocks().unwrap()"]);
}

#[test]
fn a_rank_that_never_comes() {
    on_every_route([2, 3], |job| {
        let outcomes = job.run_freely(|world| {
            let v = GVector::<u64>::new(world, 100_000)?;
            if world.rank() == ODD {
                // The rank still serves its block, and never opens the scope.
                std::mem::forget(v);
                return Ok(());
            }
            sum(&v).map(drop)
        });
        assert!(outcomes.run.is_err(), "{outcomes:?}");
        outcomes.others_say(ODD, &["rank 1 has left `run` already", "opens a ReadCache"]);
    });
}

#[test]
fn a_forgotten_one() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<u64>::new(world, 100_000)?;
        let stream = v.read_cache_blocks()?;
        // No rank gets the error before all ranks have opened the scope. Afterwards it may arrive before or after
        // the last block.
        world.barrier()?;
        let _ = stream.blocks().next();
        if world.rank() == ODD {
            std::mem::forget(stream);
        } else {
            drop(stream);
        }
        v.fill(1)
    });
    outcomes
        .all_say(&["rank 1 has not closed the streaming ReadCache of the GVector<u64> of 100000"])
        .all_cite(&["let stream = v.read_cache_blocks()?"]);
}

#[test]
fn a_rank_that_never_comes_while_others_stream_in_a_barrier() {
    let outcomes = every_route([3, 4]).run(|world| {
        let v = GVector::<u64>::new(world, 100_000)?;
        if world.rank() == world.size() - 1 {
            v.read_cache()?.finish()?;
        } else if world.rank() != ODD {
            drop(v.read_cache_blocks()?);
        }
        world.barrier()
    });
    outcomes.all_say(&["ranks disagree"]);
}
