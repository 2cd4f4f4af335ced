//! Every rank accesses elements of its own, one after the other: what the ways to do so cost beside a slice.

use super::contestant::Any;
use super::job::{Access, Line};
use super::prelude::*;
use aurora_core::GlobalRead;
use std::hint::black_box;
use std::ops::Range;

/// Elements that each rank has: in a first-level cache, so that it is not memory that is measured.
const OWN: usize = 512;

/// Collective. What accesses elements in this way.
pub fn contestant(world: &World, access: Access) -> Result<Any<'_>> {
    let length = OWN * world.size();
    Ok(match access {
        Access::At64 => Box::new(Large(GVector::new(world, length)?)),
        Access::Put8 => Box::new(Writes(GVector::new(world, length)?)),
        _ => Box::new(Reads { access, vector: GVector::new(world, length)? }),
    })
}

/// The own elements, so often over and over that it makes `times` accesses.
fn passes(own: Range<usize>, times: usize) -> impl Iterator<Item = Range<usize>> {
    (0..times).step_by(OWN).map(move |done| own.start..own.start + OWN.min(times - done))
}

/// What is read, element by element, in passes; and what it should have been.
fn read(round: Round, own: &Range<usize>, mut pass: impl FnMut(Range<usize>) -> Result<u64>) -> Result<u64> {
    let passes = passes(own.clone(), round.times);
    passes.map(|range| pass(black_box(range))).try_fold(0_u64, |sum, of_pass| Ok(sum.wrapping_add(of_pass?)))
}

/// The sum of the words `of` each element that is read.
fn expected(round: Round, own: &Range<usize>, of: impl Fn(usize) -> u64) -> u64 {
    let mut sums = vec![0_u64; OWN + 1];
    for (index, element) in own.clone().enumerate() {
        sums[index + 1] = sums[index].wrapping_add(of(element));
    }
    passes(own.clone(), round.times).fold(0, |sum, range| sum.wrapping_add(sums[range.len()]))
}

/// Reads of 8 bytes.
struct Reads {
    access: Access,
    vector: GVector<u64>,
}

impl Contestant for Reads {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        let Reads { access, vector } = self;
        round.fill_own(vector)?;
        let own = vector.local_range();
        let sum = match access {
            Access::GuardAt => {
                let guard = vector.owner_computes()?;
                watch.measure(|| read(round, &own, |range| sum(range.map(|i| guard.at(i)))))?
            }
            Access::GuardIndex => {
                let guard = vector.owner_computes()?;
                watch.measure(|| {
                    read(round, &own, |range| Ok(range.fold(0, |sum: u64, i| sum.wrapping_add(guard[i]))))
                })?
            }
            Access::GuardOpen => {
                watch.measure(|| read(round, &own, |range| sum(range.map(|i| Ok(vector.owner_computes()?[i])))))?
            }
            Access::Slice => {
                let guard = vector.owner_computes()?;
                let (slice, start) = (guard.local(), own.start);
                watch.measure(|| {
                    read(round, &own, |range| {
                        let range = range.start - start..range.end - start;
                        Ok(range.fold(0, |sum: u64, i| sum.wrapping_add(slice[i])))
                    })
                })?
            }
            _ => watch.measure(|| read(round, &own, |range| sum(range.map(|i| vector.at(i)))))?,
        };
        Ok(u64::from(sum != expected(round, &own, |index| round.element(index))))
    }
}

fn sum(values: impl Iterator<Item = Result<u64>>) -> Result<u64> {
    let mut sum = 0_u64;
    for value in values {
        sum = sum.wrapping_add(value?);
    }
    Ok(sum)
}

/// Reads of a whole line of a cache.
struct Large(GVector<Line>);

impl Contestant for Large {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        round.fill_own(&mut self.0)?;
        let (vector, own) = (&self.0, self.0.local_range());
        let words = |line: Line| line.into_iter().fold(0, u64::wrapping_add);
        let sum = watch.measure(|| read(round, &own, |range| sum(range.map(|i| Ok(words(vector.at(i)?))))))?;
        let words = |index: usize| (8 * index..8 * index + 8).fold(0, |sum: u64, w| sum.wrapping_add(round.element(w)));
        Ok(u64::from(sum != expected(round, &own, words)))
    }
}

/// Writes of 8 bytes.
struct Writes(GVector<u64>);

impl Contestant for Writes {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        let own = self.0.local_range();
        let mut values = vec![0_u64; OWN];
        round.fill(bytemuck::cast_slice_mut(&mut values), size_of::<u64>() * own.start);
        watch.measure(|| {
            for range in passes(own.clone(), round.times) {
                for (i, value) in black_box(range).zip(&values) {
                    self.0.put(i, *value)?;
                }
            }
            Ok(())
        })?;
        let guard = self.0.owner_computes()?;
        let written = &guard.local()[..OWN.min(round.times)];
        Ok(round.wrong(bytemuck::cast_slice(written), size_of::<u64>() * own.start))
    }
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

    #[test]
    fn every_way_sees_a_flipped_bit() {
        for access in Access::ALL {
            for damage in [false, true] {
                let wrong = Config::threads(2).run(|world| {
                    let mut watch = Watch::new(world, None);
                    let round = Round::new(3, 1, OWN + 3, damage);
                    let wrong = contestant(world, access)?.repetition(round, &mut watch)?;
                    assert_eq!(wrong, u64::from(damage && world.is_root()), "{access:?}");
                    Ok(wrong)
                });
                assert_eq!(wrong.unwrap(), u64::from(damage));
            }
        }
    }
}
