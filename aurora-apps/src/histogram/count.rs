//! The same program with one behaviour, with another, and with none.

use aurora_core::prelude::*;

/// Collective. Adds 1 to each counter that this rank has drawn, through buffers.
///
/// # Errors
/// Whatever ended the job.
pub fn release(table: &mut GVector<u64>, draws: impl Iterator<Item = usize>) -> Result<()> {
    let mut table = table.release_c_with::<Add>()?;
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
    let mut table = table.accumulate::<Add>()?;
    for index in draws {
        table.update(index, 1)?;
    }
    table.finish()
}

/// Collective. The same element by element. Only one rank at a time: of two that add to one counter, one might be lost.
///
/// # Errors
/// Whatever ended the job.
pub fn in_turns(world: &World, table: &mut GVector<u64>, draws: impl Iterator<Item = usize>) -> Result<()> {
    let mut draws = Some(draws);
    for turn in 0..world.size() {
        if world.rank() == turn {
            for index in draws.take().into_iter().flatten() {
                let count = table.at(index)?;
                table.put(index, count + 1)?;
            }
        }
        world.barrier()?;
    }
    Ok(())
}
