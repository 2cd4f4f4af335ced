//! The collective calls of all ranks of a job: barriers, and the exchanges of reductions. See `README.md`.

pub(crate) mod barrier;
pub(crate) mod fold;
pub(crate) mod pieces;
mod proposal;
mod words;

pub(crate) use barrier::{Barrier, BarrierMessage, Digest, Envelope, ObjectState, Summary, counted, mismatch};
pub(crate) use proposal::{In, Proposal};
pub(crate) use words::{Merge, Words};
