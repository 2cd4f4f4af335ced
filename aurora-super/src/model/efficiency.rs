//! The share of a configuration's power that a run makes use of.

use super::error::{Error, positive};
use crate::spelling::quoted;
use serde::Serialize;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// The efficiency E of a run, equation (6): a fraction, 1 for a run that uses all of its processors' power. A run that
/// gains from caches can have more.
///
/// [`Measurements::efficiency`](super::Measurements::efficiency) returns the efficiency of a run. Any other efficiency
/// is read from per cent:
///
/// ```
/// use aurora_super::model::Efficiency;
/// let efficiency: Efficiency = "77.8%".parse()?;
/// assert_eq!(efficiency.fraction(), 0.778);
/// let measured = 0.925;
/// let efficiency: Efficiency = format!("{}%", 100.0 * measured).parse()?;
/// assert_eq!(efficiency.percent(), 92.5);
/// # Ok::<(), aurora_super::model::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Serialize)]
#[serde(transparent)]
pub struct Efficiency(f64);

impl Efficiency {
    /// Creates an efficiency from a positive number that was calculated from checked numbers.
    pub(super) fn of(fraction: f64) -> Self {
        Efficiency(fraction)
    }

    /// Returns the efficiency as a fraction.
    pub fn fraction(self) -> f64 {
        self.0
    }

    /// Returns the efficiency in per cent.
    pub fn percent(self) -> f64 {
        100.0 * self.0
    }
}

/// Reads `77.8%`.
impl FromStr for Efficiency {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let percent = text.trim().strip_suffix('%').and_then(|number| number.trim_end().parse().ok());
        let expected = "an efficiency: write per cent, a positive number and `%`, for example 77.8%";
        positive(percent.unwrap_or(f64::NAN), || "efficiency".into(), quoted(text), expected)
            .map(|p| Efficiency(p / 100.0))
    }
}

impl Display for Efficiency {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:.*} %", f.precision().unwrap_or(2), self.percent())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_in_per_cent() {
        let efficiency: Efficiency = "77.8 %".parse().unwrap();
        assert_eq!((efficiency.percent(), efficiency.to_string().as_str()), (77.8, "77.80 %"));
        for bad in ["77.8", "0%", "-3%", "NaN%", "inf%", "%"] {
            let text = bad.parse::<Efficiency>().unwrap_err().to_string();
            assert_eq!(
                text,
                format!(
                    "efficiency: `{bad}` is not an efficiency: write per cent, a positive number and `%`, \
                     for example 77.8%"
                )
            );
        }
    }
}
