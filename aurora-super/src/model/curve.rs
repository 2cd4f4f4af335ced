//! A curve through efficiencies over the number of processors.

use super::efficiency::Efficiency;
use serde::{Deserialize, Serialize};

/// E(n) = 1 / (1 + f (n - 1)): Amdahl's law, in which 1/E - 1 grows in proportion to the processors that are added.
///
/// f is the serial fraction of Karp and Flatt, fitted by least squares to 1/E - 1 over n - 1, and not below 0. So E(1)
/// = 1 as equation (6) has it for every machine, and E stays in (0, 1] for any n, which a line or a polynomial through
/// the efficiencies does not. With unequal machines n counts processors and equation (6) weighs them.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Curve {
    /// f, from 0.
    pub serial_fraction: f64,
    /// The root of the mean squared relative deviation of the runs' efficiencies from the curve: far above 0 says that
    /// efficiency does not follow the number of processors, and that the curve predicts badly.
    pub deviation: f64,
    /// The number of runs that it was fitted to.
    pub runs: usize,
}

impl Curve {
    /// Fits it to numbers of processors and efficiencies; `None` for no points.
    pub(super) fn through(points: impl IntoIterator<Item = (u64, Efficiency)>) -> Option<Self> {
        let points: Vec<_> = points.into_iter().map(|(n, e)| ((n - 1) as f64, e.fraction())).collect();
        let (mut products, mut squares) = (0.0, 0.0);
        for (added, efficiency) in &points {
            products += added * (1.0 / efficiency - 1.0);
            squares += added * added;
        }
        // Without a run on more than one processor there is no slope.
        let serial_fraction = if squares > 0.0 { (products / squares).max(0.0) } else { 0.0 };
        let deviation = |(added, efficiency): &(f64, f64)| (efficiency * (1.0 + serial_fraction * added) - 1.0).powi(2);
        let runs = points.len();
        let deviation = (points.iter().map(deviation).sum::<f64>() / runs as f64).sqrt();
        (runs > 0).then_some(Curve { serial_fraction, deviation, runs })
    }

    /// Returns the efficiency of the curve for `processors`, which is at least one.
    pub fn efficiency(&self, processors: u64) -> Efficiency {
        Efficiency::of(1.0 / (1.0 + self.serial_fraction * processors.saturating_sub(1) as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_amdahl_s_law_again() {
        let law = |n: u64| (n, Efficiency::of(1.0 / (1.0 + 0.05 * (n - 1) as f64)));
        let curve = Curve::through([2, 3, 8].map(law)).unwrap();
        assert!((curve.serial_fraction - 0.05).abs() < 1e-15 && curve.deviation < 1e-12 && curve.runs == 3);
        assert!((curve.efficiency(21).fraction() - 0.5).abs() < 1e-12);
        assert_eq!(curve.efficiency(1).fraction(), 1.0);
    }

    #[test]
    fn runs_that_are_better_than_linear_are_not_extrapolated() {
        let curve = Curve::through([(2, Efficiency::of(1.1))]).unwrap();
        assert_eq!((curve.serial_fraction, curve.efficiency(1000).fraction()), (0.0, 1.0));
        assert!((curve.deviation - 0.1).abs() < 1e-12);
        assert!(Curve::through([]).is_none());
        assert_eq!(Curve::through([(1, Efficiency::of(1.0))]).unwrap().serial_fraction, 0.0);
    }
}
