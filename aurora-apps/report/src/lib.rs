#![doc = include_str!("../README.md")]

mod chart;
mod checked;
pub mod circumstances;
mod collect;
mod counters;
mod decimals;
pub mod farm;
pub mod figures;
pub mod label;
pub mod machine;
pub mod model;
mod network;
pub mod out;
pub mod page;
pub mod profile;
pub mod read;
pub mod recorded;
mod report;
pub mod series;
mod simulation;
mod spread;
mod study;

pub use counters::RankCounters;
pub use decimals::decimals;
pub use report::{Comparison, Kind, Measured, NothingToRun, Phase, Report};
pub use simulation::{Mean, Setting, Simulation, Variation};
pub use spread::Spread;

/// Aurora's own implementation of anything, by its name on the command line.
pub const AURORA: &str = "aurora";
