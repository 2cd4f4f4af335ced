//! The parsers of argument values, with their error messages.

use crate::farm::{Impossible, SPEEDS};
use parse_size::Config;
use std::ops::{Bound, RangeBounds};
use std::time::Duration;

/// The limit from which a number is worth a unit.
const LARGE: u64 = 1_000_000;

/// Reads whole numbers of a range, as people write them: `8000000`, `8_000_000`, `8e6`, `8M`; `8Mi` is 8 x 2^20.
pub fn number<N: TryFrom<u64>>(range: impl RangeBounds<u64> + Clone) -> impl Fn(&str) -> Result<N, String> + Clone {
    move |text| {
        // A number of elements has no bytes.
        let number = whole(text, Config::new()).filter(|_| !text.to_ascii_lowercase().contains('b'));
        let number = number.filter(|number| range.contains(number)).and_then(|number| N::try_from(number).ok());
        number.ok_or_else(|| format!("a whole number {}", words(&range)))
    }
}

/// Returns a range in words, and the forms other than digits in which its numbers can be written.
fn words(range: &impl RangeBounds<u64>) -> String {
    const UNITS: &str = "also with K, M or G (thousands, millions, ..), Ki, Mi or Gi (powers of 1024), or as 1e6";
    let least = match range.start_bound() {
        Bound::Included(least) => *least,
        Bound::Excluded(before) => *before + 1,
        Bound::Unbounded => 0,
    };
    match range.end_bound() {
        Bound::Included(most) if *most < LARGE => format!("from {least} to {most}"),
        Bound::Included(most) => format!("from {least} to {most}, {UNITS}"),
        _ => format!("from {least} on, {UNITS}"),
    }
}

/// Reads sizes in bytes in the form of `AURORA_CACHE_LIMIT`: the units are powers of 1024. 0 is allowed.
///
/// # Errors
/// The allowed forms.
pub fn bytes_or_none<N: TryFrom<u64>>(text: &str) -> Result<N, &'static str> {
    let unit = text.trim_end().trim_start_matches(|c: char| !c.is_ascii_alphabetic()).to_ascii_lowercase();
    // MB is refused, because it may mean a million bytes or 2^20.
    let clear = !(unit.len() == 2 && unit.ends_with('b'));
    let bytes = whole(text, Config::new().with_binary()).filter(|_| clear);
    let bytes = bytes.and_then(|bytes| N::try_from(bytes).ok());
    bytes
        .ok_or("a number of bytes from 0 on, also with K, M, G or T (powers of 1024, as KiB, MiB, GiB, TiB), or as 1e6")
}

/// Reads a number without a fraction.
fn whole(text: &str, units: Config) -> Option<u64> {
    // A space may separate a unit, but not digits. `1e` is a part of `1e6`, and no unit. Fractions would be rounded.
    let words = text.split_whitespace().collect::<Vec<_>>();
    let is_one = words.len() < 2 || words.len() == 2 && words[1].starts_with(|c: char| c.is_ascii_alphabetic());
    let is_plain = is_one && !text.contains(['.', '-']) && !text.trim_end().ends_with(['e', 'E']);
    units.parse_size(text).ok().filter(|_| is_plain)
}

/// Reads the weight of a rank: its speed relative to other ranks.
///
/// # Errors
/// The allowed numbers.
pub fn weight(text: &str) -> Result<f64, &'static str> {
    let weight = text.trim().parse().ok().filter(|weight: &f64| weight.is_finite() && *weight >= 0.0);
    weight.ok_or("a weight is a number, 0 or greater")
}

/// Reads the speed of a rank of a farm.
///
/// # Errors
/// The allowed numbers.
pub fn speed(text: &str) -> Result<f64, String> {
    let speed = text.trim().parse().ok().filter(|speed: &f64| SPEEDS.contains(speed));
    speed.ok_or_else(|| Impossible::Speed.to_string())
}

/// Reads a probability, as a fraction or per cent.
///
/// # Errors
/// The allowed forms.
pub fn density(text: &str) -> Result<f64, &'static str> {
    let text = text.trim();
    let density = match text.strip_suffix('%') {
        Some(percent) => percent.trim_end().parse().map(|percent: f64| percent / 100.0),
        None => text.parse(),
    };
    let density = density.ok().filter(|density| (0.0..=1.0).contains(density));
    density.ok_or("a density is a fraction from 0 to 1 (0.125), or per cent with its sign (12.5%)")
}

/// Reads a time that is greater than 0.
///
/// # Errors
/// The allowed numbers.
pub fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().filter(|seconds: &f64| *seconds > 0.0);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or("seconds, more than 0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_counted_and_bytes_are_doubled() {
        let count = number::<u64>(0..);
        for (text, expected) in [
            ("0", 0),
            ("8000000", 8_000_000),
            ("8_000_000", 8_000_000),
            ("8M", 8_000_000),
            ("8m", 8_000_000),
            ("8e6", 8_000_000),
            ("8 M", 8_000_000),
            ("8Mi", 8 << 20),
            ("3K", 3000),
            ("3Ki", 3072),
            ("2G", 2_000_000_000),
            ("2Gi", 2 << 30),
            ("1e0", 1),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(count(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "x",
            "M",
            "-1",
            "1.5",
            "1.0005K",
            "1e-1",
            "5B",
            "5MB",
            "5MiB",
            "18446744073709551616",
            "1e20",
            "_",
            "1e",
            "1 0",
            "1 M 0",
        ] {
            assert!(count(text).is_err(), "{text}");
        }
        for (text, expected) in [("8M", 8 << 20), ("8MiB", 8 << 20), ("8e6", 8_000_000), ("5B", 5), ("1 GiB", 1 << 30)]
        {
            assert_eq!(bytes_or_none(text), Ok(expected), "{text}");
        }
        for text in ["8MB", "8 kb", "1.5K", "-1", "x"] {
            assert!(bytes_or_none::<u64>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_range_is_said_in_words() {
        assert_eq!(number::<u32>(1..=1024)("2000"), Err("a whole number from 1 to 1024".into()));
        let error = number::<u32>(1..=u32::MAX.into())("x").unwrap_err();
        assert!(error.starts_with("a whole number from 1 to 4294967295, also with K, M or G"), "{error}");
        let error = number::<u64>(0..)("x").unwrap_err();
        assert!(error.starts_with("a whole number from 0 on, also with"), "{error}");
    }

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
