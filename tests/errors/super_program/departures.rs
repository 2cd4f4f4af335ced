//! A rank leaves, fails or drops the super-program while the other ranks continue.

use super::{CULPRIT, RANKS};
use crate::provoke::in_threads;
use aurora_core::prelude::*;
use aurora_super::SuperProgram;

fn add(a: &mut u32) {
    *a += 1;
}

#[test]
fn a_rank_that_leaves() {
    let outcomes = in_threads(RANKS).run_freely(|world| {
        let sp = SuperProgram::new(world)?;
        let a = sp.blocks(6, |i| i)?;
        if world.rank() == CULPRIT {
            return Ok(());
        }
        sp.each(6, add, move |i| (a.at(i),))
    });
    for rank in [0, 2] {
        let error = outcomes.ranks[rank].as_ref().and_then(|outcome| outcome.as_ref().err());
        assert!(matches!(error, Some(Error::RankLeft { .. })), "{outcomes:?}");
        outcomes.says(rank, &["rank 1 has left `run`", "tests/errors/super_program/departures.rs:"]);
    }
    assert!(matches!(outcomes.run, Err(Error::RankLeft { .. })), "{outcomes:?}");
}

/// A panic outside of instructions.
#[test]
fn a_rank_that_panics() {
    let outcomes = in_threads(RANKS).run_freely(|world| {
        let sp = SuperProgram::new(world)?;
        let a = sp.blocks(6, |i| i)?;
        if world.rank() == CULPRIT {
            super::panic_quietly("outside of instructions");
        }
        sp.each(6, add, move |i| (a.at(i),))
    });
    outcomes
        .says(0, &["rank 1 failed: panicked: outside of instructions"])
        .says(2, &["rank 1 failed: panicked: outside of instructions"]);
    assert!(outcomes.run.is_err(), "{outcomes:?}");
}

#[test]
fn a_super_program_that_one_rank_drops() {
    let outcomes = in_threads(RANKS).run(|world| {
        let sp = SuperProgram::new(world)?;
        let a = sp.blocks(6, |i| i)?;
        if world.rank() == CULPRIT {
            drop(sp);
            return world.barrier();
        }
        sp.each(6, add, move |i| (a.at(i),))
    });
    outcomes.all_say(&["rank 1"]).all_cite(&["sp.each(6, add"]);
}

/// A super-program that is not dropped and not used again causes no error.
#[test]
fn a_forgotten_super_program() {
    let outcomes = in_threads(RANKS).run_freely(|world| {
        let sp = SuperProgram::new(world)?;
        let a = sp.blocks(6, |i| i)?;
        sp.each(6, add, move |i| (a.at(i),))?;
        std::mem::forget(sp);
        world.barrier()
    });
    assert!(outcomes.run.is_ok(), "{outcomes:?}");
}

/// An error ends the super-program, but not the job.
#[test]
fn the_next_super_program_after_an_error() {
    let outcomes = in_threads(RANKS).run_freely(|world| {
        let sp = SuperProgram::new(world)?;
        let a = sp.blocks(6, |i| i)?;
        let fails = |a: &mut u32| if *a == 4 { Err("no four") } else { Ok(()) };
        assert!(sp.each(6, fails, move |i| (a.at(i),)).is_err());
        drop(sp);
        let sp = SuperProgram::new(world)?;
        let a = sp.blocks(6, |i| i)?;
        sp.each(6, add, move |i| (a.at(i),))?;
        assert_eq!(sp.value(a.at(4))?, 5);
        world.barrier()
    });
    assert!(outcomes.run.is_ok(), "{outcomes:?}");
}
