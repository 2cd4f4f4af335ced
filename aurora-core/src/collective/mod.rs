//! The collective calls of all ranks of a job: barriers, and the exchanges of reductions. See `README.md`.

pub(crate) mod barrier;
mod came;
pub(crate) mod fold;
pub(crate) mod pieces;
mod words;

pub(crate) use barrier::{Barrier, Digest, ObjectState, Summary, Tell, Told, counted, mismatch};
pub(crate) use came::{Came, In};
pub(crate) use words::{Merge, Words};
