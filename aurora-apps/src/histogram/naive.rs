//! The same without a behaviour: element by element.

use aurora_core::prelude::*;

/// Collective. Adds 1 to each counter that this rank has drawn. Only one rank at a time: of two that add to one
/// counter, one might be lost.
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
