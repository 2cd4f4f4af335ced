//! Tests of the tests: each kind of verification sees one wrong bit.

use crate::bulk::{self, DAMAGE, Data};
use crate::place::{self, SLOW};
use crate::scenario::{Plan, Program, Scenario};
use aurora_suite::job;
use aurora_suite::mpi::Flavour;
use aurora_suite::{Body, End};
use libtest_mimic::{Failed, Trial};

pub fn trials(flavour: Flavour) -> Vec<Trial> {
    let damaged = bulk::bodies().into_iter().filter(|body| body.end() == End::Fails(DAMAGE));
    let mut trials: Vec<Trial> = damaged
        .map(|body| Trial::test(format!("{flavour}-lab/{}-are-seen", body.name()), move || is_seen(flavour, &body)))
        .collect();
    for program in [Program::Loads, Program::Late] {
        let name = format!("{flavour}-lab/damage-is-seen-in-{}", program.name());
        trials.push(Trial::test(name, move || is_seen_in(flavour, program)));
    }
    trials
}

/// Damaged data make a job fail with words that name the element.
fn is_seen(flavour: Flavour, body: &Body) -> Result<(), Failed> {
    let outcomes = job::outcomes(place::of(flavour, SLOW), &[body])?;
    outcomes.into_values().collect::<Result<(), String>>().map_err(Failed::from)
}

fn is_seen_in(flavour: Flavour, program: Program) -> Result<(), Failed> {
    let plan = Plan { data: Data::Damaged, ..Plan::of(program) };
    let ended = Scenario::start(flavour, plan, &[])?.job.wait()?;
    match ended.code() != 0 && ended.said.contains(DAMAGE) {
        true => Ok(()),
        false => Err(format!("the damage is not seen: {}", ended.all()).into()),
    }
}
