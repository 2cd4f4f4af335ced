//! The report: the figures that all programs have, those of the launches, and the residual.

use crate::launches::Launches;
use crate::report::{Measured, Report};
use serde::Serialize;

/// A run by one implementation.
#[derive(Clone, Debug, Serialize)]
pub struct CholeskyReport {
    /// The figures that all programs have.
    #[serde(flatten)]
    pub run: Report,
    /// The largest residual of a repetition, in units of rounding.
    pub residual: f64,
    /// The figures of the launches; none of the sequential program.
    #[serde(flatten)]
    pub launches: Option<Launches>,
}

impl Measured for CholeskyReport {
    fn implementation(&self) -> &str {
        self.run.implementation()
    }

    fn verified(&self) -> bool {
        self.run.verified()
    }
}
