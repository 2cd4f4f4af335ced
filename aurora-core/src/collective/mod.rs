//! What all ranks of a job do together: rendezvous, and the exchanges that reductions are made of.
//!
//! `README.md` beside this file has the design.

pub(crate) mod call;
pub(crate) mod fold;
pub(crate) mod pieces;
pub(crate) mod rendezvous;

pub(crate) use call::{Came, CollectiveCall, Give, In, Step};
pub(crate) use rendezvous::{ObjectState, Rendezvous, Summary, Tell, counted, mismatch};
