//! Numbers of a file that can be.

use serde::{Deserialize, Deserializer};

/// More nodes and repetitions are not simulated.
const MOST: usize = 1 << 32;

pub(super) fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let count = usize::deserialize(deserializer)?;
    let is_count = (1..=MOST).contains(&count);
    if is_count {
        Ok(count)
    } else {
        Err(serde::de::Error::custom(format!("there are no {count} nodes or repetitions")))
    }
}

pub(super) fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    // Sums of shares may be a digit beside 1.
    let is_share = (-1e-9..=1.0 + 1e-9).contains(&value);
    if is_share {
        Ok(value.clamp(0.0, 1.0))
    } else {
        Err(serde::de::Error::custom(format!("{value} is no share of 1")))
    }
}

pub(super) fn sensible<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let is_count = (0.0..=1e18).contains(&value);
    if is_count { Ok(value) } else { Err(serde::de::Error::custom(format!("{value} is no number of blocks or units"))) }
}

pub(super) fn sensible_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    sensible(deserializer).map(Some)
}

/// A number as it is written, to compare.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    sensible(deserializer).map(|value| value.to_string())
}
