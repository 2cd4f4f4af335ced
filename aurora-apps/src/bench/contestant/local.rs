//! Every rank accesses its own elements, one after the other: the cost of each way of access, compared with a slice.

use super::prelude::*;
use crate::bench::job::{Access, Line};
use aurora_core::GlobalRead;
use std::hint::black_box;
use std::ops::Range;

/// The number of elements of each rank. They fit a first-level cache, so that the speed of memory is not measured.
const OWN: usize = 512;

/// Accesses elements in the way `access`.
pub fn aurora(world: &World, access: Access) -> Result<Contestant<'_>> {
    match access {
        Access::At64 => reads(world, access, |line: Line| line.into_iter().fold(0, u64::wrapping_add)),
        Access::Put8 => writes(world),
        _ => reads(world, access, |word: u64| word),
    }
}

/// Returns passes over the own elements that make `times` accesses in all.
fn passes(own: Range<usize>, times: usize) -> impl Iterator<Item = Range<usize>> {
    (0..times).step_by(OWN).map(move |done| own.start..own.start + OWN.min(times - done))
}

/// Collective. Measures reads, element by element, in passes. Returns the sum of the values.
fn read(
    round: Round,
    watch: &mut Watch<'_>,
    own: &Range<usize>,
    mut element: impl FnMut(usize) -> Result<u64>,
) -> Result<u64> {
    watch.measure(|| {
        let mut sum = 0_u64;
        for pass in passes(own.clone(), round.times) {
            for index in black_box(pass) {
                sum = sum.wrapping_add(element(index)?);
            }
        }
        Ok(sum)
    })
}

/// Returns the expected sum, if each element has `words` words.
fn expected(round: Round, own: &Range<usize>, words: usize) -> u64 {
    let mut sums = vec![0_u64; OWN + 1];
    for (index, element) in own.clone().enumerate() {
        let element = (words * element..words * (element + 1)).map(|word| round.element(word));
        sums[index + 1] = element.fold(sums[index], u64::wrapping_add);
    }
    passes(own.clone(), round.times).fold(0, |sum, range| sum.wrapping_add(sums[range.len()]))
}

/// Reads elements; `value` sums up the words of an element.
fn reads<T: Element>(world: &World, access: Access, value: impl Fn(T) -> u64 + 'static) -> Result<Contestant<'_>> {
    let mut vector = GVector::<T>::new(world, OWN * world.size())?;
    let own = vector.local_range();
    Ok(Box::new(move |round, watch| {
        round.fill_own(&mut vector)?;
        let sum = match access {
            Access::GuardAt => {
                let guard = vector.owner_computes()?;
                read(round, watch, &own, |i| guard.at(i).map(&value))?
            }
            Access::GuardIndex => {
                let guard = vector.owner_computes()?;
                read(round, watch, &own, |i| Ok(value(guard[i])))?
            }
            Access::GuardOpen => read(round, watch, &own, |i| Ok(value(vector.owner_computes()?[i])))?,
            Access::Slice => {
                let guard = vector.owner_computes()?;
                let (slice, start) = (guard.local(), own.start);
                read(round, watch, &own, |i| Ok(value(slice[i - start])))?
            }
            _ => read(round, watch, &own, |i| vector.at(i).map(&value))?,
        };
        Ok(u64::from(sum != expected(round, &own, size_of::<T>() / size_of::<u64>())))
    }))
}

/// Writes 8 bytes at a time.
fn writes(world: &World) -> Result<Contestant<'_>> {
    let mut vector = GVector::<u64>::new(world, OWN * world.size())?;
    let (own, mut values) = (vector.local_range(), vec![0_u64; OWN]);
    let start = size_of::<u64>() * own.start;
    Ok(Box::new(move |round, watch| {
        round.fill(bytemuck::cast_slice_mut(&mut values), start);
        watch.measure(|| {
            for range in passes(own.clone(), round.times) {
                for (i, value) in black_box(range).zip(&values) {
                    vector.put(i, *value)?;
                }
            }
            Ok(())
        })?;
        let written = vector.owner_computes()?;
        Ok(round.wrong(bytemuck::cast_slice(&written.local()[..OWN.min(round.times)]), start))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_accesses_are_made() {
        for times in [1, OWN - 1, OWN, OWN + 1, 3 * OWN] {
            let lengths: Vec<_> = passes(7..7 + OWN, times).map(|range| range.len()).collect();
            assert_eq!(lengths.iter().sum::<usize>(), times);
            assert!(lengths.iter().all(|length| *length <= OWN));
        }
    }
}
