//! A rank is stopped while it holds the latch of another rank's block, and continues later. Memory that is lent to the
//! owner meanwhile never changes, and both ranks get an error.

use crate::ops::Sum;
use crate::prelude::*;
use crate::{Route, distmemcpy};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The number of elements, of which each of two ranks owns half.
const LEN: usize = 64;

/// The element of rank 1 that rank 0 is about to set, and its value.
const WRITTEN: (usize, u64) = (LEN / 2 + 3, 666);

const STOPPED: usize = 1;
const GOES_ON: usize = 2;
const WENT_ON: usize = 3;
const OVER: usize = 4;

#[derive(Default)]
struct Steps(AtomicUsize);

impl Steps {
    fn take(&self, step: usize) {
        self.0.fetch_max(step, Ordering::Release);
    }

    fn wait_for(&self, step: usize) {
        while self.0.load(Ordering::Acquire) < step {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Rank 0 continues, and has released when this returns.
    fn go_on(&self) {
        self.take(GOES_ON);
        self.wait_for(WENT_ON);
    }
}

/// Takes the last step when it is dropped.
struct Over<'s>(&'s Steps);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.take(OVER);
    }
}

/// Rank 0 is stopped while it holds the latch of rank 1, at step `STOPPED`. Rank 1 runs `owner`.
fn check(owner: impl Fn(&mut GVector<u64>, &Steps) -> Result<()> + Sync) {
    let (steps, errors) = (Steps::default(), [const { Mutex::new(String::new()) }; 2]);
    let config = Config::threads(2).route(Route::Shm).silence(Duration::from_millis(500));
    let run = config.run(|world| {
        let mut v = GVector::<u64>::from_fn(world, LEN, |i| i as u64)?;
        world.barrier()?;
        // Also after a panic.
        let over = Over(&steps);
        let outcome = if world.rank() == 0 {
            let resume = v.direct.stop_holding(1, WRITTEN.0, WRITTEN.1);
            steps.take(STOPPED);
            steps.wait_for(GOES_ON);
            assert!(!resume(), "a rank that was given up is told");
            steps.take(WENT_ON);
            let outcome = v.put(WRITTEN.0, 777);
            steps.wait_for(OVER);
            outcome
        } else {
            let outcome = owner(&mut v, &steps);
            steps.go_on();
            let later = v.put(WRITTEN.0, 888);
            assert!(later.is_err(), "nothing can be written any more");
            drop(over);
            outcome
        };
        *errors[world.rank().index()].lock().unwrap() = format!("{outcome:?}");
        outcome
    });
    errors.iter().for_each(|error| names_rank_0(&error.lock().unwrap()));
    names_rank_0(&format!("{run:?}"));
}

fn names_rank_0(error: &str) {
    assert!(error.contains("rank 0 has been silent") && !error.contains("rank 1"), "{error}");
}

/// As `check`, for an owner that does nothing before rank 0 is stopped.
fn check_stopped(owner: impl Fn(&mut GVector<u64>) -> Result<()> + Sync) {
    check(|v, steps| {
        steps.wait_for(STOPPED);
        owner(v)
    });
}

fn is_lost<R>(outcome: Result<R>) -> Result<()> {
    match outcome {
        Err(error @ Error::PeerLost { .. }) => Err(error),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("done all the same"),
    }
}

#[test]
fn nothing_is_lent_while_another_rank_is_inside() {
    check_stopped(|v| is_lost(v.owner_computes_mut()));
    check_stopped(|v| is_lost(v.owner_computes()));
    check_stopped(|v| is_lost(v.slice_mut(LEN / 2..LEN / 2 + 8).owner_computes_mut()));
    check_stopped(|v| is_lost(v.halo_cache_mut(1)));
}

#[test]
fn what_a_guard_shows_that_was_open_before_does_not_change() {
    check(|v, steps| {
        let mut own = v.owner_computes_mut()?;
        steps.wait_for(STOPPED);
        own.local_mut().fill(5);
        steps.go_on();
        assert!(own.local_mut().iter().all(|x| *x == 5), "{:?}", own.local());
        is_lost(own.finish().and_then(|()| v.owner_computes_mut()))
    });
    check(|v, steps| {
        let own = v.owner_computes()?;
        steps.wait_for(STOPPED);
        let before = own.local().to_vec();
        steps.go_on();
        assert_eq!(own.local(), before);
        is_lost(v.owner_computes())
    });
}

#[test]
fn nothing_is_written_as_a_whole_while_another_rank_is_inside() {
    check_stopped(|v| {
        // A write to another element, as a word, still succeeds.
        v.put_many(&[(LEN - 1, 1)])?;
        is_lost(distmemcpy(v.range_mut(LEN / 2..), &[0; LEN / 2][..]))
    });
}

#[test]
fn nothing_is_copied_while_another_rank_is_inside() {
    check_stopped(|v| is_lost(distmemcpy(&mut [0; LEN / 2][..], v.range(LEN / 2..))));
}

#[test]
fn nothing_is_added_while_another_rank_is_inside() {
    check_stopped(|v| {
        let mut adds = v.release_alone_with(Sum)?;
        // Rank 1's own elements alone: an answer of rank 0 that rank 1 cannot read would make rank 0 give up rank 1.
        let added = (LEN / 2..LEN).try_for_each(|i| adds.update(i, 1));
        is_lost(added.and_then(|()| adds.finish()))
    });
}

#[test]
fn who_reads_sees_nothing_of_what_is_written_meanwhile() {
    let steps = Steps::default();
    let config = Config::threads(2).route(Route::Shm).silence(Duration::from_millis(500));
    let run = config.run(|world| {
        let mut v = GVector::<[u64; 3]>::from_fn(world, LEN, |i| [i as u64; 3])?;
        world.barrier()?;
        let _over = Over(&steps);
        if world.rank() == 0 {
            let resume = v.direct.stop_reading(1, WRITTEN.0);
            steps.take(STOPPED);
            steps.wait_for(GOES_ON);
            assert_eq!(resume(), ([WRITTEN.0 as u64; 3], false));
            steps.take(WENT_ON);
            return v.at(WRITTEN.0).map(drop);
        }
        let mut own = v.owner_computes_mut()?;
        steps.wait_for(STOPPED);
        own.local_mut().fill([5; 3]);
        steps.go_on();
        assert!(own.local_mut().iter().all(|x| *x == [5; 3]));
        is_lost(own.finish().and_then(|()| v.owner_computes()))
    });
    names_rank_0(&format!("{run:?}"));
}

#[test]
fn a_copy_that_is_stopped_in_a_piece_does_not_count() {
    let steps = Steps::default();
    let config = Config::threads(2).route(Route::Shm).silence(Duration::from_millis(500));
    let run = config.run(|world| {
        let mut v = GVector::<u64>::from_fn(world, LEN, |i| i as u64)?;
        world.barrier()?;
        let _over = Over(&steps);
        let theirs = LEN / 2..LEN;
        if world.rank() == 0 {
            let mut memory = [0; LEN / 2];
            let done = v.direct.copy_out_by(1, theirs.start, &mut memory, |_, _| {
                steps.take(STOPPED);
                steps.wait_for(GOES_ON);
            });
            assert!(!done, "the owner has given its place up");
            steps.take(WENT_ON);
            return distmemcpy(&mut memory[..], v.range(theirs));
        }
        steps.wait_for(STOPPED);
        let outcome = is_lost(v.owner_computes_mut());
        steps.go_on();
        outcome
    });
    names_rank_0(&format!("{run:?}"));
}
