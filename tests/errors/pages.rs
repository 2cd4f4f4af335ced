//! Errors in scopes of pages: ranks that call `sync` a different number of times, forgotten guards, panics, and two
//! ranks that write one element.

use crate::provoke::{Job, Quiet, caught, every_route, on_every_route};
use aurora_core::Raced;
use aurora_core::prelude::*;
use std::mem::forget;
use std::panic::panic_any;
use std::thread::sleep;
use std::time::Duration;

/// The rank that behaves differently.
const ODD: usize = 1;

#[test]
fn a_rank_that_ends_its_scope_while_others_sync() {
    let outcomes = every_route([2, 3]).run_freely(|world| {
        let mut v = GVector::<i32>::new(world, 5000)?;
        let mut pages = v.paged_mut()?;
        pages.sync()?;
        if world.rank() == ODD {
            pages.finish()?;
            v.at(0).map(drop)
        } else {
            pages.sync()
        }
    });
    outcomes
        .run_says(&["ranks disagree", "rank 1 is in sync 1 of its Paged of the GVector<i32>", " is in sync 2 of"])
        .run_cites(&["pages.sync()?", "pages.sync()"]);
}

#[test]
fn a_rank_that_comes_to_another_call_while_others_sync() {
    let outcomes = every_route([2, 3]).run_freely(|world| {
        let mut v = GVector::<i32>::new(world, 5000)?;
        let mut pages = v.paged_mut()?;
        if world.rank() == ODD {
            world.barrier()?; // instead
        }
        pages.sync()
    });
    outcomes
        .run_says(&["ranks disagree", "sync 1 of the GVector<i32>", "a barrier"])
        .run_cites(&["world.barrier()", "pages.sync()"]);
}

#[test]
fn ranks_that_open_different_scopes() {
    let outcomes = every_route([2, 3]).run_freely(|world| {
        let mut v = GVector::<i32>::new(world, 5000)?;
        if world.rank() == ODD { v.release_c()?.finish() } else { v.paged_mut()?.finish() }
    });
    outcomes
        .run_says(&["ranks disagree", "opened a Paged of", "opened a ReleaseC of"])
        .run_cites(&["v.release_c()", "v.paged_mut()"]);
}

#[test]
fn ranks_that_open_a_scope_to_read_and_one_to_write() {
    let outcomes = every_route([2, 3]).run_freely(|world| {
        let mut v = GVector::<i32>::new(world, 5000)?;
        if world.rank() == ODD { v.paged()?.finish() } else { v.paged_mut()?.finish() }
    });
    let words = ["ranks disagree", "rank 1 opened a Paged for reading of the GVector<i32>", " opened a Paged of"];
    outcomes.run_says(&words).run_cites(&["v.paged()?", "v.paged_mut()?"]);
}

/// The read would wait for the end of the rank's own scope.
#[test]
fn a_vector_that_is_read_beside_its_own_scope() {
    type Read = fn(&GVector<i32>) -> Result<()>;
    let reads: [Read; 3] = [|v| v.at(0).map(drop), |v| v.at(4999).map(drop), |v| v.read_cache().map(drop)];
    for read in reads {
        let outcomes = every_route([1, 2, 3]).run(|world| {
            let v = GVector::<i32>::new(world, 5000)?;
            let pages = v.paged()?; // still open
            let outcome = read(&v);
            drop(pages);
            outcome
        });
        outcomes.all_say(&["has not closed the Paged of the GVector<i32>"]).all_cite(&["let pages"]);
    }
}

#[test]
fn a_guard_that_is_forgotten() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 5000)?;
        let pages = v.paged_mut()?; // forgotten by one
        if world.rank() == ODD {
            forget(pages);
        } else {
            pages.finish()?;
        }
        v.at(0).map(drop)
    });
    outcomes.all_say(&["rank 1 has not closed the Paged of the GVector<i32>"]).all_cite(&["let pages"]);
}

#[test]
fn a_panic_in_a_scope() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 5000)?;
        let opened = v.paged_mut();
        let mut pages = opened?;
        pages.put(world.rank().index(), 1)?;
        if world.rank() == ODD {
            caught(|| {
                let _pages = pages;
                panic_any(Quiet);
            });
        } else {
            drop(pages);
        }
        v.at(0).map(drop)
    });
    outcomes.all_say(&["rank 1 panicked", "Paged"]).all_cite(&["v.paged_mut()"]);
}

#[test]
fn two_ranks_that_write_one_element_between_syncs() {
    for (by_end, late) in [(false, 0), (false, 100), (true, 0)] {
        on_every_route([2, 3], |job| {
            let outcomes = job.checking().run(|world| {
                let mut v = GVector::<i32>::new(world, 5000)?;
                let mut pages = v.paged_mut()?;
                match world.rank().index() {
                    0 => pages.put(4321, 1)?,
                    1 => pages.slice_mut(4000..4400)?[321] = 2,
                    _ => pages.put(4322, 3)?,
                }
                world.barrier()?;
                if world.rank().index() == 2 {
                    // The owner of these elements knows the race before it calls `sync`.
                    sleep(Duration::from_millis(late));
                }
                let synced = if by_end { pages.finish() } else { pages.sync().and(pages.finish()) };
                world.barrier()?;
                synced?;
                v.at(0).map(drop)
            });
            for outcome in &outcomes.ranks {
                assert!(matches!(outcome, Some(Err(Error::Race { what: Raced::Element(4321), .. }))), "{outcome:?}");
            }
            outcomes.all_say(&["inside the Paged opened at", "let one rank write it before the next `sync`"]);
            outcomes.all_cite(&["0 => pages.put(4321, 1)", "1 => pages.slice_mut(4000..4400)", "v.paged_mut()"]);
        });
    }
}

#[test]
fn writes_that_a_sync_or_the_scope_orders() {
    let outcomes = every_route([2, 3]).with(Job::checking).run(|world| {
        let (me, p) = (world.rank().index(), world.size());
        let mut v = GVector::<i32>::new(world, 5000)?;
        v.put(17 * me, 1)?;
        world.barrier()?;
        let mut pages = v.paged_mut()?;
        for turn in 0..3 {
            // All elements are in one page, and the ranks write each element in turn.
            pages.put(17 * ((me + turn) % p), turn as i32)?;
            pages.sync()?;
        }
        pages.put(17 * me, 5)?;
        drop(pages);
        assert_eq!(v.at(17 * ((me + 1) % p))?, 5);
        world.barrier()?;
        v.put(17 * me, 6)?;
        world.barrier()
    });
    outcomes.succeed("nothing races");
}
