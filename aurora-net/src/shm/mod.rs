//! Memory shared by the ranks of one node: who they are, and how a mapping gets from one to the others.
//!
//! `README.md` beside this file has the design.

mod mates;
mod parcel;
mod segment;
#[cfg(test)]
mod tests;

pub(crate) use mates::{Found, Offer, ShmContact};

pub use mates::Node;
pub use segment::Segment;
