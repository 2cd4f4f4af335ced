//! Merging sorted runs as they come: neighbours pairwise, in rounds between two buffers, as
//! [`merge`](crate::psrs::merge()) does, but each pair as soon as both are here. What of the result belongs into this
//! rank's block is written there, and not copied.

use crate::psrs::merge::merge_some;
use std::ops::Range;

/// Keys that are merged at a time: a tenth of a millisecond, after which MPI may go on with what is under way.
const STRIP: usize = 64 * 1024;

/// Runs that are merged, some of which are still to come.
pub struct Merging<'r, 'm> {
    /// Where each run begins in the result, and where the last one ends.
    begins: Vec<usize>,
    /// Those that are here, wherever they are.
    runs: Vec<&'r [u32]>,
    /// What is ready for each round; of the last one it is the result.
    ready: Vec<Vec<bool>>,
    /// What comes of the first, third, ... round, and of the others.
    buffers: &'m mut [Vec<u32>; 2],
    /// The part of the result that is this rank's own, and where it goes.
    own: Range<usize>,
    block: &'r mut [u32],
}

impl<'r, 'm> Merging<'r, 'm> {
    /// Of runs of these lengths. What is in the buffers does not matter, and they grow as needed. The range `own` of
    /// the result goes into `block`.
    pub fn new(
        lengths: impl Iterator<Item = usize>,
        buffers: &'m mut [Vec<u32>; 2],
        (own, block): (Range<usize>, &'r mut [u32]),
    ) -> Self {
        assert_eq!(own.len(), block.len(), "room for the own part");
        let mut begins = vec![0];
        begins.extend(lengths.scan(0, |end, length| {
            *end += length;
            Some(*end)
        }));
        let (count, total) = (begins.len() - 1, begins[begins.len() - 1]);
        let mut ready = vec![vec![false; count]];
        // A single run is copied in a round of its own.
        while ready.len() < 2 || ready[ready.len() - 1].len() > 1 {
            ready.push(vec![false; ready[ready.len() - 1].len().div_ceil(2)]);
        }
        let rounds = ready.len() - 1;
        buffers[..rounds.min(2)].iter_mut().for_each(|buffer| buffer.resize(total, 0));
        Merging { begins, runs: vec![&[]; count], ready, buffers, own, block }
    }

    /// All runs are here.
    pub fn add_all(&mut self, runs: Vec<&'r [u32]>) {
        runs.into_iter().enumerate().for_each(|(number, run)| self.add(number, run, &mut |work| work()));
    }

    /// Run `number` is here: merges it with its neighbour if that is here too, what comes of it with its neighbour, and
    /// so on. `step` does a little of that at a time.
    pub fn add(&mut self, number: usize, run: &'r [u32], step: &mut dyn FnMut(&mut dyn FnMut())) {
        self.runs[number] = run;
        let mut number = number;
        for round in 0..self.ready.len() {
            self.ready[round][number] = true;
            let neighbour_is_ready = self.ready[round].get(number ^ 1).is_none_or(|ready| *ready);
            if round + 1 == self.ready.len() || !neighbour_is_ready {
                return;
            }
            number /= 2;
            self.merge(round, number, step);
        }
    }

    /// Makes a run of the next round of two of this one (or of the last one alone).
    fn merge(&mut self, round: usize, number: usize, step: &mut dyn FnMut(&mut dyn FnMut())) {
        let last = self.begins.len() - 1;
        let begin = |number: usize| self.begins[last.min(number << round)];
        let [start, middle, end] = [2 * number, 2 * number + 1, 2 * number + 2].map(begin);
        let [odd, even] = &mut *self.buffers;
        let (from, into) = if round.is_multiple_of(2) { (even, odd) } else { (odd, even) };
        let (left, right) = match round {
            0 => (self.runs[2 * number], self.runs.get(2 * number + 1).copied().unwrap_or_default()),
            _ => (&from[start..middle], &from[middle..end]),
        };
        let into = &mut into[start..end];
        let is_last = round + 2 == self.ready.len();
        let places: [&mut [u32]; 3] = if is_last {
            let (before, rest) = into.split_at_mut(self.own.start);
            [before, &mut *self.block, &mut rest[self.own.len()..]]
        } else {
            [into, &mut [], &mut []]
        };
        let (mut i, mut j) = (0, 0);
        for place in places.into_iter().flat_map(|place| place.chunks_mut(STRIP)) {
            step(&mut || {
                let (from_left, from_right) = merge_some(&left[i..], &right[j..], place);
                (i, j) = (i + from_left, j + from_right);
            });
        }
    }

    /// The result but for this rank's own part, in whose place there is anything.
    ///
    /// # Panics
    /// If a run has not come.
    pub fn finish(self) -> &'m [u32] {
        let rounds = self.ready.len() - 1;
        assert_eq!(self.ready[rounds], [true], "all runs");
        &self.buffers[(rounds + 1) % 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn in_any_order_merging_is_sorting_all(
            mut runs in prop::collection::vec(any::<Vec<u8>>(), 1..12),
            seed: u64,
            cuts: (usize, usize),
        ) {
            let mut runs: Vec<Vec<u32>> = runs.drain(..).map(|run| run.into_iter().map(u32::from).collect()).collect();
            runs.iter_mut().for_each(|run| run.sort_unstable());
            let mut order: Vec<usize> = (0..runs.len()).collect();
            let stream = crate::random::Stream::new(seed, 0);
            order.sort_by_key(|number| stream.bits(*number as u64));
            let mut expected = runs.concat();
            expected.sort_unstable();
            let [one, other] = [cuts.0, cuts.1].map(|cut| cut % (expected.len() + 1));
            let own = one.min(other)..one.max(other);
            let (mut buffers, mut block) = ([vec![7; 3], Vec::new()], vec![7; own.len()]);
            let mut merging = Merging::new(runs.iter().map(Vec::len), &mut buffers, (own.clone(), &mut block));
            order.iter().for_each(|number| merging.add(*number, &runs[*number], &mut |work| work()));
            let mut merged = merging.finish().to_vec();
            merged[own].copy_from_slice(&block);
            prop_assert_eq!(merged, expected);
        }
    }
}
