//! Numbers of a file that can be: for serde's `deserialize_with`. What is optional may be absent.

use super::Spread;
use serde::de::{Deserialize, Deserializer, Error};
use std::ops::RangeInclusive;

/// No job has more ranks.
const RANKS: RangeInclusive<usize> = 1..=16_384;

/// Nobody waits for more repetitions, and more nodes are not simulated. Those of many runs are added up.
const COUNT: RangeInclusive<usize> = 1..=1 << 32;

/// Seconds and counts that can be, beside 0. With greater and smaller ones quotients are no numbers any more.
const SENSIBLE: RangeInclusive<f64> = 1e-30..=1e12;

/// A `V`, or none, in which there is no flaw.
fn checked<'de, V, T, D>(of: D, flaw: impl Fn(V) -> Option<String>) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Copy + Into<Option<V>>,
    D: Deserializer<'de>,
{
    let value = T::deserialize(of)?;
    value.into().and_then(flaw).map_or(Ok(value), |flaw| Err(D::Error::custom(flaw)))
}

pub fn ranks<'de, D: Deserializer<'de>>(of: D) -> Result<usize, D::Error> {
    checked(of, |ranks| (!RANKS.contains(&ranks)).then(|| format!("there is no job of {ranks} ranks")))
}

pub fn reps<'de, D: Deserializer<'de>>(of: D) -> Result<usize, D::Error> {
    checked(of, |reps| (!COUNT.contains(&reps)).then(|| format!("nothing is repeated {reps} times")))
}

/// Of a simulation: nodes, or repetitions.
pub fn count<'de, D: Deserializer<'de>>(of: D) -> Result<usize, D::Error> {
    checked(of, |count| (!COUNT.contains(&count)).then(|| format!("there are no {count} nodes or repetitions")))
}

pub fn seconds<'de, D: Deserializer<'de>>(of: D) -> Result<f64, D::Error> {
    checked(of, |value| (!is_sensible(value)).then(|| format!("{value:e} s is no time")))
}

/// A [`Spread`].
pub fn in_order<'de, T, D>(of: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Copy + Into<Option<Spread>>,
    D: Deserializer<'de>,
{
    checked(of, |spread: Spread| {
        let Spread { min, median, max } = spread;
        match [min, median, max].into_iter().all(is_sensible) {
            false => Some(format!("min {min:e}, median {median:e}, max {max:e} cannot be")),
            true => (!spread.is_in_order()).then(|| format!("{spread} are not in order")),
        }
    })
}

/// A share of 1. Sums of such may be a digit beside it.
pub fn share<'de, D: Deserializer<'de>>(of: D) -> Result<f64, D::Error> {
    let flaw = |value| (!(-1e-9..=1.0 + 1e-9).contains(&value)).then(|| format!("{value} is no share of 1"));
    checked(of, flaw).map(|value: f64| value.clamp(0.0, 1.0))
}

pub fn units<'de, T, D>(of: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Copy + Into<Option<f64>>,
    D: Deserializer<'de>,
{
    checked(of, |value| (!(0.0..=1e18).contains(&value)).then(|| format!("{value} is no number of blocks or units")))
}

/// Units as they are written, to compare.
pub fn text<'de, D: Deserializer<'de>>(of: D) -> Result<String, D::Error> {
    units(of).map(|value: f64| value.to_string())
}

fn is_sensible(value: f64) -> bool {
    value == 0.0 || SENSIBLE.contains(&value)
}
