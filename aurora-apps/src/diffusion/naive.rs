//! The program without a behaviour: it accesses every cell by itself.

use super::parallel::{EDGES, STENCIL};
use super::stencil::warmed;
use crate::clock::{Clock, Kind};
use aurora_core::prelude::*;

/// Collective. Computes one step from `now` into `next`, whose edge already has the values of `now`.
pub fn step_by_elements(
    world: &World,
    now: &GVector<f64>,
    next: &mut GVector<f64>,
    clock: &mut Clock<'_>,
) -> Result<()> {
    let MatrixDim { rows, cols } = now.dim().unwrap_or(MatrixDim::new(0, 0));
    clock.part(STENCIL, Kind::Computing, || {
        for i in now.local_range() {
            let (row, col) = (i / cols, i % cols);
            if row > 0 && row + 1 < rows && col > 0 && col + 1 < cols {
                let around = [now.at(i - cols)?, now.at(i + cols)?, now.at(i - 1)?, now.at(i + 1)?];
                let [above, below, left, right] = around;
                next.put(i, warmed(now.at(i)?, above, below, left, right))?;
            }
        }
        Ok(())
    })?;
    // All ranks have written before any rank reads, and have read before any rank writes there again.
    clock.part(EDGES, Kind::Sharing, || world.barrier())
}
