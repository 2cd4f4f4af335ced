//! The performance model of clusters whose machines differ in speed, of Al-Jaroodi, Mohamed, Jiang and Swanson,
//! *Modeling Parallel Applications Performance on Heterogeneous Systems*.
//!
//! A *machine* has one or more processors of one speed. A *configuration* says how many processors of each machine a
//! run uses: n_j of machine j, m machines in use. T_j is the elapsed time of the application on one processor of
//! machine j, its *reference time*; T is the elapsed time of a run.
//!
//! | equation | value | here |
//! |---|---|---|
//! | (1) | power weight W_j = S_j / max S, from speeds S | [`Machines::from_speeds`] |
//! | (2) | power weight W_j = min T_j / T_j, from times | [`Machines::from_times`], [`Measurements::machines`] |
//! | (3) | relative speed-up SP = min T_j / T | [`Measurements::speedup`] |
//! | (4), (5) | (6) and (7) with one processor of each machine | the same functions |
//! | (6) | efficiency E = SP / sum(W_j n_j) | [`Measurements::efficiency`] |
//! | (7) | heterogeneity H = sum(n_j (1 - W_j)) / m | [`Machines::heterogeneity`] |
//! | new | heterogeneity per processor H' = sum(n_j (1 - W_j)) / sum(n_j) | [`Machines::heterogeneity_per_processor`] |
//!
//! Times are in seconds, speeds are in any unit, and all other values have no unit. [`read`] makes [`Measurements`] of
//! the text of a file. [`read`] and the constructors check numbers once: later calculations cannot meet a bad number.
//!
//! ```
//! use aurora_super::model::{Efficiency, Farm, read};
//! use std::num::NonZeroU32;
//!
//! // Two machines, each measured on one processor, and one run on six.
//! let table = read("
//!     SH  CSNT  seconds
//!     1   0     35609.729
//!     0   1     37839.885
//!     4   2     7782.309
//! ")?;
//! let run = &table.runs()[2];
//! assert_eq!(format!("{:.4}", table.efficiency(run).percent()), "77.7904");
//!
//! // Two more processors of SH, at the same efficiency.
//! let more = table.machines().configuration("SH=6,CSNT=2")?;
//! let prediction = table.predict(&more, table.efficiency(run))?;
//! assert_eq!(format!("{:.1}", prediction.seconds), "5807.6");
//!
//! // A hundred units of equal work, each given to a processor that would finish it first.
//! let farm = Farm::of(&table, NonZeroU32::new(100).unwrap());
//! assert!(farm.makespans(table.machines(), &more)?.earliest_completion < 4_700.0);
//! # Ok::<(), aurora_super::model::Error>(())
//! ```
//!
//! `src/model/README.md` has the design, the file format and the rules by which printed tables are checked.

mod curve;
mod decimal;
mod efficiency;
mod error;
mod farm;
mod finding;
mod machines;
mod measurements;
mod predict;
mod read;
mod review;
mod warning;

pub use curve::Curve;
pub use decimal::Decimal;
pub use efficiency::Efficiency;
pub use error::{Error, Row};
pub use farm::{Farm, Makespans};
pub use finding::Finding;
pub use machines::{Configuration, Machines};
pub use measurements::{Measured, Measurements, PrintedWeights, Run};
pub use predict::Prediction;
pub use read::read;
pub use review::{Agreement, Review};
pub use warning::Warning;
