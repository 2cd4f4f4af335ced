//! Every rank gets the sums of all ranks' values.

use super::prelude::*;
use aurora_core::ops::Sum;

/// By the library's reductions, repeatedly in the same memory.
pub fn aurora(world: &World, values: usize) -> Result<Contestant<'_>> {
    by(world, values, move |values| {
        match &mut values[..] {
            [value] => *value = world.all_reduce(Sum, *value)?,
            values => world.all_reduce_slice(Sum, values)?,
        }
        Ok(())
    })
}

/// By Allreduce, with two buffers that swap after each call.
#[cfg(feature = "mpi")]
pub fn mpi<'w>(world: &'w World, ranks: MpiRanks<'w>, values: usize) -> Result<Contestant<'w>> {
    let mut sums = vec![0; values];
    by(world, values, move |values| {
        ranks.comm.all_reduce_into(&values[..], &mut sums[..], mpi::collective::SystemOperation::sum());
        std::mem::swap(values, &mut sums);
        Ok(())
    })
}

/// The number of consecutive calls that sum up the previous call's sums, before new values replace them: on two ranks
/// each call doubles the values.
const IN_A_ROW: usize = 32;

/// By `all_reduce`, which replaces each value by the sum of all ranks' values at its place.
fn by<'w>(
    world: &'w World,
    values: usize,
    mut all_reduce: impl FnMut(&mut Vec<u64>) -> Result<()> + 'w,
) -> Result<Contestant<'w>> {
    let (me, size) = (world.rank().index() as u64, world.size() as u64);
    let mut values = vec![0_u64; values];
    Ok(Box::new(move |round, watch| {
        (0..).zip(&mut values).for_each(|(index, value)| *value = round.element(index).wrapping_add(me));
        watch.measure(|| {
            for time in 0..round.times {
                if time > 0 && time % IN_A_ROW == 0 {
                    let row = (time / IN_A_ROW) as u64;
                    values.iter_mut().enumerate().for_each(|(index, value)| *value = row + index as u64 + me);
                }
                all_reduce(&mut values)?;
            }
            Ok(())
        })?;
        // The damage comes after the operation, because a long repetition replaces its values.
        if let Some(value) = values.first_mut().filter(|_| round.damage && me == 0) {
            *value ^= 1;
        }
        let wrong = values.iter().enumerate().filter(|(index, value)| **value != wanted(round, *index, size));
        Ok(wrong.count() as u64)
    }))
}

/// Returns the final value at `index`: first the sum of different values, then sums of equal values.
fn wanted(round: Round, index: usize, size: u64) -> u64 {
    let last = round.times - 1;
    let row = last / IN_A_ROW;
    let begin = if row == 0 { round.element(index) } else { (row + index) as u64 };
    let sum = begin.wrapping_mul(size).wrapping_add(size * (size - 1) / 2);
    (0..last % IN_A_ROW).fold(sum, |sum, _| sum.wrapping_mul(size))
}
