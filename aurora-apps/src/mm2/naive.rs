//! The program without a behaviour: it accesses every element by itself.

use super::parallel::{FIRST, SECOND, Stage};
use crate::clock::Clock;
use aurora_core::prelude::*;

/// Collective. Computes P <- Q x R, then R <- Q x P.
pub(super) fn multiply_by_elements(
    world: &World,
    q: &GVector<i32>,
    r: &mut GVector<i32>,
    p: &mut GVector<i32>,
    clock: &mut Clock<'_>,
) -> Result<()> {
    stage(world, q, r, p, FIRST, clock)?;
    stage(world, q, p, r, SECOND, clock)
}

/// Collective. Computes this rank's rows of `c <- a x b`.
fn stage(
    world: &World,
    a: &GVector<i32>,
    b: &GVector<i32>,
    c: &mut GVector<i32>,
    stage: Stage,
    clock: &mut Clock<'_>,
) -> Result<()> {
    let n = c.dim().map_or(0, |dim| dim.cols);
    // All ranks have written B before any rank reads it.
    clock.sharing(stage.load, || world.barrier())?;
    clock.computing(stage.multiply, || {
        for place in c.local_range() {
            let (row, column) = (place / n, place % n);
            let mut sum = 0i32;
            for k in 0..n {
                sum = sum.wrapping_add(a.at(row * n + k)?.wrapping_mul(b.at(k * n + column)?));
            }
            c.put(place, sum)?;
        }
        Ok(())
    })?;
    // All ranks have read B, which is written next.
    world.barrier()
}
