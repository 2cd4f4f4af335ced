//! Data sets to sort. Each key depends on its position alone, so every rank can make its own block, and rank 0 the
//! whole.

use crate::random::Stream;
use clap::ValueEnum;
use std::sync::Arc;

/// The kinds of data sets.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Input {
    /// Random keys.
    ///
    /// The paper has these.
    #[default]
    Uniform,
    /// Sorted keys.
    Sorted,
    /// Keys in descending order.
    Reverse,
    /// One value.
    Equal,
    /// Sixteen values.
    Few,
    /// A few values often, many values rarely (Zipf).
    ///
    /// The probability of the k-th of 65536 values is proportional to 1/k.
    Zipf,
}

impl Input {
    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Input::Uniform => "uniform",
            Input::Sorted => "sorted",
            Input::Reverse => "reverse",
            Input::Equal => "equal",
            Input::Few => "few",
            Input::Zipf => "zipf",
        }
    }
}

/// The keys of one repetition.
#[derive(Clone, Debug)]
pub struct Keys {
    input: Input,
    length: u64,
    stream: Stream,
    /// The end of each of Zipf's values on 0.0..1.0; empty for other inputs.
    ends: Arc<[f64]>,
}

/// The number of values of the input `zipf`.
const ZIPF_VALUES: u32 = 1 << 16;

impl Keys {
    /// Makes `length` keys from `seed`.
    pub fn new(input: Input, length: usize, seed: u64) -> Self {
        let ends: Arc<[f64]> = match input {
            Input::Zipf => zipf_ends().into(),
            _ => Arc::new([]),
        };
        Keys { input, length: length as u64, stream: Stream::new(seed, 0), ends }
    }

    /// Returns the same kind and number of keys for another repetition.
    #[must_use]
    pub fn repetition(&self, rep: usize, seed: u64) -> Self {
        Keys { stream: Stream::new(seed, rep as u64), ..self.clone() }
    }

    /// Returns the key at `index`.
    pub fn key(&self, index: usize) -> u32 {
        let index = index as u64;
        let bits = self.stream.bits(index);
        match self.input {
            Input::Uniform => bits as u32,
            Input::Sorted => self.ascending(index),
            Input::Reverse => self.ascending(self.length - 1 - index),
            Input::Equal => self.stream.bits(0) as u32,
            Input::Few => (bits % 16) as u32 * 0x1111_1111,
            // The multiplication by an odd number keeps values apart and spreads the frequent ones.
            Input::Zipf => self.zipf(self.stream.unit(index)).wrapping_mul(0x9E37_79B1),
        }
    }

    /// Returns a key that ascends with the index, over the whole range.
    fn ascending(&self, index: u64) -> u32 {
        ((u128::from(index) << 32) / u128::from(self.length)) as u32
    }

    fn zipf(&self, unit: f64) -> u32 {
        self.ends.partition_point(|end| *end <= unit) as u32
    }
}

/// Returns running sums of 1/k, scaled to end at 1. They consist of sums and quotients only, so they are the same on
/// every machine.
fn zipf_ends() -> Vec<f64> {
    let mut sum = 0.0;
    let mut ends: Vec<f64> = (1..=ZIPF_VALUES)
        .map(|k| {
            sum += 1.0 / f64::from(k);
            sum
        })
        .collect();
    ends.iter_mut().for_each(|end| *end /= sum);
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn keys(input: Input, length: usize) -> Vec<u32> {
        let keys = Keys::new(input, length, 42);
        (0..length).map(|i| keys.key(i)).collect()
    }

    #[test]
    fn each_input_is_what_it_is_called() {
        assert!(keys(Input::Sorted, 1000).is_sorted());
        assert!(keys(Input::Reverse, 1000).is_sorted_by(|a, b| a >= b));
        assert_eq!(distinct(Input::Equal), 1);
        assert_eq!(distinct(Input::Few), 16);
        assert!(distinct(Input::Uniform) > 9_990);
    }

    #[test]
    fn the_most_frequent_value_of_zipf_is_twice_as_frequent_as_the_next() {
        let keys = keys(Input::Zipf, 100_000);
        let count = |k: u32| {
            let value = k.wrapping_mul(0x9E37_79B1);
            keys.iter().filter(|key| **key == value).count() as f64
        };
        assert!((count(0) / count(1) - 2.0).abs() < 0.1);
        assert!((count(0) / count(9) - 10.0).abs() < 1.0);
    }

    #[test]
    fn another_repetition_has_other_keys() {
        let first = Keys::new(Input::Uniform, 10, 1);
        assert_ne!(first.key(3), first.repetition(1, 1).key(3));
        assert_eq!(first.key(3), first.repetition(0, 1).key(3));
    }

    fn distinct(input: Input) -> usize {
        keys(input, 10_000).into_iter().collect::<BTreeSet<_>>().len()
    }
}
