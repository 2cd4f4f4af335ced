//! The program without a behaviour: element by element.

use aurora_core::prelude::*;

/// Collective. Adds 1 to each counter that this rank has drawn. The ranks take turns: if two ranks added to one counter
/// at the same time, an update might be lost.
///
/// # Errors
/// The error that ended the job.
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
