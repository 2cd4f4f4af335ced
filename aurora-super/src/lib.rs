//! Super-programs on Aurora, and what is known about the clusters that they run on.
//!
//! | module | holds |
//! |---|---|
//! | [`model`] | the performance model of unequal machines: power weights, efficiency, prediction, and farms of equal units |
//!
//! Everything in this crate is pure: no I/O, no threads, no clock.

#![forbid(unsafe_code)]

pub mod model;

/// The programs in the README compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
