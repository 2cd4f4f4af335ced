//! Super-programs (Jin and Ziavras): a program is made of *instructions*, functions over whole *blocks* of data; a
//! scheduler decides which node executes what, and moves, caches and merges the blocks.
//!
//! This crate is what decides. It has no thread, no clock, no socket and no file: [`Dispatch`] hands out instructions,
//! [`Execute`] is one node that executes them, and the two meet only through messages. [`sim`] runs them in virtual
//! time; a runtime can run them over ranks.
//!
//! What S0 and S2 are in these pages:
//!
//! - **S0**: Dejiang Jin and Sotirios G. Ziavras, *Modeling distributed data representation and its effect on parallel
//!   data accesses*, Journal of Parallel and Distributed Computing 65 (2005).
//! - **S2**: Dejiang Jin and Sotirios G. Ziavras, *A super-programming technique for large sparse matrix multiplication
//!   on PC clusters*, IEICE Transactions on Information and Systems E87-D (2004).
//!
//! | module | what |
//! |---|---|
//! | [`data`] | the seven states of a block and the transitions between them |
//! | [`program`] | groups of instructions and the blocks that they use |
//! | [`policy`] | who works on what next |
//! | [`dispatch`] | hands out instructions, follows what is committed, merges, loses nodes |
//! | [`execute`] | one node: operands, prefetching, a cache within a budget |
//! | [`lineage`] | which instructions made which incarnation |
//! | [`sim`] | virtual time over all of these |
//! | [`model`] | what is known of clusters of unequal machines, from measured times |
#![forbid(unsafe_code)]

pub mod data;
pub mod dispatch;
pub mod execute;
pub mod lineage;
pub mod model;
pub mod policy;
pub mod program;
mod random;
pub mod run;
pub mod sim;
mod spelling;

pub use dispatch::Dispatch;
pub use execute::Execute;
pub use policy::Policy;
pub use program::{BlockId, Group, Instruction, Parts, Product, Program};
pub use random::{Random, mix};
pub use run::{At, Block, Blocks, Csr, Dense, Merge, Super, SuperProgram, Update, Val};

/// Number of a node.
pub type Node = u32;

/// Instruction numbers of one group.
pub type Range = std::ops::Range<u32>;

/// The programs in the README compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
