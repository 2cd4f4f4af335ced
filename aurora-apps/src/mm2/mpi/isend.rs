//! The messages of the paper's program, but rows of B are multiplied as they arrive (Waitsome), this rank's own rows
//! first. The other rows are in transit meanwhile.

use super::program::{Operands, add_rows};
use crate::clock::Clock;
use crate::mm2::parallel::Stage;
use aurora_core::prelude::*;

/// Collective. Computes `c <- a x b`.
pub fn mmultiply(operands: Operands<'_, '_>, stage: Stage, clock: &mut Clock<'_>) -> Result<()> {
    let Operands { ranks, kernel, columns, rows, a, b, c } = operands;
    clock.overlapping((stage.load, stage.multiply), |turns| {
        turns.computing(|| c.fill(0));
        let (mine, others) = rows.own_and_others(ranks.me(), b);
        let outgoing = vec![mine; ranks.size()];
        Ok(ranks.each_as_it_comes(&outgoing, others, |from, block, progress| {
            add_rows((kernel, columns), a, (rows.range(from), block), c, turns, progress);
        }))
    })
}
