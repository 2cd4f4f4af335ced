//! Errors in scopes of scalars: ranks that disagree, panics, forgotten guards, ranks that never open a scope.

use crate::provoke::{Job, Quiet, caught, every_route, on_every_route};
use aurora_core::ops::{Max, Min, Sum};
use aurora_core::prelude::*;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};

/// The rank that makes the error.
const CULPRIT: usize = 1;

/// An action on a scalar.
pub type Step = fn(&mut GScalar<u64>) -> Result<()>;

/// Runs a test with the home on the culprit, and with the home on another rank.
fn at_each_home(ranks: impl IntoIterator<Item = usize>, test: impl Fn(Job, usize)) {
    on_every_route(ranks, |job| (0..2).for_each(|home| test(job, home)));
}

/// The collective scopes of a scalar, opened and ended, and their words in an error. The words identify the line too.
pub const KINDS: [(Step, &str); 6] = [
    (|s| s.read_cache()?.finish(), "opened a ReadCache of the GScalar<u64>"),
    (|s| s.release_c()?.finish(), "opened a ReleaseC of the GScalar<u64>"),
    (|s| s.accumulate(Sum)?.finish(), "opened an Accumulate with operation Sum of the GScalar<u64>"),
    (|s| s.accumulate(Min)?.finish(), "opened an Accumulate with operation Min of the GScalar<u64>"),
    (|s| s.read_mostly()?.finish(), "opened a ReadMostly of the GScalar<u64>"),
    (|s| s.read_mostly_with(Max)?.finish(), "opened a ReadMostly with operation Max of the GScalar<u64>"),
];

#[test]
fn different_behaviours() {
    at_each_home([2, 3], |job, home| {
        for (at, (usual, first)) in KINDS.iter().enumerate() {
            for (odd, second) in &KINDS[at + 1..] {
                let outcomes = job.run(|world| {
                    let mut s = GScalar::new(world, home, 0u64)?;
                    if world.rank() == CULPRIT { odd(&mut s) } else { usual(&mut s) }
                });
                outcomes.all_say(&["ranks disagree", first, second, "rank 1 opened"]);
            }
        }
    });
}

#[test]
fn a_scope_that_one_rank_does_not_open() {
    at_each_home([2, 3], |job, home| {
        for (step, text) in KINDS {
            let outcomes = job.run(|world| {
                let mut s = GScalar::new(world, home, 0u64)?;
                if world.rank() != CULPRIT {
                    step(&mut s)?;
                }
                world.barrier()
            });
            // A rank that waits for the other rank names that. A rank that need not wait gets the scope of the other
            // rank.
            for rank in 0..outcomes.ranks.len() {
                let report = outcomes.text(rank);
                let kind = text.split(' ').nth(2).expect("a name");
                assert!(report.contains(kind) || report.contains("waits for the end of a scope"), "{report}");
            }
        }
    });
}

#[test]
fn panics_poison_on_every_rank() {
    type Open = fn(&mut GScalar<u64>);
    let kinds: [(&str, Open); 4] = [
        ("ReadCache", |s| {
            let _seen = s.read_cache().unwrap();
            panic_any(Quiet)
        }),
        ("ReleaseC", |s| {
            s.release_c().unwrap().set(666).unwrap();
            let mut scope = s.release_c().unwrap();
            scope.set(666).unwrap();
            panic_any(Quiet)
        }),
        ("Accumulate", |s| {
            let mut scope = s.accumulate(Sum).unwrap();
            scope.update(666);
            panic_any(Quiet)
        }),
        ("ReadMostly", |s| {
            let scope = s.read_mostly_with(Min).unwrap();
            scope.offer(0).unwrap();
            panic_any(Quiet)
        }),
    ];
    let uses: [Step; 7] = [
        |s| s.get().map(drop),
        |s| s.set(1),
        |s| s.fetch_add(1).map(drop),
        |s| s.read_cache().map(drop),
        |s| s.release_c().map(drop),
        |s| s.accumulate(Sum).map(drop),
        |s| s.read_mostly().map(drop),
    ];
    at_each_home([2, 3], |job, home| {
        for (name, open) in kinds {
            let outcomes = job.run(|world| {
                let mut s = GScalar::new(world, home, 5u64)?;
                if world.rank() == CULPRIT {
                    caught(|| open(&mut s));
                } else {
                    // The error may reach a rank before it opens the scope.
                    match name {
                        "ReadCache" => drop(s.read_cache()),
                        "ReadMostly" => drop(s.read_mostly_with(Min)),
                        _ => {}
                    }
                }
                world.barrier()?;
                let mut found = None;
                for next_use in uses {
                    match next_use(&mut s) {
                        Err(error @ Error::Poisoned { .. }) => found = Some(error),
                        other => panic!("{name}: {other:?}"),
                    }
                }
                found.map_or(Ok(()), Err)
            });
            let words = format!("rank 1 panicked inside the {name} that it opened at");
            outcomes.all_say(&["the GScalar<u64> on rank", "is poisoned", &words]);
        }
    });
}

