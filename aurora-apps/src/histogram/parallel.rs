//! The parallel program, with either of two behaviours.

use aurora_core::ops::Sum;
use aurora_core::prelude::*;

/// Collective. Adds 1 to each counter that this rank has drawn, through buffers.
///
/// # Errors
/// The error that ended the job.
pub fn release(table: &mut GVector<u64>, draws: impl Iterator<Item = usize>) -> Result<()> {
    let mut table = table.release_c_with(Sum)?;
    for index in draws {
        table.update(index, 1)?;
    }
    table.finish()
}

/// Collective. Adds 1 to each counter that this rank has drawn, in a partial copy that is merged at the end.
///
/// # Errors
/// [`Error::OutOfMemory`] if a rank has no memory for the copy, or the error that ended the job.
pub fn accumulate(table: &mut GVector<u64>, draws: impl Iterator<Item = usize>) -> Result<()> {
    let mut table = table.accumulate(Sum)?;
    table.update_many(draws.map(|index| (index, 1)))?;
    table.finish()
}
