//! The contradictions in a printed table.

use super::decimal::Decimal;
use super::error::Row;
use serde::Serialize;
use std::fmt::{self, Display, Formatter};

/// A printed number that contradicts the rest of the table.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Finding {
    /// A time that contradicts the speed-up in its row, and agrees with it if the decimal point is moved.
    DecimalPoint {
        /// The run.
        row: Row,
        /// The time as it is printed.
        printed: Decimal,
        /// The speed-up in the same row.
        speedup: Decimal,
        /// The time that the other runs give for this speed-up, in seconds.
        implied: f64,
        /// The same digits with the point moved.
        corrected: Decimal,
    },
    /// A time and a speed-up that contradict each other, by the other runs.
    TimeAndSpeedup {
        /// The run.
        row: Row,
        /// The time as it is printed.
        printed: Decimal,
        /// The speed-up in the same row.
        speedup: Decimal,
        /// The time that the other runs give for this speed-up, in seconds.
        implied: f64,
        /// The speed-up that they give for this time.
        implied_speedup: f64,
    },
    /// An efficiency that is a fraction where per cent is expected.
    Fraction {
        /// The run.
        row: Row,
        /// The efficiency as it is printed.
        printed: Decimal,
        /// The efficiency by equation (6), in per cent.
        recomputed: f64,
    },
    /// An efficiency that is right for the same number of processors of other machines.
    Denominator {
        /// The run.
        row: Row,
        /// The efficiency as it is printed.
        printed: Decimal,
        /// The speed-up of the run.
        speedup: f64,
        /// The configuration whose power explains it.
        taken: String,
        /// The power of `taken`, sum(W_j n_j).
        taken_power: f64,
        /// The configuration of the run.
        configuration: String,
        /// Its power, the denominator of equation (6).
        power: f64,
        /// The efficiency by equation (6), in per cent.
        recomputed: f64,
    },
    /// A power weight that contradicts the times on one processor.
    PowerWeight {
        /// The row of power weights.
        row: Row,
        /// The machine.
        machine: String,
        /// The power weight as it is printed.
        printed: Decimal,
        /// The power weight by equation (2).
        recomputed: f64,
    },
    /// A speed-up or an efficiency that no rule here explains.
    Unexplained {
        /// The run.
        row: Row,
        /// `speedup` or `efficiency`.
        column: &'static str,
        /// The number as it is printed.
        printed: Decimal,
        /// The speed-up by equation (3), or the efficiency by (6) in per cent.
        recomputed: f64,
    },
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Finding::DecimalPoint { row, printed, speedup, implied, corrected } => write!(
                f,
                "{row}, column `seconds`: {printed} contradicts the speed-up {speedup} in its row: by the other rows, \
                 a run with this speed-up takes {implied:.*}. With the decimal point moved it is {corrected}",
                corrected.places()
            ),
            Finding::TimeAndSpeedup { row, printed, speedup, implied, implied_speedup } => write!(
                f,
                "{row}, columns `seconds` and `speedup`: {printed} and {speedup} contradict each other. By the other rows it is \
                 {implied:.*} s for this speed-up, or a speed-up of {implied_speedup:.*} for this time",
                printed.places(),
                speedup.places()
            ),
            Finding::Fraction { row, printed, recomputed } => write!(
                f,
                "{row}, column `efficiency`: {printed} is a fraction where per cent is expected: {recomputed:.*}",
                printed.places().saturating_sub(2)
            ),
            Finding::Denominator { row, printed, speedup, taken, taken_power, configuration, power, recomputed } => {
                let places = printed.places();
                write!(
                    f,
                    "{row}, column `efficiency`: {printed} has the wrong denominator: it fits {speedup:.6} / {taken_power:.6}, \
                     with the power of {taken}. The run is on {configuration}: by (6) {speedup:.6} / {power:.6} = \
                     {recomputed:.places$} %"
                )
            }
            Finding::PowerWeight { row, machine, printed, recomputed } => write!(
                f,
                "{row}, column `{machine}`: the power weight {printed} is wrong: by (2) it is {recomputed:.*}. Correct \
                 it, or the time on one processor of {machine} or of the fastest machine",
                printed.places()
            ),
            Finding::Unexplained { row, column, printed, recomputed } => {
                let (equation, places) = (if *column == "speedup" { "(3)" } else { "(6)" }, printed.places());
                write!(f, "{row}, column `{column}`: {printed} is wrong: by {equation} it is {recomputed:.places$}")
            }
        }
    }
}
