//! The merge of sorted runs as they arrive: neighbours pairwise, in rounds between two buffers, as in
//! [`merge`](crate::psrs::merge()), but each pair is merged as soon as both runs have arrived. The result's keys of
//! this rank's block are written into the block directly, without a copy.

use crate::psrs::merge::merge_some;
use std::ops::Range;

/// The number of keys that are merged at a time: a tenth of a millisecond, after which MPI may progress.
const STRIP: usize = 64 * 1024;

/// Runs that are merged, some of which have not yet arrived.
pub struct Merging<'r, 'm> {
    /// The begin of each run in the result, and the end of the last run.
    begins: Vec<usize>,
    /// The runs that have arrived.
    runs: Vec<&'r [u32]>,
    /// The runs that are ready for each round; the last entry is the result.
    ready: Vec<Vec<bool>>,
    /// The results of the odd rounds, and of the even rounds.
    buffers: &'m mut [Vec<u32>; 2],
    /// The part of the result in this rank's block, and the memory for it.
    own: Range<usize>,
    block: &'r mut [u32],
}

impl<'r, 'm> Merging<'r, 'm> {
    /// Prepares the merge of runs of these lengths. The buffers' contents are ignored and they grow if necessary. The
    /// range `own` of the result goes into `block`.
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

    /// Adds all runs.
    pub fn add_all(&mut self, runs: Vec<&'r [u32]>) {
        runs.into_iter().enumerate().for_each(|(number, run)| self.add(number, run, &mut |work| work()));
    }

    /// Adds run `number`, which has arrived. Merges it with its neighbour if that has arrived too, then merges the
    /// result with its neighbour, and so on. Each part of the work is run by `step`.
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

    /// Merges run `number` of a round and its neighbour into a run of the next round; the last run may have no
    /// neighbour.
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

    /// Returns the result. The place of this rank's own part has arbitrary contents.
    ///
    /// # Panics
    /// If a run has not been added.
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
