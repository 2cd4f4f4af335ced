//! Scalars that all ranks add to.

use super::prelude::*;
use aurora_core::ops::Sum;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The number of tasks that the ranks take.
pub const TASKS: u64 = 3000;

/// The time of each task.
const TASK: Duration = Duration::from_micros(10);

/// All ranks take tasks by a counter of rank 0 until no task is left. The number of tasks of each rank shows how even
/// the division is.
pub fn tasks(world: &World) -> Result<Contestant<'_>> {
    let (next, taken) = (GScalar::new(world, 0, 0_u64)?, GScalar::new(world, 0, 0_u64)?);
    Ok(Box::new(move |round, watch| {
        if world.is_root() {
            next.set(0)?;
            taken.set(u64::from(round.damage))?;
        }
        let mine = watch.measure(|| {
            let mut mine = 0;
            while next.fetch_add(1)? < TASKS {
                let begun = Instant::now();
                while begun.elapsed() < TASK {
                    black_box(());
                }
                mine += 1;
            }
            Ok(mine)
        })?;
        watch.lap.share = [mine as f64; 2];
        taken.fetch_add(mine)?;
        world.barrier()?;
        Ok(u64::from(world.is_root() && taken.get()? != TASKS))
    }))
}

/// All ranks add to a scalar by an Accumulate, and read the sum by a ReadCache of the scalar.
pub fn sum(world: &World) -> Result<Contestant<'_>> {
    let own = world.rank().index() as u64 + 1;
    let (mut sum, all) = (GScalar::new(world, 0, 0_u64)?, world.all_reduce(Sum, own)?);
    Ok(Box::new(move |round, watch| {
        let (mut wanted, mut wrong) = (*sum.read_cache()?, u64::from(round.damage));
        watch.measure(|| {
            for _ in 0..round.times {
                sum.accumulate(Sum)?.update(own);
                wanted = wanted.wrapping_add(all);
                wrong += u64::from(*sum.read_cache()? != wanted);
            }
            Ok(())
        })?;
        Ok(wrong)
    }))
}
