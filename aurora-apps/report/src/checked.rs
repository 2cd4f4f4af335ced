//! Numbers of a file that can be: for serde's `deserialize_with`.

use super::Spread;
use serde::de::{Deserialize, Deserializer, Error};
use std::ops::RangeInclusive;

/// No job has more ranks.
const MOST_RANKS: usize = 16_384;

/// Nobody waits for more repetitions, and more nodes are not simulated. Those of many runs are added up.
const MOST: usize = 1 << 32;

/// Seconds and counts that can be. With greater and smaller ones quotients are no numbers any more.
const SENSIBLE: RangeInclusive<f64> = 1e-30..=1e12;

fn checked<'de, T, D>(deserializer: D, can_be: impl Fn(&T) -> bool, not: impl Fn(&T) -> String) -> Result<T, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    let value = T::deserialize(deserializer)?;
    if can_be(&value) { Ok(value) } else { Err(D::Error::custom(not(&value))) }
}

pub fn ranks<'de, D: Deserializer<'de>>(of: D) -> Result<usize, D::Error> {
    checked(of, |ranks| (1..=MOST_RANKS).contains(ranks), |ranks| format!("there is no job of {ranks} ranks"))
}

pub fn reps<'de, D: Deserializer<'de>>(of: D) -> Result<usize, D::Error> {
    checked(of, |reps| (1..=MOST).contains(reps), |reps| format!("nothing is repeated {reps} times"))
}

/// Of a simulation: nodes, or repetitions.
pub fn count<'de, D: Deserializer<'de>>(of: D) -> Result<usize, D::Error> {
    checked(of, |count| (1..=MOST).contains(count), |count| format!("there are no {count} nodes or repetitions"))
}

pub fn seconds<'de, D: Deserializer<'de>>(of: D) -> Result<f64, D::Error> {
    checked(of, |value| is_sensible(*value), |value| format!("{value:e} s is no time"))
}

pub fn in_order<'de, D: Deserializer<'de>>(of: D) -> Result<Spread, D::Error> {
    let spread = checked(
        of,
        |Spread { min, median, max }| [min, median, max].into_iter().all(|value| is_sensible(*value)),
        |Spread { min, median, max }| format!("min {min:e}, median {median:e}, max {max:e} cannot be"),
    )?;
    if spread.is_in_order() { Ok(spread) } else { Err(D::Error::custom(format!("{spread} are not in order"))) }
}

pub fn in_order_or_none<'de, D: Deserializer<'de>>(of: D) -> Result<Option<Spread>, D::Error> {
    #[derive(serde::Deserialize)]
    struct InOrder(#[serde(deserialize_with = "in_order")] Spread);
    Ok(Option::<InOrder>::deserialize(of)?.map(|InOrder(spread)| spread))
}

/// A share of 1. Sums of such may be a digit beside it.
pub fn share<'de, D: Deserializer<'de>>(of: D) -> Result<f64, D::Error> {
    let is_share = |value: &f64| (-1e-9..=1.0 + 1e-9).contains(value);
    checked(of, is_share, |value| format!("{value} is no share of 1")).map(|value| value.clamp(0.0, 1.0))
}

pub fn units<'de, D: Deserializer<'de>>(of: D) -> Result<f64, D::Error> {
    checked(of, |value| (0.0..=1e18).contains(value), |value| format!("{value} is no number of blocks or units"))
}

pub fn units_or_none<'de, D: Deserializer<'de>>(of: D) -> Result<Option<f64>, D::Error> {
    units(of).map(Some)
}

/// Units as they are written, to compare.
pub fn text<'de, D: Deserializer<'de>>(of: D) -> Result<String, D::Error> {
    units(of).map(|value| value.to_string())
}

fn is_sensible(value: f64) -> bool {
    value == 0.0 || SENSIBLE.contains(&value)
}
