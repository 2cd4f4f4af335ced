//! The elements before the first half-sweep, by row. Every rank makes its own rows.

use crate::random::Stream;

/// The elements before the first half-sweep.
#[derive(Clone, Copy, Debug)]
pub enum Start {
    /// Numbers of `0.0..1e-6` by the generator of Java with this seed.
    Java(u64),
    /// Numbers of `0.0..=1.0` without 0.
    Random(Stream),
}

impl Start {
    /// Row `row` of a matrix with `cols` columns.
    pub fn row(self, row: usize, cols: usize) -> Vec<f64> {
        let first = (row * cols) as u64;
        match self {
            Start::Java(seed) => java_random(seed, first).take(cols).map(|unit| unit * 1e-6).collect(),
            Start::Random(stream) => (first..).take(cols).map(|index| 1.0 - stream.unit(index)).collect(),
        }
    }
}

const MASK: u64 = (1 << 48) - 1;
const FACTOR: u64 = 0x5_DEEC_E66D;
const SUMMAND: u64 = 0xB;

/// The results of `nextDouble` of Java's `Random` with `seed`, without the first `skipped`.
///
/// ```
/// use aurora_apps::sor::java_random;
///
/// assert_eq!(java_random(42, 0).next(), Some(0.7275636800328681));
/// assert_eq!(java_random(42, 5).next(), java_random(42, 0).nth(5));
/// ```
pub fn java_random(seed: u64, skipped: u64) -> impl Iterator<Item = f64> {
    // A number takes two steps.
    let mut state = after((seed ^ FACTOR) & MASK, 2 * skipped);
    let mut bits = move |count: u32| {
        state = step(state);
        state >> (48 - count)
    };
    std::iter::repeat_with(move || {
        let high = bits(26);
        ((high << 27) + bits(27)) as f64 / (1u64 << 53) as f64
    })
}

fn step(state: u64) -> u64 {
    state.wrapping_mul(FACTOR).wrapping_add(SUMMAND) & MASK
}

/// The state after so many steps. A step is `x -> factor * x + summand`, and so are two steps, four, and so on.
fn after(mut state: u64, mut steps: u64) -> u64 {
    let (mut factor, mut summand) = (FACTOR, SUMMAND);
    while steps > 0 {
        if steps % 2 == 1 {
            state = state.wrapping_mul(factor).wrapping_add(summand) & MASK;
        }
        summand = summand.wrapping_mul(factor).wrapping_add(summand) & MASK;
        factor = factor.wrapping_mul(factor) & MASK;
        steps /= 2;
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_is_as_many_steps() {
        let mut state = 10_101_010;
        for steps in 0..100 {
            assert_eq!(after(10_101_010, steps), state);
            state = step(state);
        }
    }

    #[test]
    fn rows_follow_each_other() {
        for start in [Start::Java(7), Start::Random(Stream::new(7, 0))] {
            let whole = start.row(0, 12);
            assert_eq!([start.row(0, 4), start.row(1, 4), start.row(2, 4)].concat(), whole);
            assert!(whole.iter().all(|value| *value > 0.0));
        }
    }
}
