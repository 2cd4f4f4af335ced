//! Super-programs on the ranks of every world give the results of the sequential program, to the bit.

mod algebra;
mod grids;
mod life;
mod values;

use aurora_core::{Result, World};
use aurora_suite::body::Body;
use aurora_suite::check;
use aurora_super::SuperProgram;
use std::fmt::Debug;

pub fn bodies() -> Vec<Body> {
    [algebra::bodies(), grids::bodies(), values::bodies(), life::bodies()].into_iter().flatten().collect()
}

/// Runs a program on the ranks and without them. Both results are equal.
fn both<R: PartialEq + Debug>(world: &World, program: impl Fn(&SuperProgram<'_>) -> Result<R>) -> Result<R> {
    let want = program(&SuperProgram::sequential())?;
    let found = program(&SuperProgram::new(world)?)?;
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
