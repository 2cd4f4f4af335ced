//! The counting map of `examples/counting_map.rs`, an object with collective scopes that is written with public items
//! alone: it counts, and its errors have the lines of both ranks.

#![allow(clippy::print_stderr, reason = "the seed of a random test, and the error of a job in a process")]

use super::on_all_routes;
use aurora_core::object::Plan;
use aurora_core::prelude::*;
use aurora_core::{Check, Route};
use std::collections::HashMap;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::time::Duration;

#[path = "../../examples/counting_map.rs"]
#[allow(dead_code, reason = "the test runs other programs than `main`")]
mod counting_map;

use counting_map::GCounts;

/// The line this number of lines below the calling one, as errors write it.
#[track_caller]
fn below(lines: u32) -> String {
    let here = std::panic::Location::caller();
    format!("{}:{}:", here.file(), here.line() + lines)
}

/// The error of a job of three threads, which has these texts.
fn fails(check: Check, texts: &[&str], body: impl Fn(&World) -> Result<()> + Sync) {
    for route in [Route::Local, Route::Udp] {
        let config = Config::threads(3).route(route).check(check).timeout(Duration::from_secs(60));
        let error = config.run(&body).expect_err("it cannot end well").to_string();
        for text in texts {
            assert!(error.contains(text), "{route:?}: no {text:?} in: {error}");
        }
    }
}

/// Each rank adds to random keys, in scopes and outside of them; a `HashMap` knows the sums.
#[test]
fn random_programs_count_as_a_hash_map() {
    let seed = fastrand::u64(..);
    eprintln!("seed {seed}");
    on_all_routes(3, |world| {
        let mut counts = GCounts::<u64>::new(world)?;
        let mut all = fastrand::Rng::with_seed(seed);
        let mut model = HashMap::<u64, u64>::new();
        for _ in 0..30 {
            let step = all.u8(..10);
            let adds: Vec<Vec<u64>> =
                (0..world.size()).map(|_| (0..all.usize(..40)).map(|_| all.u64(..50)).collect()).collect();
            adds.iter().flatten().for_each(|key| *model.entry(*key).or_insert(0) += 1);
            let mine = &adds[world.rank().index()];
            match step {
                0 => mine.iter().try_for_each(|key| counts.add(key, 1))?,
                1 => {
                    mine.iter().try_for_each(|key| counts.add(key, 1))?;
                    counts.clear()?;
                    model.clear();
                }
                _ => {
                    let mut scope = counts.release_c()?;
                    mine.iter().try_for_each(|key| scope.add(*key, 1))?;
                    if step < 6 { scope.finish()? } else { drop(scope) }
                }
            }
            if step < 2 {
                world.barrier()?;
            }
            let key = all.u64(..50);
            assert_eq!(counts.get(&key)?, model.get(&key).copied().unwrap_or(0), "key {key}");
            let mut found = counts.all()?;
            found.retain(|(_, count)| *count > 0);
            assert_eq!(found.into_iter().collect::<HashMap<_, _>>(), model);
            world.barrier()?;
        }
        Ok(())
    });
}

#[test]
fn a_forgotten_guard_is_named_with_its_line_and_the_line_that_waits() {
    let (opened, waiting) = (below(3), below(8));
    fails(Check::Off, &["rank 1 has not closed the ReleaseC", &opened, &waiting], |world| {
        let mut counts = GCounts::<u64>::new(world)?;
        let scope = counts.release_c()?;
        if world.rank() == 1 {
            mem::forget(scope);
        } else {
            drop(scope);
            counts.get(&7)?;
        }
        world.barrier()
    });
}

#[test]
fn a_race_is_named_with_both_lines() {
    let (adds, reads) = (below(4), below(6));
    fails(Check::Strict, &["race", "updates it", "reads it", "entry 7", &adds, &reads], |world| {
        let mut counts = GCounts::<u64>::new(world)?;
        if world.rank() == 1 {
            counts.add(&7, 1)?;
        } else if world.rank() == 2 {
            counts.get(&7)?;
        }
        world.barrier()
    });
}

#[test]
fn a_race_with_a_scope_is_named_with_both_lines() {
    let (reads, adds) = (below(5), below(8));
    fails(Check::Strict, &["race", "updates it inside the ReleaseC", "reads it", "entry 7", &adds, &reads], |world| {
        let mut counts = GCounts::<u64>::new(world)?;
        if world.rank() == 0 {
            // Nothing orders this before the scope of the other ranks.
            counts.get(&7)?;
        }
        let mut scope = counts.release_c()?;
        scope.add(7, 1)?;
        scope.finish()
    });
}

