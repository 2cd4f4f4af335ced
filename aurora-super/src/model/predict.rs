//! How long a configuration would take that was not measured.

use super::curve::Curve;
use super::efficiency::Efficiency;
use super::error::Error;
use super::machines::Configuration;
use super::measurements::{Measured, Measurements};
use serde::Serialize;
use std::cmp::Reverse;

/// What a configuration would do at some efficiency.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Prediction {
    /// The efficiency that is assumed, a fraction.
    pub efficiency: Efficiency,
    /// Equation (6), solved for SP.
    pub speedup: f64,
    /// Equation (3), solved for T.
    pub seconds: f64,
}

impl Measurements {
    /// What `to` would do at this efficiency: SP = E sum(W_j n_j), T = min T_j / SP (section 3).
    pub fn predict(&self, to: &Configuration, efficiency: Efficiency) -> Prediction {
        let speedup = efficiency.fraction() * self.machines().power(to);
        Prediction { efficiency, speedup, seconds: self.fastest_seconds() / speedup }
    }

    /// The run whose efficiency says most about `to`: the one with the fewest processors to add or remove, and of several the one
    /// with the most processors. Only runs on more than one processor count, and not the one with the configuration `to` itself,
    /// so that a prediction can be compared with it. For one processor it is that machine's reference.
    ///
    /// # Errors
    /// [`Error::NoParallelRun`].
    pub fn nearest(&self, to: &Configuration) -> Result<&Measured, Error> {
        let rank = |run: &&Measured| (run.configuration().distance(to), Reverse(run.configuration().total()));
        self.telling(to).min_by_key(rank).ok_or_else(|| self.no_parallel_run(to))
    }

    /// The [`Curve`] through the efficiencies of the runs that count for `to`, as for [`nearest`](Self::nearest).
    ///
    /// # Errors
    /// [`Error::NoParallelRun`].
    pub fn curve(&self, to: &Configuration) -> Result<Curve, Error> {
        let points = self.telling(to).map(|run| (run.configuration().total(), self.efficiency(run)));
        Curve::through(points).ok_or_else(|| self.no_parallel_run(to))
    }

    fn telling(&self, to: &Configuration) -> impl Iterator<Item = &Measured> {
        let parallel = to.total() > 1;
        let counts = move |run: &&Measured| {
            let configuration = run.configuration();
            if parallel { configuration.total() > 1 && configuration != to } else { configuration.total() == 1 }
        };
        self.runs().iter().filter(counts)
    }

    fn no_parallel_run(&self, to: &Configuration) -> Error {
        Error::NoParallelRun { configuration: self.machines().describe(to) }
    }
}
