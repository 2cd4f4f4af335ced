//! Values of arguments: how they are read, and what is said of those that cannot be.

use aurora_core::ByteSize;
use std::fmt::Debug;
use std::ops::RangeBounds;
use std::time::Duration;

/// Whole numbers of a range. They take units as bytes do: powers of 1024.
pub fn number<N: TryFrom<u64>>(
    range: impl RangeBounds<u64> + Debug + Clone,
) -> impl Fn(&str) -> Result<N, String> + Clone {
    move |text| {
        let number = text.parse().ok().map(|ByteSize(number)| number as u64).filter(|number| range.contains(number));
        let number = number.and_then(|number| N::try_from(number).ok());
        number.ok_or_else(|| format!("a whole number, {range:?}, alone or with K, M or G (powers of 1024)"))
    }
}

/// Bytes, as `AURORA_CACHE_LIMIT` takes them; also 0.
pub fn bytes_or_none(text: &str) -> Result<u64, &'static str> {
    let bytes = text.parse().ok().map(|ByteSize(bytes)| bytes as u64);
    bytes.ok_or("0.. bytes, alone or with K, M, G or T (also as KiB, MiB, GiB, TiB)")
}

/// How fast a rank is beside others.
pub fn weight(text: &str) -> Result<f64, &'static str> {
    let weight = text.trim().parse().ok().filter(|weight: &f64| weight.is_finite() && *weight >= 0.0);
    weight.ok_or("a weight is a number, 0 or greater")
}

/// A probability, as a fraction or per cent.
pub fn density(text: &str) -> Result<f64, &'static str> {
    let text = text.trim();
    let density = match text.strip_suffix('%') {
        Some(percent) => percent.trim_end().parse().map(|percent: f64| percent / 100.0),
        None => text.parse(),
    };
    let density = density.ok().filter(|density| (0.0..=1.0).contains(density));
    density.ok_or("a density is a fraction from 0 to 1 (0.125), or per cent with its sign (12.5%)")
}

/// A time that does not end at once.
pub fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().filter(|seconds: &f64| *seconds > 0.0);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or("seconds, more than 0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_density_is_a_fraction_or_per_cent() {
        for text in ["12.5%", "0.125", " 12.5 % ", ".125"] {
            assert_eq!(density(text), Ok(0.125), "{text}");
        }
        assert_eq!((density("0"), density("100%")), (Ok(0.0), Ok(1.0)));
        for text in ["12.5", "101%", "-1%", "NaN", "%", "", "x"] {
            assert!(density(text).is_err(), "{text}");
        }
    }
}
