//! Wrong programs: each ends with an error that names lines of the program.

use aurora_core::prelude::*;
use aurora_treadmarks::{Misuse, Tmk};
use std::mem::forget;
use std::time::Duration;

/// The error that `run` returns for ranks that fail. A wait that lasts 20 s is an error of another kind.
#[track_caller]
fn fails(ranks: usize, body: impl Fn(&World, &Tmk) -> Result<()> + Sync) -> Error {
    let config = Config::threads(ranks).timeout(Duration::from_secs(20));
    config.run(|world| body(world, &Tmk::new(world)?)).expect_err("it fails")
}

#[track_caller]
fn says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    words.iter().for_each(|word| assert!(text.contains(word), "`{word}` is not in `{text}`"));
}

fn misuse(error: &Error) -> &Misuse {
    Misuse::of(error).unwrap_or_else(|| panic!("{error}"))
}

#[test]
fn a_circle_of_locks() {
    let line = line!() + 5;
    let error = fails(2, |world, tmk| {
        let (first, second) = if world.is_root() { (0, 1) } else { (1, 0) };
        tmk.acquire(first)?;
        world.barrier()?; // both ranks have their first lock
        tmk.acquire(second)
    });
    assert!(matches!(error, Error::Deadlock { .. }), "{error}");
    says(&error, &["waits for lock 1 of", "waits for lock 0 of", "with lock 0 that it has acquired at"]);
    let waits = format!("ranks/errors.rs:{line}:");
    assert_eq!(error.to_string().matches(&waits).count(), 2, "{error}");
}

#[test]
fn a_lock_of_a_rank_that_leaves() {
    let error = fails(3, |world, tmk| {
        if world.rank().index() == 1 {
            tmk.acquire(2)?;
            world.barrier()?;
            return Ok(()); // without a release
        }
        world.barrier()?;
        tmk.acquire(2)?;
        tmk.release(2)
    });
    assert!(matches!(error, Error::RankLeft { .. }), "{error}");
    says(&error, &["rank 1", "waits for lock 2"]);
}

#[test]
fn a_lock_that_is_held_over_a_barrier_while_others_wait_for_it() {
    let error = fails(2, |world, tmk| {
        if world.is_root() {
            tmk.acquire(0)?;
            world.barrier()?;
            tmk.barrier()
        } else {
            world.barrier()?;
            tmk.acquire(0)?;
            tmk.barrier()
        }
    });
    says(&error, &["waits for lock 0", "waits in a barrier of"]);
}

#[test]
fn a_rank_that_does_not_come_to_a_barrier() {
    let error = fails(3, |world, tmk| if world.rank().index() == 2 { Ok(()) } else { tmk.barrier() });
    assert!(matches!(error, Error::RankLeft { .. }), "{error}");
    says(&error, &["rank 2", "waits in a barrier of"]);
    let error = fails(3, |world, tmk| if world.rank().index() == 2 { world.barrier() } else { tmk.barrier() });
    assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    says(&error, &["a barrier"]);
}

#[test]
fn guards_that_live_over_a_synchronisation() {
    type Call = fn(&Tmk) -> Result<()>;
    let calls: [(&str, Call); 3] =
        [("barrier", |tmk| tmk.barrier()), ("acquire", |tmk| tmk.acquire(3)), ("release", |tmk| tmk.release(0))];
    for (name, call) in calls {
        let error = fails(1, |_, tmk| {
            let mut array = tmk.array::<u32>(100, 100)?;
            tmk.acquire(0)?;
            let guard = array.read(5..9)?; // taken
            call(tmk)?;
            drop(guard);
            Ok(())
        });
        let Misuse::GuardAlive { call, elements, .. } = misuse(&error) else { panic!("{error}") };
        assert_eq!((*call, elements.clone()), (name, 5..9));
        says(&error, &["ranks/errors.rs", "drop it first"]);
    }
    // A forgotten guard, also if the array is used again.
    let error = fails(1, |_, tmk| {
        let mut array = tmk.array::<u32>(100, 100)?;
        let mut other = tmk.array::<u32>(100, 100)?;
        let _alive = other.read(1..2)?;
        forget(array.write(5..9)?);
        assert_eq!(array.len(), 100);
        array.read(0..1).map(drop)
    });
    let Misuse::GuardAlive { call: "access", elements, .. } = misuse(&error) else { panic!("{error}") };
    assert_eq!(*elements, 5..9, "the one of this array");
}

#[test]
fn locks_are_acquired_once_and_released_once() {
    let error = fails(2, |_, tmk| {
        tmk.acquire(4)?;
        tmk.acquire(4)
    });
    assert!(matches!(misuse(&error), Misuse::Held { lock: 4, .. }), "{error}");
    says(&error, &["has held lock 4 since"]);
    assert_eq!(error.to_string().matches("ranks/errors.rs:").count(), 2, "both lines: {error}");
    let error = fails(2, |_, tmk| tmk.release(4));
    assert_eq!(misuse(&error), &Misuse::NotHeld { lock: 4 });
}

#[test]
fn arrays_that_cannot_be() {
    let error = fails(1, |_, tmk| tmk.array::<u32>(10, 10)?.read(3..11).map(drop));
    assert_eq!(misuse(&error), &Misuse::Outside { elements: 3..11, len: 10 });
    let error = fails(1, |_, tmk| tmk.array::<u32>(10, 10)?.write(Range { start: 4, end: 3 }).map(drop));
    assert!(matches!(misuse(&error), Misuse::Outside { .. }), "{error}");
    let error = fails(1, |_, tmk| tmk.array::<[u16; 3]>(10, 10).map(drop));
    assert_eq!(misuse(&error), &Misuse::NoWords { bytes: 6 });
    let error = fails(1, |_, tmk| tmk.array::<u64>(usize::MAX / 8, 1).map(drop));
    assert!(matches!(misuse(&error), Misuse::TooManyPages { .. }), "{error}");
    let error = fails(2, |_, tmk| tmk.array::<u64>(1 << 40, 1 << 40).map(drop));
    says(&error, &["needs 8192 GiB for the copy of an array of the TreadMarks"]);
}

#[test]
fn ranks_that_make_different_arrays() {
    let error = fails(3, |world, tmk| {
        let len = if world.rank().index() == 1 { 11 } else { 10 };
        tmk.array::<u32>(len, 10).map(drop)
    });
    assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    says(&error, &["an array of 10 u32 in rows of 10", "an array of 11 u32 in rows of 10"]);
}

#[test]
fn a_history_that_grows_over_its_limit() {
    let run = |limit| {
        Config::threads(2).timeout(Duration::from_secs(20)).run(|world| {
            let tmk = Tmk::with_history(world, limit)?;
            let mut array = tmk.array::<u32>(1024, 1024)?;
            for turn in 0..40 {
                if world.is_root() {
                    array.write(0..1024)?.fill(turn);
                }
                tmk.barrier()?;
                array.read(0..1)?;
                tmk.barrier()?;
            }
            Ok(())
        })
    };
    run(200_000).expect("40 pages and their intervals have 164 KB");
    let error = run(100_000).expect_err("too much");
    assert!(matches!(error, Error::Object { .. }), "{error}");
    says(&error, &["more than the limit of 100000", "TreadMarks"]);
}

type Range = std::ops::Range<usize>;
