//! Programs on shared data: the applications of the Aurora papers and others. Each application has a sequential
//! version, a verification that can fail, and figures that show how much time its phases take.
//!
//! - [`mm2`]: two-stage matrix multiplication, P <- Q x R, then R <- Q x P (an allgather per stage).
//! - [`psrs`]: parallel sorting by regular sampling (a gather, a broadcast and an all-to-all exchange).
//! - [`histogram`]: counting in a distributed table (many small updates from everywhere).
//! - [`wordcount`]: counting words in a distributed map (keys and values of any type).
//! - [`indexgather`]: random reads of a distributed table (many small messages, or batches).
//! - [`diffusion`]: heat on a plate, step by step (edges exchanged with the neighbours).
//! - [`sor`]: red-black successive over-relaxation (edges exchanged after each colour).
//! - [`sparse_mm`]: C = A x B of sparse matrices in blocks, as a super-program (blocks loaded ahead of instructions).
//! - [`cholesky`]: A = L L^T in tiles, as a super-program (launches that follow each other).
//! - [`farm`]: units of work that sleep on ranks of different speeds, as a super-program, with its simulation.
//! - [`tsp`]: the travelling salesman by branch and bound (a bound that every rank reads at each step).
//! - [`mod@bench`]: the operations that such programs consist of, each measured alone and compared with MPI.
//!
//! ```
//! use aurora_apps::job::{App, Job, defaults};
//! use aurora_apps::mm2::{Kernel, Mm2};
//! use aurora_core::prelude::*;
//!
//! let mm2 = Mm2 { size: 30, kernel: Kernel::Dot, ..defaults() };
//! let job = Job { reps: 2, ..Job::of(mm2) };
//! let report = Config::threads(3).run(|world| Mm2::run(world, &job, &mut |_| ()))?;
//! assert!(report.main.verified);
//! # Ok::<(), aurora_core::Error>(())
//! ```
//!
//! The applications share: [`job`] (parameters, and the repetitions in which implementations take turns), [`values`]
//! (the forms of parameters on a command line), [`clock`] (phases of computing and sharing), [`cores`], [`tally`] and
//! [`report`] (figures of the whole job), [`launches`] (figures of super-programs), [`agree`], [`block`], [`check`] and
//! [`checksum`] (values that all ranks must agree on, and results), [`random`] (data sets by position),
//! [`implementation`] and [`meeting`] (the implementations to compare, and the barriers around a measurement),
//! [`lines`] (the number of code lines of the programs).

pub mod agree;
pub mod bench;
pub mod block;
pub mod check;
pub mod checksum;
pub mod cholesky;
pub mod clock;
pub mod cores;
pub mod diffusion;
pub mod farm;
pub mod histogram;
pub mod implementation;
pub mod indexgather;
pub mod job;
pub mod launches;
pub mod lines;
pub mod meeting;
pub mod mm2;
#[cfg(feature = "mpi")]
pub mod mpi_ranks;
pub mod psrs;
pub mod random;
pub mod sor;
pub mod sparse_mm;
pub mod tally;
pub mod tsp;
pub mod values;
pub mod wordcount;

pub use aurora_report as report;
pub use aurora_treadmarks as treadmarks;
