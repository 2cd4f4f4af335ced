//! Merging sorted runs as they come: neighbours pairwise, in rounds between two buffers, as [`merge`](crate::psrs::merge()) does, but each pair as soon
//! as both are here.

use crate::psrs::merge::merge_two;

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
}

impl<'r, 'm> Merging<'r, 'm> {
    /// Of runs of these lengths. What is in the buffers does not matter, and they grow as needed.
    pub fn new(lengths: impl Iterator<Item = usize>, buffers: &'m mut [Vec<u32>; 2]) -> Self {
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
        Merging { begins, runs: vec![&[]; count], ready, buffers }
    }

    /// Run `number` is here: merges it with its neighbour if that is here too, what comes of it with its neighbour, and so on.
    pub fn add(&mut self, number: usize, run: &'r [u32]) {
        self.runs[number] = run;
        let mut number = number;
        for round in 0..self.ready.len() {
            self.ready[round][number] = true;
            let neighbour_is_ready = self.ready[round].get(number ^ 1).is_none_or(|ready| *ready);
            if round + 1 == self.ready.len() || !neighbour_is_ready {
                return;
            }
            number /= 2;
            self.merge(round, number);
        }
    }

    /// Makes a run of the next round of two of this one (or of the last one alone).
    fn merge(&mut self, round: usize, number: usize) {
        let last = self.begins.len() - 1;
        let begin = |number: usize| self.begins[last.min(number << round)];
        let [start, middle, end] = [2 * number, 2 * number + 1, 2 * number + 2].map(begin);
        let [odd, even] = &mut *self.buffers;
        let (from, into) = if round.is_multiple_of(2) { (even, odd) } else { (odd, even) };
        let (left, right) = match round {
            0 => (self.runs[2 * number], self.runs.get(2 * number + 1).copied().unwrap_or_default()),
            _ => (&from[start..middle], &from[middle..end]),
        };
        merge_two(left, right, &mut into[start..end]);
    }

    /// The result.
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
        fn in_any_order_merging_is_sorting_all(mut runs in prop::collection::vec(any::<Vec<u8>>(), 1..12), seed: u64) {
            let mut runs: Vec<Vec<u32>> = runs.drain(..).map(|run| run.into_iter().map(u32::from).collect()).collect();
            runs.iter_mut().for_each(|run| run.sort_unstable());
            let mut order: Vec<usize> = (0..runs.len()).collect();
            let stream = crate::random::Stream::new(seed, 0);
            order.sort_by_key(|number| stream.bits(*number as u64));
            let mut buffers = [vec![7; 3], Vec::new()];
            let mut merging = Merging::new(runs.iter().map(Vec::len), &mut buffers);
            order.iter().for_each(|number| merging.add(*number, &runs[*number]));
            let mut expected = runs.concat();
            expected.sort_unstable();
            prop_assert_eq!(merging.finish(), expected);
        }
    }
}
