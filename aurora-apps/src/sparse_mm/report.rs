//! The report: the figures that all programs have, and those of the launch.

use crate::launches::Launches;
use crate::report::{Measured, Report, Spread};
use aurora_super::run;
use serde::Serialize;

/// A run by one implementation.
#[derive(Clone, Debug, Serialize)]
pub struct SparseReport {
    /// The figures that all programs have.
    #[serde(flatten)]
    pub run: Report,
    /// The probability of an entry.
    pub density: f64,
    /// The figures of the launch; none of the sequential program.
    #[serde(flatten)]
    pub launch: Option<Launch>,
}

impl Measured for SparseReport {
    fn implementation(&self) -> &str {
        self.run.implementation()
    }

    fn verified(&self) -> bool {
        self.run.verified()
    }
}

/// The launch of the multiplication, of all ranks together.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Launch {
    /// The time in which all blocks are made, before the launch.
    pub creation_seconds: Spread,
    /// The figures of any launch.
    #[serde(flatten)]
    pub figures: Launches,
    /// The entries of A and B together, in the last repetition.
    pub entries: u64,
}

/// The launch of one repetition.
#[derive(Clone, Debug)]
pub(super) struct Measurement {
    /// Of the slowest rank.
    pub(super) creation: f64,
    pub(super) launch: run::Report,
    pub(super) entries: usize,
}

impl Launch {
    /// The figures of all repetitions; `None` without any.
    pub(super) fn of(all: &[Measurement]) -> Option<Self> {
        let reports: Vec<run::Report> = all.iter().map(|of| of.launch.clone()).collect();
        Some(Launch {
            creation_seconds: Spread::of(all.iter().map(|of| of.creation)),
            figures: Launches::of(&reports)?,
            entries: all.last()?.entries as u64,
        })
    }
}

/// The density in words: `12.5%`.
pub(super) fn in_words(density: f64) -> String {
    // Nine digits: a fraction that was per cent is that number of per cent again.
    format!("{}%", (density * 1e11).round() / 1e9)
}
