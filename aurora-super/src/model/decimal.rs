//! A number as it is printed.

use crate::spelling::quoted;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt::{self, Display, Formatter};

/// The maximum length of a number in a table. It is more than any accepted f64 needs, and can be printed.
const LONGEST: usize = 100;

/// A decimal number as a table prints it: it stands for every value that rounds to its digits.
#[derive(Clone, PartialEq, Debug)]
pub struct Decimal {
    text: String,
    value: f64,
    /// The number of digits after the point. An exponent can make it negative.
    places: i32,
}

impl Decimal {
    /// Reads a number in the syntax of `str::parse::<f64>`, also `NaN` and `inf`, which
    /// [`Measurements`](super::Measurements) refuses.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let value = text.parse().ok()?;
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let digits = mantissa.split_once('.').map_or(0, |(_, digits)| digits.len()) as i32;
        // An exponent beyond i32 is that of zero or infinity.
        let places = digits.saturating_sub(exponent.parse().unwrap_or(0));
        Some(Decimal { text: text.into(), value, places })
    }

    /// Returns its value.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Returns the number of digits after the point.
    pub fn places(&self) -> usize {
        self.places.max(0) as usize
    }

    /// Returns the number of significant digits: `0.940` has three.
    pub(super) fn digits(&self) -> usize {
        let mantissa = self.text.split(['e', 'E']).next().unwrap_or_default();
        mantissa.trim_start_matches(|c: char| !c.is_ascii_digit() || c == '0' || c == '.').replace('.', "").len()
    }

    /// Returns half a unit of its last digit: the precision to which its value is known.
    pub fn half_unit(&self) -> f64 {
        0.5 * 10f64.powi(-self.places)
    }

    /// Returns [`half_unit`](Self::half_unit) as a fraction of the value.
    pub fn uncertainty(&self) -> f64 {
        self.half_unit() / self.value
    }

    /// Returns the number as one of a column of numbers with this many places: a whole number is printed there without
    /// its zeros, and is as precise as the others.
    pub(super) fn in_column(self, places: usize) -> Self {
        let places = if self.places == 0 { places as i32 } else { self.places };
        Decimal { places, ..self }
    }

    /// Returns the same digits with the decimal point `by` places further to the right.
    pub(super) fn shifted(&self, by: i32) -> Self {
        let places = self.places - by;
        let value = self.value * 10f64.powi(by);
        // Parsed from its digits, so that the value is the number that these digits mean.
        let text = format!("{value:.*}", places.max(0) as usize);
        Decimal { value: text.parse().unwrap_or(value), text, places }
    }
}

/// Creates the number with the fewest digits that mean exactly this value.
impl From<f64> for Decimal {
    fn from(value: f64) -> Self {
        let text = value.to_string();
        Decimal::parse(&text).unwrap_or(Decimal { text, value, places: 0 })
    }
}

impl Display for Decimal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Decimal::parse(&text).ok_or_else(|| de::Error::custom(format!("`{}` is not a number", quoted(&text))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_known_to_half_a_unit_of_its_last_digit() {
        for (text, value, places, digits, half) in [
            ("3560.9729", 3560.9729, 4, 8, 0.00005),
            ("1", 1.0, 0, 1, 0.5),
            ("0.940", 0.94, 3, 3, 0.0005),
            ("1.20e3", 1200.0, 0, 3, 5.0),
            ("-7.5", -7.5, 1, 2, 0.05),
        ] {
            let number = Decimal::parse(text).unwrap();
            assert_eq!((number.value(), number.places(), number.digits()), (value, places, digits), "{text}");
            assert!((number.half_unit() / half - 1.0).abs() < 1e-12, "{text}");
            assert_eq!(number.to_string(), text);
        }
        assert_eq!(Decimal::parse("1,5"), None);
        let exact = Decimal::parse("1").unwrap().in_column(6);
        assert_eq!((exact.places(), exact.to_string().as_str()), (6, "1"));
        assert_eq!(Decimal::parse("0.5").unwrap().in_column(6).places(), 1);
        assert_eq!(Decimal::from(0.1).to_string(), "0.1");
    }

    #[test]
    fn the_point_moves_over_the_same_digits() {
        let number = Decimal::parse("3560.9729").unwrap();
        assert_eq!(number.shifted(1), Decimal::parse("35609.729").unwrap());
        assert_eq!(number.shifted(-2), Decimal::parse("35.609729").unwrap());
        assert_eq!(Decimal::parse("12").unwrap().shifted(1).to_string(), "120");
    }
}
