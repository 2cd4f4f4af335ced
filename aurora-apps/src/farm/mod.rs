#![doc = include_str!("README.md")]

mod job;
mod program;
mod run;
mod simulation;
#[cfg(test)]
mod tests;

pub use job::{Farm, Impossible, MOST_INSTRUCTIONS, MOST_SECONDS, PAPER, SPEEDS};
pub use program::farm;
pub use run::run;
