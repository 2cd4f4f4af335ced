//! What all ranks of a job do together: barriers, and the exchanges that reductions are made of.
//!
//! `README.md` beside this file has the design.

pub(crate) mod barrier;
mod came;
pub(crate) mod fold;
pub(crate) mod pieces;

pub(crate) use barrier::{Barrier, Digest, Merge, ObjectState, Summary, Tell, Told, Words, counted, mismatch};
pub(crate) use came::{Came, In};
