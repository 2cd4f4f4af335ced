//! Every rank has the sums of all ranks' values.

use super::prelude::*;

/// One of the library's reductions, again and again in the same memory.
pub trait Reduce {
    /// Collective. Replaces each value by the sum of what all ranks have at its place.
    ///
    /// # Errors
    /// Whatever ended the job.
    fn all_reduce(&mut self, values: &mut Vec<u64>) -> Result<()>;
}

impl Reduce for &World {
    fn all_reduce(&mut self, values: &mut Vec<u64>) -> Result<()> {
        match &mut values[..] {
            [value] => *value = World::all_reduce(self, Add, *value)?,
            values => self.all_reduce_slice(Add, values)?,
        }
        Ok(())
    }
}

/// By Aurora or MPI.
pub struct AllReduce<R> {
    by: R,
    me: u64,
    size: u64,
    values: Vec<u64>,
}

/// So often the sums of the last call are summed up again, before new values take their place: on two ranks each call
/// doubles them.
const IN_A_ROW: usize = 32;

impl<R: Reduce> AllReduce<R> {
    /// Of so many values on each rank.
    pub fn new(world: &World, by: R, values: usize) -> Self {
        AllReduce { by, me: world.rank().index() as u64, size: world.size() as u64, values: vec![0; values] }
    }

    /// Carries it out `round.times` times.
    fn again_and_again(&mut self, round: Round) -> Result<()> {
        for time in 0..round.times {
            if time > 0 && time % IN_A_ROW == 0 {
                let row = (time / IN_A_ROW) as u64;
                self.values.iter_mut().enumerate().for_each(|(index, value)| *value = row + index as u64 + self.me);
            }
            self.by.all_reduce(&mut self.values)?;
        }
        Ok(())
    }

    /// What a value has become at last: the sum of different values first, then of equal ones.
    fn wanted(&self, round: Round, index: usize) -> u64 {
        let last = round.times - 1;
        let row = last / IN_A_ROW;
        let begin = if row == 0 { round.element(index) } else { (row + index) as u64 };
        let sum = begin.wrapping_mul(self.size).wrapping_add(self.size * (self.size - 1) / 2);
        (0..last % IN_A_ROW).fold(sum, |sum, _| sum.wrapping_mul(self.size))
    }
}

impl<R: Reduce> Contestant for AllReduce<R> {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        for (index, value) in self.values.iter_mut().enumerate() {
            *value = round.element(index).wrapping_add(self.me);
        }
        let me = self.me;
        watch.measure(|| self.again_and_again(round))?;
        // The values of long repetitions are new ones by then.
        if let Some(value) = self.values.first_mut().filter(|_| round.damage && me == 0) {
            *value ^= 1;
        }
        let wrong = (0..self.values.len()).filter(|index| self.values[*index] != self.wanted(round, *index));
        Ok(wrong.count() as u64)
    }
}