#[test]
fn who_looks_at_a_replica_is_told_of_a_panic() {
    at_each_home([2, 3], |job, home| {
        let outcomes = job.run(|world| {
            let s = GScalar::new(world, home, 5u64)?;
            let caught = catch_unwind(AssertUnwindSafe(|| -> Result<()> {
                let scope = s.read_mostly()?;
                if world.rank() == CULPRIT {
                    panic_any(Quiet);
                }
                // Reads the replica without a message.
                loop {
                    assert_eq!(scope.get()?, 5);
                    std::thread::yield_now();
                }
            }));
            match caught {
                Ok(outcome) => outcome,
                Err(_) => s.get().map(drop),
            }
        });
        outcomes.all_say(&["is poisoned", "rank 1 panicked inside the ReadMostly"]).all_cite(&["s.read_mostly()"]);
    });
}

/// Opens a scope, and ends or forgets it.
type Guarded = fn(&mut GScalar<u64>, bool) -> Result<()>;

const GUARDS: [(&str, Guarded); 5] = [
    ("ReadCache", |s, forgotten| s.read_cache().map(|guard| end(guard, forgotten))),
    ("ReleaseC", |s, forgotten| s.release_c().map(|guard| end(guard, forgotten))),
    ("Accumulate", |s, forgotten| s.accumulate(Sum).map(|guard| end(guard, forgotten))),
    ("ReadMostly", |s, forgotten| s.read_mostly().map(|guard| end(guard, forgotten))),
    ("ReadMostly", |s, forgotten| s.read_mostly_with(Min).map(|guard| end(guard, forgotten))),
];

fn end<G>(guard: G, forgotten: bool) {
    if forgotten { forget(guard) } else { drop(guard) }
}

#[test]
fn forgotten_guards() {
    let uses: [Step; 2] = [|s| s.read_cache().map(drop), |s| s.release_c()?.finish()];
    at_each_home([2, 3], |job, home| {
        for (name, guarded) in GUARDS {
            // A second ReadCache works next to a forgotten ReadCache.
            let finds_it = if name == "ReadCache" { &uses[1..] } else { &uses[..] };
            for next_use in finds_it {
                let outcomes = job.run(|world| {
                    let mut s = GScalar::new(world, home, 5u64)?;
                    // All ranks have the scalar before one of them gets the error.
                    world.barrier()?;
                    guarded(&mut s, world.rank() == CULPRIT)?;
                    next_use(&mut s)
                });
                outcomes.all_say(&[&format!("rank 1 has not closed the {name} of the GScalar<u64> on rank {home}")]);
            }
        }
    });
}

#[test]
fn a_forgotten_guard_at_a_barrier() {
    at_each_home([2, 3], |job, home| {
        for (name, guarded) in GUARDS.into_iter().filter(|(name, _)| *name != "ReadCache") {
            let outcomes = job.run(|world| {
                let mut s = GScalar::new(world, home, 5u64)?;
                guarded(&mut s, world.rank() == CULPRIT)?;
                world.barrier()
            });
            outcomes.all_say(&[&format!("rank 1 has not closed the {name} of the GScalar<u64>")]);
        }
    });
}

/// One rank, which is named, or all ranks forget the guard; and the scalar is dropped or forgotten.
#[test]
fn a_forgotten_guard_at_the_end_of_run() {
    at_each_home([2, 3], |job, home| {
        for (name, guarded) in GUARDS {
            for (by_all, keep) in [(false, false), (false, true), (true, false), (true, true)] {
                let outcomes = job.run_freely(|world| {
                    let mut s = GScalar::new(world, home, 5u64)?;
                    guarded(&mut s, by_all || world.rank() == CULPRIT)?;
                    end(s, keep);
                    Ok(())
                });
                let who = if by_all { "" } else { "rank 1 " };
                outcomes.run_says(&[&format!("{who}has not closed the {name} of the GScalar<u64>")]);
            }
        }
    });
}

#[test]
fn a_collective_scope_inside_a_read_mostly() {
    at_each_home([2], |job, home| {
        let outcomes = job.run(|world| {
            let s = GScalar::new(world, home, 5u64)?;
            let outer = s.read_mostly()?;
            let inner = s.read_cache().map(drop);
            drop(outer);
            inner
        });
        // Either rank may get the error first.
        outcomes.all_say(&["has not closed the ReadMostly of the GScalar<u64>"]).all_cite(&["let outer"]);
    });
}

#[test]
fn a_rank_that_has_left() {
    at_each_home([2, 3], |job, home| {
        for (step, _) in KINDS {
            let outcomes = job.run_freely(|world| {
                let mut s = GScalar::new(world, home, 5u64)?;
                if world.rank() == CULPRIT {
                    // The scalar is kept until the end, so that its drop reports nothing.
                    forget(s);
                    return Ok(());
                }
                step(&mut s)
            });
            outcomes.run_says(&["has left `run`"]);
        }
    });
}

/// Rank 2 waits for the home, which waits for rank 1, which waits for all.
#[test]
fn a_scope_that_is_open_around_a_barrier_while_another_rank_waits_for_its_end() {
    let outcomes = every_route([3, 4]).run(|world| {
        let mut s = GScalar::new(world, 0, 0)?;
        let scope = s.release_c()?; // around the barrier of rank 1
        match world.rank().index() {
            1 => world.barrier()?,
            2 => return scope.finish(),
            _ => {}
        }
        drop(scope);
        world.barrier()
    });
    outcomes
        .all_say(&["rank 1 has not closed the ReleaseC of the GScalar<i32>"])
        .all_cite(&["let scope = s.release_c()?; // around the barrier"]);
}
