//! Tests of the tests: their checks can fail, and report the place.

use crate::{lifetime, program};
use aurora_core::{Error, GVector, Result, Route, World};
use aurora_suite::job;
use aurora_suite::place::{Launcher, Place};
use aurora_suite::{Body, End, check};
use libtest_mimic::{Failed, Trial};

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(a_flipped_bit_is_seen_by_owners).ends(End::Fails("element 17 is 16 instead of 17")),
        Body::of(a_flipped_bit_is_seen_in_a_cache).ends(End::Fails("element 17 is 16 instead of 17")),
        Body::of(a_panic_is_a_failure).ends(End::Fails("out of cheese")),
        Body::of(passes).hidden(),
        Body::of(fails_on_the_last_rank).hidden(),
        Body::of(panics_on_the_last_rank).hidden(),
    ]
}

pub fn trials() -> Vec<Trial> {
    let mut trials = lifetime::trials();
    trials.extend(program::trials());
    trials
        .push(Trial::test("processes-shm/2/a_failure_names_body_rank_and_world", a_failure_names_body_rank_and_world));
    trials
}

fn flipped(world: &World) -> Result<GVector<u64>> {
    let mut v = GVector::from_fn(world, 31, |i| i as u64)?;
    check::whole(&v, |i| i as u64)?;
    world.barrier()?;
    if world.rank().index() == world.size() - 1 {
        v.put(17, v.at(17)? ^ 1)?;
    }
    Ok(v)
}

fn a_flipped_bit_is_seen_by_owners(world: &World) -> Result<()> {
    let v = flipped(world)?;
    world.barrier()?;
    check::whole(&v, |i| i as u64)
}

fn a_flipped_bit_is_seen_in_a_cache(world: &World) -> Result<()> {
    let v = flipped(world)?;
    check::same(v.read_cache()?.as_slice(), 0, |i| i as u64)
}

fn a_panic_is_a_failure(world: &World) -> Result<()> {
    assert!(world.rank().index() + 1 < world.size(), "out of cheese");
    world.barrier()
}

fn passes(world: &World) -> Result<()> {
    world.barrier()
}

fn fails_on_the_last_rank(world: &World) -> Result<()> {
    if world.rank().index() + 1 == world.size() {
        return Err(Error::user("out of tea"));
    }
    world.barrier()
}

fn panics_on_the_last_rank(world: &World) -> Result<()> {
    assert!(world.rank().index() + 1 < world.size(), "out of milk");
    world.barrier()
}

/// The bodies after the failed one run all the same.
fn a_failure_names_body_rank_and_world() -> Result<(), Failed> {
    let place = Place { launcher: Launcher::Processes(Route::Shm), size: 2 };
    let bodies = [Body::of(fails_on_the_last_rank), Body::of(panics_on_the_last_rank), Body::of(passes)];
    let outcomes = job::outcomes(place, &bodies.each_ref())?;
    let text = |body: &Body| outcomes.get(body.name()).cloned().and_then(Result::err);
    let expected = [Some("out of tea"), Some("out of milk"), None];
    for (body, expected) in bodies.iter().zip(expected) {
        match (text(body), expected) {
            (None, None) => {}
            (Some(text), Some(cause)) => {
                for part in [body.name(), "processes-shm/2", "rank 1", cause, "verifiers.rs"] {
                    assert!(text.contains(part), "{part:?} is missing in: {text}");
                }
            }
            (text, _) => return Err(format!("{}: {text:?}", body.name()).into()),
        }
    }
    assert!(outcomes.contains_key(bodies[2].name()));
    Ok(())
}
