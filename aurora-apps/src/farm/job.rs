//! The description of a run, and its limits.

use aurora_super::sim::{Cost, Work};
use aurora_super::{Policy, Product};
use std::ops::RangeInclusive;
use thiserror::Error;

/// The maximum number of instructions.
pub const MOST_INSTRUCTIONS: u32 = 1_000_000;

/// The minimum mean time of an instruction on the fastest rank, in seconds. A sleep is at least half as long.
pub const LEAST_SECONDS: f64 = 1e-4;

/// The maximum mean time of a unit on the slowest rank, in seconds.
pub const MOST_SECONDS: f64 = 1000.0;

/// The allowed speeds. With others, a sleep would be too short or too long for the clock.
pub const SPEEDS: RangeInclusive<f64> = 1e-6..=1e6;

/// The seconds of the program of Table 3 of Al-Jaroodi et al. on one processor of each machine, in the mixture of its
/// largest cluster: of four processors two are of SH, one of RCF and one of CSNT.
pub const PAPER: [f64; 4] = [280.83, 807.65, 280.83, 265.19];

/// A run. Every rank must ask for the same.
#[derive(Clone, PartialEq, Debug)]
pub struct Farm {
    /// The number of units.
    pub units: u32,
    /// The instructions of a unit. Ranks can share a unit of several instructions.
    pub steps: u32,
    /// The mean time of a unit on the fastest rank.
    pub unit_seconds: f64,
    /// Draws the time of each instruction evenly from 0 to twice the mean. Otherwise all are equal.
    pub drawn: bool,
    /// The speed of each rank, in any unit; `None` for the mixed cluster of Al-Jaroodi et al. ([`PAPER`]).
    pub speeds: Option<Vec<f64>>,
    /// Tells the super-program the speeds. Otherwise it has to learn them.
    pub known_speeds: bool,
    /// The policies, which take turns.
    pub policies: Vec<Policy>,
    /// The maximum number of instructions of a rank that run or are granted ahead.
    pub in_flight: u32,
    /// The number of repetitions, each with new times if these are drawn.
    pub reps: usize,
    /// The seed of the first repetition; `None` draws a new seed.
    pub seed: Option<u64>,
    /// Changes the result of one unit, to show that the verification can fail.
    pub damage: bool,
}

impl Default for Farm {
    fn default() -> Self {
        Farm {
            units: 36,
            steps: 1,
            unit_seconds: 0.1,
            drawn: false,
            speeds: None,
            known_speeds: false,
            policies: vec![Policy::S, Policy::R, Policy::TAIL, Policy::ECT],
            in_flight: 1,
            reps: 5,
            seed: None,
            damage: false,
        }
    }
}

/// The reason why a run is impossible.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum Impossible {
    /// No units, or too many instructions.
    #[error("{units} units of {steps} instructions: a farm has 1 to {MOST_INSTRUCTIONS} instructions in all")]
    Instructions {
        /// The number of units.
        units: u32,
        /// The instructions of a unit.
        steps: u32,
    },
    /// A time that is too short.
    #[error(
        "an instruction takes {LEAST_SECONDS} s or more on the fastest rank, because a sleep is no shorter: take \
         longer units, or fewer steps"
    )]
    Short,
    /// A time that is too long.
    #[error("a unit would take more than {MOST_SECONDS} s on the slowest rank: take shorter units")]
    Long,
    /// A speed that is too small or too large.
    #[error("a speed is a number from {} to {}", SPEEDS.start(), SPEEDS.end())]
    Speed,
    /// Too few speeds, or too many.
    #[error("{given} speeds for {ranks} ranks: write one for each rank, or leave them out")]
    Speeds {
        /// The number of speeds.
        given: usize,
        /// The number of ranks.
        ranks: usize,
    },
    /// No policy.
    #[error("no policy: name at least one of {}", Policy::names())]
    NoPolicy,
    /// No instruction at a time.
    #[error("0 instructions in flight: write a number from 1")]
    InFlight,
}

