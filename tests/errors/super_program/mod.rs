//! Errors of super-programs: every rank gets the error, in this call and in every later call.

mod balance;
mod calls;
mod code;
mod departures;
mod environment;
mod operands;
mod recovery;
mod stalls;

use crate::provoke::{Outcomes, in_threads};
use aurora_core::prelude::*;
use aurora_super::{Policy, Super, SuperProgram};
use std::panic::resume_unwind;

const RANKS: usize = 3;

/// The rank that differs from the others.
const CULPRIT: usize = 1;

/// Runs a program that fails on all ranks. Every later call on a rank returns the error of the first. Each instruction
/// has its rank from the start.
fn fails(program: impl Fn(&World, &SuperProgram<'_>) -> Result<()> + Sync) -> Outcomes {
    in_threads(RANKS).run(|world| {
        let sp = Super::default().policy(Policy::S).start(world)?;
        let used = sp.blocks(3, |i| i)?;
        let failure = program(world, &sp);
        let Err(error) = failure else { panic!("rank {} has succeeded", world.rank()) };
        for later in later_calls(&sp, used) {
            assert_eq!(later.expect_err("the super-program has ended").to_string(), error.to_string());
        }
        Err(error)
    })
}

fn later_calls(sp: &SuperProgram<'_>, used: aurora_super::Blocks<u32, u32>) -> [Result<()>; 6] {
    [
        sp.each(3, |a: &mut u32| *a += 1, move |i| (used.at(i),)),
        sp.each(0, |a: &mut u32| *a += 1, move |i| (used.at(i),)),
        sp.blocks(5, |i| i).map(drop),
        sp.value(used.at(0)).map(drop),
        sp.fold(&used, |a| *a, |a, b| a + b).map(drop),
        sp.report().map(drop),
    ]
}

/// Checks that the program fails with an error of this name on the ranks and also without ranks, with equal texts.
fn fails_alike(name: &str, program: impl Fn(&SuperProgram<'_>) -> Result<()> + Sync) -> Outcomes {
    let outcomes = fails(|_, sp| program(sp));
    let sp = SuperProgram::sequential();
    let used = sp.blocks(3, |i| i).expect("an array");
    let alone = program(&sp).expect_err("it fails without ranks");
    let name_and_cause = |error: &Error| match error {
        Error::Object { name, cause, .. } => (name.to_string(), cause.clone()),
        other => panic!("{other:?}"),
    };
    let cause = name_and_cause(&alone).1;
    for outcome in outcomes.ranks.iter().flatten().chain([&outcomes.run]) {
        let error = outcome.as_ref().expect_err("it fails");
        assert_eq!(name_and_cause(error), (name.to_string(), cause.clone()));
    }
    for later in later_calls(&sp, used) {
        assert_eq!(later.expect_err("the super-program has ended").to_string(), alone.to_string());
    }
    outcomes
}

/// Checks that the error of all ranks has this name.
#[track_caller]
fn all_named(outcomes: &Outcomes, name: &str) {
    for outcome in outcomes.ranks.iter().flatten().chain([&outcomes.run]) {
        assert!(matches!(outcome, Err(Error::Object { name: found, .. }) if *found == name), "{outcome:?}");
    }
}

/// Panics with a message that no hook prints.
fn panic_quietly(message: &str) -> ! {
    resume_unwind(Box::new(message.to_string()))
}
