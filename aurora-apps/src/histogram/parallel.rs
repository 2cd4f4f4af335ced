//! The parallel program, with one behaviour and with another.

use aurora_core::ops::Sum;
use aurora_core::prelude::*;

/// Collective. Adds 1 to each counter that this rank has drawn, through buffers.
///
/// # Errors
/// Whatever ended the job.
pub fn release(table: &mut GVector<u64>, draws: impl Iterator<Item = usize>) -> Result<()> {
    let mut table = table.release_c_with(Sum)?;
    for index in draws {
        table.update(index, 1)?;
    }
    table.finish()
}

/// Collective. The same in a partial copy, merged at the end.
///
/// # Errors
/// [`Error::OutOfMemory`] where a rank has no room for that; whatever ended the job.
pub fn accumulate(table: &mut GVector<u64>, draws: impl Iterator<Item = usize>) -> Result<()> {
    let mut table = table.accumulate(Sum)?;
    for index in draws {
        table.update(index, 1)?;
    }
    table.finish()
}
