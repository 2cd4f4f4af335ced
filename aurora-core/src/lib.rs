//! Distributed shared data for SPMD programs: declare vectors and scalars that are distributed over all ranks of a
//! job, write loops as if the data were local, and add one scoped behaviour per object and phase to make them fast.
//! *The paper* in these pages is Paul Lu, *Integrating Bulk-Data Transfer into the Aurora Distributed Shared Data
//! System* (JPDC 2001). [`VARIABLES`] lists the environment variables.
//!
//! # The words
//!
//! A *job* runs the same program on `size` *ranks*; all of them together are the [`World`]. A [`GVector`] is cut into
//! *blocks*, one for each rank, its *owner*; they are equal, unless a [`Partition`] gives their lengths. A [`GScalar`]
//! has one owner, its *home*. The hash of a key of a [`GMap`] decides which rank owns the key. Indices are *global*
//! everywhere. An operation is *collective* if every rank must call it, and *one-sided* if only the caller takes part:
//! the owner's *daemon*, a thread of its own, serves it. A *scoped behaviour* ([`Scope`]) changes how one vector is
//! accessed until its guard goes out of scope.
//!
//! # The smallest whole program
//!
//! The package of this library is `aurora-spmd`. The package `aurora-core` is another project's.
//!
//! ```
//! use aurora_core::prelude::*;
//!
//! # fn main() -> Result<()> { Config::threads(3).run(program) }
//! # /*
//! fn main() -> Result<()> {
//!     aurora_core::run(program)
//! }
//! # */
//!
//! fn program(world: &World) -> Result<()> {
//!     let mut squares = GVector::<u64>::new(world, 1000)?; // over all ranks
//!     let mut mine = squares.owner_computes_mut()?; // my part, no messages
//!     for i in mine.indices() {
//!         mine[i] = (i * i) as u64;
//!     }
//!     mine.finish()?;
//!     let all = squares.read_cache()?; // each block once to each machine
//!     assert_eq!(all[999], 998_001);
//!     Ok(())
//! }
//! ```
//!
//! Written with [`GVector::put`], a barrier and [`GVector::at`] instead, the program is correct without any
//! behaviour, but each access to an element on another machine then takes a message to its owner and one back.
//!
//! # The memory model
//!
//! [`World::barrier`], reductions, construction and collective scopes order ranks. An access that is not ordered after
//! a write returns some value that was written there. Elements are read and written whole. The [memory
//! model](guide::memory_model) has the rule for each call, and [checking mode](Config::check) finds accesses that
//! nothing orders.
//!
//! # Guides
//!
//! - [Which line to add](guide::which_behaviour)
//! - [The memory model](guide::memory_model)
//! - [Coming from MPI](guide::for_mpi_users)
//! - [Coming from Global Arrays, Chapel, OpenSHMEM, UPC++ or Lamellar](guide::for_pgas_users)
//!
//! # Feature flags
//!
//! | feature | adds |
//! |---|---|
//! | `mpi` | `mpirun` as launcher, and MPI for long transfers; building needs an MPI library |
//! | `ndarray` | `view` and `view_mut` of [scopes](Scope) of matrices; the crate is re-exported |
//! | `rayon` | `par_rows` and `par_rows_mut` of [scopes](Scope) of matrices; the crate is re-exported |
//! | `num-complex` | [sums and products](ops) of complex numbers; the crate is re-exported |
//! | `testing` | for tests of Aurora itself, without any promise |
//!
//! None is on by default.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(missing_debug_implementations)]

mod behaviour;
mod collective;
mod config;
mod digest;
mod distribution;
mod element;
mod encoding;
mod environment;
mod error;
pub mod guide;
mod ids;
mod kernel;
pub mod kinds;
mod link;
mod map;
mod memory;
mod notice;
pub mod object;
mod once;
mod operation;
pub mod ops;
mod polls;
mod race;
mod registry;
mod run;
mod scalar;
pub mod scope;
mod site;
mod stats;
mod trace;
mod vector;
mod window;
mod world;

/// The program in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub use bytemuck;
#[cfg(feature = "ndarray")]
pub use ndarray;
#[cfg(feature = "num-complex")]
pub use num_complex;
#[cfg(feature = "rayon")]
pub use rayon;

pub use aurora_net::bootstrap::{Failure, Launcher};
pub use aurora_net::{Bulk, BulkInfo, Network, Probe, Rank, Route, Traffic, UdpInfo, UdpTrouble};
pub use behaviour::guards::*;
pub use behaviour::halo::{Boundary, Halo};
pub use behaviour::{BatchedIter, BatchedPairs, BatchedQueue, Blocks, PutOnly, Scope, Slice, SliceMut};
pub use config::Config;
pub use distribution::{MatrixDim, Partition, Shape};
pub use element::Element;
pub use encoding::ScalarValue;
pub use environment::{ByteSize, Check, LaunchInfo, MAX_RANKS, VARIABLES};
pub use error::{CacheLimit, Claim, Error, ErrorKind, MemoryLimit, ObjectName, Raced, Result, UserError};
pub use kernel::Usage;
pub use map::{
    GMap, Lookup, MapEntries, MapIter, MapIterMut, MapKey, MapOwnerComputes, MapOwnerComputesMut, MapReleaseC, MapValue,
};
pub use memory::available as available_memory;
pub use ops::Op;
pub use run::run;
pub use scalar::{Atomic, GScalar, ReadMostly, ScalarAccumulate, ScalarReadCache, ScalarReleaseC, ScalarScope};
pub use site::Site;
pub use stats::{Cost, Costs, Kind, Stats};
pub use vector::{
    GVector, GlobalRead, GlobalWrite, Transfer, VectorRange, VectorRangeMut, distmemcpy, distmemcpy_many,
};
pub use world::{JobInfo, LineUsage, World};

/// The types and traits of most programs. It does not contain the operations of [`ops`]: their names are short, and a
/// program may have its own `Min` or `Sum`.
pub mod prelude {
    pub use crate::behaviour::guards::*;
    pub use crate::{
        Config, Element, Error, GMap, GScalar, GVector, GlobalRead, GlobalWrite, Halo, MatrixDim, Op, Partition, Rank,
        ReadMostly, Result, ScalarAccumulate, ScalarReadCache, ScalarReleaseC, Slice, SliceMut, World, distmemcpy,
        distmemcpy_many, run,
    };
}
