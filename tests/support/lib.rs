//! Support of the integration tests and benches: one SPMD body, run in many worlds.
//!
//! A [`Body`] is a function of a [`World`](aurora_core::World). A [`Place`](place::Place) gives the number of ranks,
//! their launcher and the carrier of their messages. Threads run a body in this process. Processes and MPI ranks are a
//! *job*: this binary, started again. In a job one world runs many bodies one after the other and reports the result of
//! each.

pub mod against;
mod body;
pub mod check;
pub mod choice;
pub mod driver;
pub mod figures;
pub mod front;
pub mod group;
pub mod harness;
pub mod heard;
pub mod job;
pub mod lossy;
pub mod machine;
pub mod markdown;
pub mod memory;
pub mod mpi;
pub mod netlab;
pub mod notes;
pub mod place;
pub mod process;
mod random;
mod report;
pub mod results;
// Here with the support that it needs, so that its tests run.
#[path = "../../benches/side_by_side/mod.rs"]
pub mod side_by_side;
pub mod traces;

pub use body::{Body, End};
pub use random::{Random, lengths, mix, want};

/// The programs in the book compile and run. Chapters that rustdoc shows too are tested in `aurora_core::guide`.
#[cfg(doctest)]
mod book;
