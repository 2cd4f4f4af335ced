#![doc = include_str!("README.md")]

mod contestant;
mod job;
mod lane;
mod lap;
mod pattern;
mod payload;
mod process;
mod run;
mod series;
mod watch;

pub use aurora_report::figures::Figures;
pub use job::{Access, By, Fresh, Job, Operation, Target, Way};
pub use payload::payload;
pub use run::run;
pub use series::{Series, Took};
