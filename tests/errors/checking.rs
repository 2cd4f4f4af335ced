//! Checking mode: two ranks write the same element in the same scope.

use crate::provoke::{Job, every_route, on_every_route};
use aurora_core::Raced;
use aurora_core::ops::Sum;
use aurora_core::prelude::*;

/// Ranks write to one vector in one scope, and use it afterwards. All ranks get the error of two writes to an element,
/// with these lines.
fn conflict(index: usize, lines: &[&str], write: impl Fn(&World, &mut GVector<u64>) -> Result<()> + Sync) {
    on_every_route([2, 3], |job| {
        let outcomes = job.checking().run(|world| {
            let mut v = GVector::<u64>::new(world, 12)?;
            let outcome = write(world, &mut v);
            // After the barrier all ranks know the race, also the ranks whose scopes ended early.
            world.barrier()?;
            outcome?;
            v.at(0).map(drop)
        });
        for outcome in &outcomes.ranks {
            let Some(Err(Error::Race { what: Raced::Element(found), .. })) = outcome else {
                panic!("{outcome:?} is no race");
            };
            assert_eq!(*found, index);
        }
        outcomes
            .all_say(&["a race on element", "rank 0 ", "rank 1 ", "of the GVector<u64> of 12 elements (made at"])
            .all_cite(lines);
    });
}

#[test]
fn two_puts() {
    // Each rank is the owner once.
    for index in [0, 5, 11] {
        conflict(index, &["let mut together = v.release_c()", "the lower rank's", "the other's"], |world, v| {
            let mut together = v.release_c()?;
            match world.rank().index() {
                0 => together.put(index, 1)?, // the lower rank's
                1 => together.put(index, 2)?, // the other's
                _ => {}
            }
            together.finish()
        });
    }
}

#[test]
fn a_put_and_an_update() {
    conflict(7, &["scope.update(7, 1)", "scope.put(7, 2)"], |world, v| {
        let mut scope = v.release_c_with(Sum)?;
        match world.rank().index() {
            0 => scope.update(7, 1)?,
            1 => scope.put(7, 2)?,
            _ => {}
        }
        scope.finish()
    });
}

#[test]
fn slices_that_overlap() {
    conflict(5, &["scope.put_slice(0", "scope.put_slice(5"], |world, v| {
        let mut scope = v.release_c()?;
        match world.rank().index() {
            0 => scope.put_slice(0, &[1; 6])?,
            1 => scope.put_slice(5, &[2; 7])?,
            _ => {}
        }
        scope.finish()
    });
}

#[test]
fn what_two_ranks_add_to_in_a_combined_scope() {
    // The error names the lines of the scopes.
    conflict(3, &["let mut all = v.read_cache_release_c()"], |world, v| {
        let mut all = v.read_cache_release_c()?;
        if world.rank().index() < 2 {
            all[3] += 1;
        }
        all.finish()
    });
}

#[test]
fn a_scope_of_a_part() {
    for index in [3, 5, 8] {
        conflict(index, &["let mut part = v.slice_mut(3..9)", "the lower rank's", "the other's"], |world, v| {
            let mut part = v.slice_mut(3..9).release_c()?;
            match world.rank().index() {
                0 => part.put(index, 1)?, // the lower rank's
                1 => part.put(index, 2)?, // the other's
                _ => {}
            }
            part.finish()
        });
    }
}

/// Scopes of two parts are open at once. Each is checked separately.
#[test]
fn scopes_of_two_parts_at_once() {
    conflict(8, &["right.release_c_with(Sum)", "the lower rank's", "the other's"], |world, v| {
        let (left, right) = v.split_at_mut(6);
        let (mut left, mut right) = (left.release_c()?, right.release_c_with(Sum)?);
        let me = world.rank().index();
        left.put(me, 1)?;
        right.update(11, 1)?;
        match me {
            0 => right.put(8, 1)?, // the lower rank's
            1 => right.put(8, 2)?, // the other's
            _ => {}
        }
        left.finish().and(right.finish())
    });
}

#[test]
fn one_among_many_batches() {
    const LEN: usize = 100_000;
    let outcomes = every_route([2]).with(Job::checking).run(|world| {
        let (me, size) = (world.rank().index(), world.size());
        let mut v = GVector::<u64>::new(world, LEN)?;
        let mut scope = v.release_c()?;
        let written = (0..LEN).filter(|i| i % size == me).try_for_each(|i| {
            if i == 77_776 {
                scope.put(77_777, 2)?; // not its own
            }
            scope.put(i, 1) // each its own
        });
        let outcome = written.and(scope.finish());
        world.barrier()?;
        outcome?;
        v.at(0).map(drop)
    });
    outcomes.all_say(&["a race on element 77777 of"]).all_cite(&["each its own", "not its own"]);
}

#[test]
fn in_blocks_of_any_length() {
    let outcomes = every_route([2, 3]).with(Job::checking).run(|world| {
        let mut lengths = vec![0; world.size()];
        (lengths[0], lengths[world.size() - 1]) = (2, 10);
        let mut v = GVector::<u64>::new(world, Partition::lengths(&lengths))?;
        let mut scope = v.release_c()?;
        let written = (world.rank().index()..12).step_by(world.size()).try_for_each(|i| scope.put(i, 1));
        written.and(scope.finish())?;
        let mut scope = v.release_c()?;
        match world.rank().index() {
            0 => scope.put(7, 1)?, // the lower rank's
            1 => scope.put(7, 2)?, // the other's
            _ => {}
        }
        let outcome = scope.finish();
        world.barrier()?;
        outcome?;
        v.at(0).map(drop)
    });
    outcomes.all_say(&["a race on element 7 of the GVector<u64> of 12 elements in blocks of [2, "]).all_cite(&[
        "v.release_c()",
        "the lower rank's",
        "the other's",
    ]);
}

#[test]
fn a_scope_that_is_dropped_and_a_vector_that_is_not_used_again() {
    let outcomes = every_route([2, 3]).with(Job::checking).run_freely(|world| {
        let mut v = GVector::<u64>::new(world, 12)?;
        let mut scope = v.release_c()?;
        scope.put(4, 1)?;
        drop(scope);
        Ok(())
    });
    outcomes.run_says(&["a race on element 4"]);
}

#[test]
fn without_it_one_of_them_wins() {
    let outcomes = every_route([2]).run(|world| {
        let mut v = GVector::<u64>::new(world, 12)?;
        let mut scope = v.release_c()?;
        scope.put(4, 1 + world.rank().index() as u64)?;
        scope.finish()?;
        assert!([1, 2].contains(&v.at(4)?));
        Ok(())
    });
    outcomes.succeed("nobody has asked");
}
