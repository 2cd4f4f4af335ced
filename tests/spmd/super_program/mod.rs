//! Super-programs on the ranks of every world give the results of the sequential program, to the bit.

mod algebra;
mod grids;
mod life;
mod policies;
mod values;

use aurora_core::{Result, World};
use aurora_suite::{Body, check};
use aurora_super::{Policy, Super, SuperProgram};
use std::fmt::Debug;

pub fn bodies() -> Vec<Body> {
    [algebra::bodies(), grids::bodies(), values::bodies(), life::bodies(), policies::bodies()]
        .into_iter()
        .flatten()
        .collect()
}

/// Runs a program on the ranks and without them. Both results are equal.
fn both<R: PartialEq + Debug>(world: &World, program: impl Fn(&SuperProgram<'_>) -> Result<R>) -> Result<R> {
    both_by(world, Policy::default(), program)
}

/// Like [`both`], by a policy.
fn both_by<R: PartialEq + Debug>(
    world: &World,
    policy: Policy,
    program: impl Fn(&SuperProgram<'_>) -> Result<R>,
) -> Result<R> {
    let want = program(&SuperProgram::sequential())?;
    let found = program(&Super::default().policy(policy).start(world)?)?;
    if found != want {
        check::equal("the result on the ranks", format!("{found:?}"), format!("{want:?}"))?;
    }
    Ok(found)
}

/// Like [`both`], with a known result.
fn both_give<R: PartialEq + Debug>(
    world: &World,
    want: R,
    program: impl Fn(&SuperProgram<'_>) -> Result<R>,
) -> Result<()> {
    check::equal("the result", both(world, program)?, want)
}