#[test]
fn ordered_programs_have_no_race() {
    for route in [Route::Local, Route::Shm, Route::Udp] {
        let ran = Config::threads(3).route(route).check(Check::Strict).run(|world| {
            let mut counts = GCounts::<u64>::new(world)?;
            for _ in 0..3 {
                let mut scope = counts.release_c()?;
                (0..20).try_for_each(|key| scope.add(key, 1))?;
                drop(scope);
                (0..20).try_for_each(|key| counts.get(&key).map(drop))?;
                world.barrier()?;
                (0..20).try_for_each(|key| counts.add(&key, 1))?;
                world.barrier()?;
                counts.all()?;
                counts.clear()?;
            }
            Ok(())
        });
        ran.unwrap_or_else(|error| panic!("{route:?}: {error}"));
    }
}

#[test]
fn a_deadlock_is_named_with_both_lines() {
    let (meets, ends) = (below(4), below(6));
    fails(Check::Off, &["rank 1", "barrier", &meets, &ends], |world| {
        let mut counts = GCounts::<u64>::new(world)?;
        if world.rank() == 1 {
            world.barrier()?;
        } else {
            counts.release_c()?.finish()?;
        }
        world.barrier()
    });
}

#[test]
fn different_calls_are_named_with_both_lines() {
    let (clears, opens) = (below(4), below(6));
    fails(Check::Off, &["rank 0 opened a ReleaseC", "rank 1 is in a clear", &clears, &opens], |world| {
        let mut counts = GCounts::<u64>::new(world)?;
        if world.rank() == 1 {
            counts.clear()?;
        } else {
            counts.release_c()?.finish()?;
        }
        Ok(())
    });
}

#[test]
fn a_panic_inside_a_scope_poisons_the_map() {
    let opened = below(4);
    fails(Check::Off, &["poisoned", "rank 1", "ReleaseC", &opened], |world| {
        let mut counts = GCounts::<u64>::new(world)?;
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let mut scope = counts.release_c()?;
            scope.add(7, 1)?;
            assert!(world.rank() != 1, "half a phase");
            Ok::<_, aurora_core::Error>(())
        }));
        assert_eq!(caught.is_err(), world.rank() == 1);
        counts.get(&7).map(drop)
    });
}

/// The processes of the job are started again with the arguments of this one, so the test is also the job.
#[test]
fn a_killed_rank_is_named() {
    const JOB: &str = "COUNTING_MAP_JOB";
    if std::env::var_os(JOB).is_some() {
        let config = Config::processes(3).timeout(Duration::from_secs(60));
        let ended = config.run(|world| {
            let mut counts = GCounts::<u64>::new(world)?;
            let scope = counts.release_c()?;
            if world.rank() == 1 {
                let me = rustix::process::getpid();
                rustix::process::kill_process(me, rustix::process::Signal::KILL).expect("a signal to itself");
            }
            scope.finish()?;
            world.barrier()
        });
        eprintln!("THE END: {}", ended.expect_err("a rank is lost"));
        return;
    }
    let mut job = Command::new(std::env::current_exe().expect("it runs"));
    job.args(["--exact", "counting::a_killed_rank_is_named", "--nocapture"]).env(JOB, "1");
    let output = job.output().expect("it starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("THE END: rank 1 failed: its process was killed by signal 9 (SIGKILL)"), "{error}");
}

/// Words that the ranks of a node share: each rank adds to them, and all see the sum.
#[test]
fn ranks_of_a_node_share_words() {
    use std::sync::atomic::Ordering::Relaxed;
    struct Empty;
    impl aurora_core::object::SharedObject for Empty {}
    on_all_routes(3, |world| {
        let mut found = None;
        let plan = Plan::new("words", &()).with_node_words(5);
        let shared = world.share(plan, |making| {
            found = Some((making.node_words(), making.node_peers()));
            Ok(Empty)
        })?;
        let (words, peers) = found.expect("it was made");
        assert!(words.len() == 5 && peers.contains(&world.rank()));
        words[4].fetch_add(1 + world.rank().index() as u64, Relaxed);
        world.barrier()?;
        let sum: u64 = peers.iter().map(|rank| 1 + rank.index() as u64).sum();
        assert_eq!(words[4].load(Relaxed), sum);
        drop(shared);
        world.barrier()
    });
}
