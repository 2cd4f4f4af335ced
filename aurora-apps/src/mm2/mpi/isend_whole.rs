//! The paper's message passing, literally (section 4.2): own rows to all others by Isend, theirs by Irecv into a local buffer, Waitall, and then
//! one multiplication.

use super::program::Operands;
use crate::clock::Clock;
use crate::mm2::parallel::Stage;
use aurora_core::prelude::*;

/// Collective. `c <- a x b`.
pub fn mmultiply(operands: Operands<'_, '_>, stage: Stage, clock: &mut Clock<'_>) -> Result<()> {
    let Operands { ranks, kernel, columns, rows, a, b, c, whole } = operands;
    clock.sharing(stage.load, || {
        ranks.all_at_once(&vec![b; ranks.size()], rows.pieces_mut(whole));
        Ok(())
    })?;
    clock.computing(stage.multiply, || {
        kernel.multiply(a, whole, c, columns);
        Ok(())
    })
}
