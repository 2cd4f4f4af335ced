//! Minimum, median and maximum of figures.

use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// Minimum, median and maximum of the repetitions.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Spread {
    /// The minimum.
    pub min: f64,
    /// The median (of an even number of figures, the mean of the two in the centre).
    pub median: f64,
    /// The maximum.
    pub max: f64,
}

impl Spread {
    /// Computes the spread of figures; zeros if there are none.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
            return Spread::default();
        };
        let median = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
        Spread { min, median, max }
    }

    /// Combines several runs' spreads: the minimum, the median of their medians, the maximum; zeros if there are none.
    pub fn together(runs: impl IntoIterator<Item = Spread>) -> Self {
        let runs: Vec<Spread> = runs.into_iter().collect();
        let of = |figure: fn(&Spread) -> f64| Spread::of(runs.iter().map(figure));
        Spread { min: of(|run| run.min).min, median: of(|run| run.median).median, max: of(|run| run.max).max }
    }

    /// Returns the spread of one figure that does not vary.
    pub fn exactly(value: f64) -> Self {
        Spread { min: value, median: value, max: value }
    }

    /// Returns whether minimum, median and maximum are in order, and all three are numbers.
    pub fn is_in_order(self) -> bool {
        self.min <= self.median && self.median <= self.max && self.max.is_finite()
    }

    /// Returns the sums of both spreads' minima, medians and maxima.
    pub fn plus(self, other: Spread) -> Self {
        Spread { min: self.min + other.min, median: self.median + other.median, max: self.max + other.max }
    }

    /// Converts to another unit; `of` must be increasing.
    pub fn map(self, of: impl Fn(f64) -> f64) -> Self {
        Spread { min: of(self.min), median: of(self.median), max: of(self.max) }
    }
}

impl Display for Spread {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "min {}, median {}, max {}", self.min, self.median, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads() {
        let spread = |min, median, max| Spread { min, median, max };
        for (of, expected) in [
            (&[][..], spread(0.0, 0.0, 0.0)),
            (&[3.0], spread(3.0, 3.0, 3.0)),
            (&[4.0, 1.0], spread(1.0, 2.5, 4.0)),
            (&[4.0, 1.0, 2.0], spread(1.0, 2.0, 4.0)),
        ] {
            assert_eq!(Spread::of(of.iter().copied()), expected);
        }
        let together = Spread::together([spread(1.0, 2.0, 3.0), spread(2.0, 4.0, 9.0), spread(0.5, 3.0, 3.0)]);
        assert_eq!((together, Spread::together([])), (spread(0.5, 3.0, 9.0), spread(0.0, 0.0, 0.0)));
    }
}
