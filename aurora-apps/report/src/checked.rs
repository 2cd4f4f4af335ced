//! Checks of the numbers in a file, for serde's `deserialize_with`. Optional numbers may be absent.

use super::Spread;
use super::simulation::{Mean, Setting, Variation};
use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The allowed numbers of ranks.
const RANKS: RangeInclusive<usize> = 1..=16_384;

/// The allowed numbers of repetitions, and of simulated nodes. The repetitions of many runs are added up.
const COUNT: RangeInclusive<usize> = 1..=1 << 32;

/// The allowed seconds and counts, besides 0. Quotients of greater or smaller values would not be finite.
const SENSIBLE: RangeInclusive<f64> = 1e-30..=1e12;

/// Reads a `V`, or none, and checks it: `flaw` returns an error text for a wrong value.
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

/// Reads a number of nodes or repetitions of a simulation.
pub fn count<'de, D: Deserializer<'de>>(of: D) -> Result<usize, D::Error> {
    checked(of, |count| (!COUNT.contains(&count)).then(|| format!("there are no {count} nodes, units or repetitions")))
}

pub fn seconds<'de, D: Deserializer<'de>>(of: D) -> Result<f64, D::Error> {
    checked(of, |value| (!is_sensible(value)).then(|| format!("{value:e} s is no time")))
}

/// Reads a [`Spread`].
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

/// Reads a [`Spread`] of shares of 1.
pub fn shares<'de, D: Deserializer<'de>>(of: D) -> Result<Spread, D::Error> {
    let of: Spread = in_order(of)?;
    if of.max <= 1.0 { Ok(of) } else { Err(D::Error::custom(format!("{of} are no shares of 1"))) }
}

/// Reads a number that is not negative as its text, which can be compared; without a number the text is empty.
pub fn text<'de, D: Deserializer<'de>>(of: D) -> Result<String, D::Error> {
    let value: Option<f64> = checked(of, |value| not_units(&value))?;
    Ok(value.map(|value| value.to_string()).unwrap_or_default())
}

/// Reads the setting of a simulation. The costs that an old file does not have follow from its case.
pub fn setting<'de, D: Deserializer<'de>>(of: D) -> Result<Setting, D::Error> {
    let mut setting = Setting::deserialize(of)?;
    if setting.costs.is_empty() {
        setting.costs = if setting.case().is_some() { "equal" } else { "drawn" }.into();
    }
    Ok(setting)
}

/// Reads all numbers of a simulation that are not in its setting, by name, with their variations in `spread`.
pub fn means<'de, D: Deserializer<'de>>(of: D) -> Result<BTreeMap<String, Mean>, D::Error> {
    let mut values = BTreeMap::<String, Value>::deserialize(of)?;
    let spread = values.remove("spread").unwrap_or_default();
    let spread = Option::<BTreeMap<String, Variation>>::deserialize(spread).map_err(D::Error::custom)?;
    let mut variations = spread.unwrap_or_default();
    let mut means = BTreeMap::new();
    for (name, value) in values {
        let Some(value) = value.as_f64().filter(|_| !NO_FIGURES.contains(&name.as_str())) else { continue };
        let mean = mean(&name, value, variations.remove(&name));
        let mean = mean.map_err(|flaw| D::Error::custom(format!("{name}: {flaw}")))?;
        means.insert(name, mean);
    }
    if let Some((name, _)) = variations.pop_first() {
        return Err(D::Error::custom(format!("{name}: a spread without a mean")));
    }
    if let [Some(waiting), Some(imbalance)] = ["waiting", "imbalance"].map(|name| means.get(name))
        && waiting.mean > imbalance.mean + ROUNDING
    {
        return Err(D::Error::custom(format!("waiting: {} is no part of {}", waiting.mean, imbalance.mean)));
    }
    match SHARES.iter().chain(&["loads", "makespan"]).find(|name| !means.contains_key(**name)) {
        Some(name) => Err(D::Error::missing_field(name)),
        None => Ok(means),
    }
}

/// Checks a mean and its variation. Rounding may put a share slightly below 0 or above 1, and the mean of equal figures
/// slightly outside their minimum and maximum.
fn mean(name: &str, value: f64, variation: Option<Variation>) -> Result<Mean, String> {
    let is_share = SHARES.contains(&name) || ["waiting", "dispatcher_busy"].contains(&name);
    let no_share =
        |value| (!(-ROUNDING..=1.0 + ROUNDING).contains(&value)).then(|| format!("{value} is no share of 1"));
    let check = |value: f64| match if is_share { no_share(value) } else { not_units(&value) } {
        Some(flaw) => Err(flaw),
        None => Ok(if is_share { value.clamp(0.0, 1.0) } else { value }),
    };
    let mean = check(value)?;
    let Some(Variation { deviation, min, max }) = variation else { return Ok(Mean { mean, variation }) };
    let (deviation, min, max) = (check(deviation)?, check(min)?, check(max)?);
    let rounding = ROUNDING * max.max(mean);
    if min > mean + rounding || mean > max + rounding {
        return Err(format!("min {min}, mean {mean}, max {max} are not in order"));
    }
    Ok(Mean { mean, variation: Some(Variation { deviation, min: min.min(mean), max: max.max(mean) }) })
}

/// The allowed difference of figures that are equal but for rounding.
const ROUNDING: f64 = 1e-9;

/// The figures that are shares of the nodes' possible computation.
const SHARES: [&str; 3] = ["imbalance", "communication", "efficiency"];

/// The numbers of a simulation that are no means: parts of the setting that tell no charts apart, and the goal of a
/// search.
const NO_FIGURES: [&str; 5] = ["seed", "result_bytes", "latency", "within", "efficient"];

fn not_units(value: &f64) -> Option<String> {
    (!(0.0..=1e18).contains(value)).then(|| format!("{value} is no number of blocks or units"))
}

fn is_sensible(value: f64) -> bool {
    value == 0.0 || SENSIBLE.contains(&value)
}
