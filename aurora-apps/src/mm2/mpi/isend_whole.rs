//! The paper's message passing, literally (section 4.2): Isend of a rank's rows to all other ranks, Irecv of the other
//! ranks' rows into a local buffer, Waitall, and then one multiplication.

use super::program::Operands;
use crate::clock::Clock;
use crate::mm2::parallel::Stage;
use aurora_core::prelude::*;

/// Collective. Computes `c <- a x b`.
pub fn mmultiply(operands: Operands<'_, '_>, stage: Stage, clock: &mut Clock<'_>) -> Result<()> {
    let Operands { ranks, kernel, columns, rows, a, b, c } = operands;
    clock.sharing(stage.load, || {
        ranks.all_gather_at_once(rows, b);
        Ok(())
    })?;
    clock.computing(stage.multiply, || {
        kernel.multiply(a, b, c, columns);
        Ok(())
    })
}
