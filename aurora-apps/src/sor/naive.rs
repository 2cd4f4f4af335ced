//! The program without a behaviour: it accesses every element by itself.

use super::kernel::{Real, parity, relaxed};
use super::parallel::{EDGES, UPDATE};
use crate::clock::{Clock, Kind};
use aurora_core::prelude::*;

/// Collective. Computes one half-sweep over `own`, whose elements have this colour. `other` has the elements of the
/// other colour; both are halves of a matrix with `cols` columns.
pub fn half_sweep_by_elements<T: Real>(
    world: &World,
    own: &mut GVector<T>,
    other: &GVector<T>,
    cols: usize,
    colour: usize,
    clock: &mut Clock<'_>,
) -> Result<()> {
    let MatrixDim { rows, cols: half } = own.dim().unwrap_or(MatrixDim::new(0, 0));
    clock.part(UPDATE, Kind::Computing, || {
        for i in own.local_range() {
            let row = i / half;
            let parity = parity(row, colour);
            let col = 2 * (i % half) + parity;
            if row > 0 && row + 1 < rows && col > 0 && col + 1 < cols {
                let (above, below) = (other.at(i - half)?, other.at(i + half)?);
                let (left, right) = (other.at(i + parity - 1)?, other.at(i + parity)?);
                own.put(i, relaxed(own.at(i)?, above, below, left, right))?;
            }
        }
        Ok(())
    })?;
    // All ranks have written before any rank reads, and have read before any rank writes there again.
    clock.part(EDGES, Kind::Sharing, || world.barrier())
}
