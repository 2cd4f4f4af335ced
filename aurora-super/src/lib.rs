//! Super-programs (Jin and Ziavras): a program is made of *instructions*, functions over whole *blocks* of data. A
//! scheduler decides which node executes which instructions, and moves, caches and merges the blocks.
//!
//! [`SuperProgram`] runs them on the ranks of a job. A program needs two packages: this one, and `aurora-spmd`, whose
//! library is named `aurora_core`.
//!
//! ```
//! use aurora_core::prelude::*;
//! use aurora_super::SuperProgram;
//!
//! fn smooth(left: Option<&f64>, own: &f64, right: Option<&f64>, new: &mut f64) {
//!     *new = (left.unwrap_or(own) + own + right.unwrap_or(own)) / 3.0;
//! }
//!
//! # fn main() -> Result<()> { Config::threads(3).run(program) }
//! # /*
//! fn main() -> Result<()> {
//!     aurora_core::run(program)
//! }
//! # */
//!
//! fn program(world: &World) -> Result<()> {
//!     let sp = SuperProgram::new(world)?;
//!     let mut old = sp.blocks(10, |i: u32| f64::from(i * i))?; // ten blocks, distributed over the ranks
//!     let mut new = sp.blocks(10, |_| 0.0)?;
//!     for _ in 0..100 {
//!         sp.each(10, smooth, move |i| (old.near(i, -1), old.at(i), old.near(i, 1), new.at(i)))?;
//!         std::mem::swap(&mut old, &mut new); // handles are numbers
//!     }
//!     let sum = sp.fold(&old, |value| *value, |sum, value| sum + value)?;
//!     assert!((sum - 285.0).abs() < 1e-9);
//!     Ok(())
//! }
//! ```
//!
//! The scheduler is pure: it has no thread, no clock, no socket and no file. [`Dispatch`] hands out instructions, and
//! [`Execute`] is one node that executes them. They exchange only messages. [`run`] drives them on ranks, and [`sim`]
//! drives them in virtual time.
//!
//! These pages call two papers S0 and S2:
//!
//! - **S0**: Dejiang Jin and Sotirios G. Ziavras, *Modeling distributed data representation and its effect on parallel
//!   data accesses*, Journal of Parallel and Distributed Computing 65 (2005).
//! - **S2**: Dejiang Jin and Sotirios G. Ziavras, *A super-programming technique for large sparse matrix multiplication
//!   on PC clusters*, IEICE Transactions on Information and Systems E87-D (2004).
//!
//! | module | contents |
//! |---|---|
//! | [`data`] | the seven states of a block and the transitions between them |
//! | [`program`] | groups of instructions and the blocks that they use |
//! | [`policy`] | the policies: which node works on which group next |
//! | [`dispatch`] | the dispatcher: grants instructions, tracks commits, orders merges, handles lost nodes |
//! | [`execute`] | one node: operands, prefetching, a cache within a budget |
//! | [`lineage`] | the instructions that made each partial result |
//! | [`run`] | super-programs on ranks, and the sequential interpreter |
//! | [`sim`] | the simulator: the scheduler in virtual time |
//! | [`model`] | the performance model of clusters of unequal machines, from measured times |
#![forbid(unsafe_code)]

pub mod data;
pub mod dispatch;
pub mod execute;
pub mod lineage;
pub mod model;
pub mod policy;
pub mod program;
pub mod run;
pub mod sim;
mod spelling;

pub use aurora_net::{Random, mix};
pub use dispatch::Dispatch;
pub use execute::Execute;
pub use policy::Policy;
pub use program::{BlockId, Group, Instruction, Parts, Product, Program, Updates};
pub use run::{At, Block, Blocks, Csr, Dense, Merge, Super, SuperProgram, Update, Val};

/// Number of a node.
pub type Node = u32;

/// Instruction numbers of one group.
pub type Range = std::ops::Range<u32>;

/// The programs in the README compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
