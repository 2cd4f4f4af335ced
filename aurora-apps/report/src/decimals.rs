//! Numbers with a number of decimal places, and with enough digits if they are small.

/// The value below which a number is written with a power of ten.
const SMALLEST: f64 = 1e-6;

/// Writes a number with `places` decimal places. A number that has fewer than `digits` significant digits in these
/// places gets more places. A number below 10^-6 is written as `1.2346e-7`. Zero has `places` zeros.
pub fn decimals(value: f64, places: usize, digits: usize) -> String {
    let size = value.abs();
    if size == 0.0 || !size.is_finite() {
        return format!("{value:.places$}");
    }
    if size < SMALLEST {
        return format!("{value:.*e}", digits.saturating_sub(1));
    }
    // The decimal place of the first digit that is not 0: -1 for 12.3, 0 for 1.2, 2 for 0.012.
    let first = -size.log10().floor();
    let wanted = digits as f64 - 1.0 + first;
    format!("{value:.*}", places.max(wanted.max(0.0) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_number_keeps_its_digits() {
        for (value, places, digits, expected) in [
            (5807.6371, 3, 5, "5807.637"),
            (46.8, 2, 4, "46.80"),
            (1.0, 6, 5, "1.000000"),
            (0.941063, 6, 5, "0.941063"),
            (0.0012345678, 3, 5, "0.0012346"),
            (-0.0012345678, 3, 5, "-0.0012346"),
            (4.3741234, 2, 5, "4.3741"),
            (0.0147, 4, 3, "0.0147"),
            (0.0000123, 4, 3, "0.0000123"),
            (1.23456e-7, 3, 5, "1.2346e-7"),
            (4.9e-61, 3, 5, "4.9000e-61"),
            (0.0, 4, 3, "0.0000"),
            (1e16, 2, 5, "10000000000000000.00"),
        ] {
            assert_eq!(decimals(value, places, digits), expected, "{value:e}");
        }
    }
}