impl Farm {
    /// Checks that the run is possible on this number of ranks, if it is known.
    ///
    /// # Errors
    /// The first reason why it is not.
    pub fn check(&self, ranks: Option<usize>) -> Result<(), Impossible> {
        let Farm { units, steps, unit_seconds, .. } = *self;
        let speeds = self.speeds.as_deref().unwrap_or_default();
        let instructions = u64::from(units) * u64::from(steps);
        if !(1..=u64::from(MOST_INSTRUCTIONS)).contains(&instructions) {
            return Err(Impossible::Instructions { units, steps });
        }
        if unit_seconds.is_nan() || unit_seconds / f64::from(steps) < LEAST_SECONDS {
            return Err(Impossible::Short);
        }
        if speeds.iter().any(|speed| !SPEEDS.contains(speed)) {
            return Err(Impossible::Speed);
        }
        let slowest = self.relative_speeds(ranks.unwrap_or(PAPER.len())).into_iter().fold(1.0, f64::min);
        if unit_seconds / slowest > MOST_SECONDS {
            return Err(Impossible::Long);
        }
        let (given, ranks) = (speeds.len(), ranks.unwrap_or(speeds.len()));
        match (&self.speeds, &self.policies[..], self.in_flight) {
            (Some(_), ..) if given != ranks => Err(Impossible::Speeds { given, ranks }),
            (_, [], _) => Err(Impossible::NoPolicy),
            (.., 0) => Err(Impossible::InFlight),
            _ => Ok(()),
        }
    }

    /// Returns the speeds of the ranks, as multiples of the fastest.
    pub fn relative_speeds(&self, ranks: usize) -> Vec<f64> {
        let papers = || PAPER.iter().map(|seconds| 1.0 / seconds).cycle().take(ranks).collect();
        let speeds: Vec<f64> = self.speeds.clone().unwrap_or_else(papers);
        let fastest = speeds.iter().copied().fold(0.0, f64::max);
        speeds.iter().map(|speed| speed / fastest).collect()
    }

    /// The program as the simulator knows it: a product of a matrix with a row for each unit and a column for each
    /// step, and a matrix of one column.
    pub(super) fn shape(&self) -> Product {
        Product::new(self.units, self.steps, 1).expect("the number of instructions has been checked")
    }

    /// The times of the instructions of a repetition on the fastest rank, in us.
    pub(super) fn cost(&self, seed: u64) -> Cost {
        let mean = self.unit_seconds * 1e6 / f64::from(self.steps);
        if self.drawn { Cost::Drawn(Work { below: (2.0 * mean).ceil() as u32, seed }) } else { Cost::Fixed(mean) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_told() {
        let farm = Farm::default();
        assert_eq!(farm.check(Some(12)), Ok(()));
        let with = |change: fn(&mut Farm)| {
            let mut farm = Farm::default();
            change(&mut farm);
            farm.check(Some(3))
        };
        assert_eq!(with(|farm| farm.speeds = Some(vec![1.0, 2.0, 3.0])), Ok(()));
        assert_eq!(with(|farm| farm.units = 0), Err(Impossible::Instructions { units: 0, steps: 1 }));
        assert_eq!(with(|farm| farm.steps = 30_000), Err(Impossible::Instructions { units: 36, steps: 30_000 }));
        assert_eq!(with(|farm| farm.unit_seconds = 0.0), Err(Impossible::Short));
        assert!(with(|farm| farm.unit_seconds = f64::NAN).is_err());
        assert!(with(|farm| farm.unit_seconds = f64::INFINITY).is_err());
        assert_eq!(with(|farm| farm.speeds = Some(vec![1e6, 1.0, 1e-6])), Err(Impossible::Long));
        assert_eq!(with(|farm| (farm.steps, farm.unit_seconds) = (100, 0.009)), Err(Impossible::Short));
        assert_eq!(with(|farm| farm.speeds = Some(vec![1.0, 0.0, 1.0])), Err(Impossible::Speed));
        assert!(with(|farm| farm.speeds = Some(vec![1.0, f64::NAN, 1.0])).is_err());
        assert_eq!(with(|farm| farm.speeds = Some(vec![])), Err(Impossible::Speeds { given: 0, ranks: 3 }));
        assert_eq!(with(|farm| farm.speeds = Some(vec![1.0])), Err(Impossible::Speeds { given: 1, ranks: 3 }));
        assert_eq!(with(|farm| farm.policies.clear()), Err(Impossible::NoPolicy));
        assert_eq!(with(|farm| farm.in_flight = 0), Err(Impossible::InFlight));
    }

    #[test]
    fn twelve_ranks_are_the_cluster_of_the_paper() {
        let speeds = Farm::default().relative_speeds(12);
        let count = |seconds: f64| speeds.iter().filter(|speed| **speed == 265.19 / seconds).count();
        assert_eq!([280.83, 807.65, 265.19].map(count), [6, 3, 3]);
    }
}
