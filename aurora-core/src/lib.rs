//! Distributed shared data for SPMD programs: declare vectors and scalars that are distributed over all ranks of a
//! job, write loops as if the data were local, and add one scoped behaviour per object and phase to make them fast.
//! *The paper* in these pages is Paul Lu, *Integrating Bulk-Data Transfer into the Aurora Distributed Shared Data
//! System* (JPDC 2001). [`VARIABLES`] lists the environment variables.
//!
//! # The words
//!
//! A *job* runs the same program on `size` *ranks*; all of them together are the [`World`]. A [`GVector`] is cut into
//! *blocks*, one for each rank, its *owner*; they are equal, unless a [`Partition`] gives their lengths. A [`GScalar`]
//! has a *home*; a key of a [`GMap`] has an owner, by its hash. Indices are *global* everywhere. An operation is
//! *collective* if every rank must call it, and *one-sided* if only the caller takes part: the owner's *daemon*, a
//! thread of its own, serves it. A *scoped behaviour* ([`Scope`]) changes how one vector is accessed until its guard
//! goes out of scope.
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
//!     let all = squares.read_cache()?; // one transfer from each rank to each
//!     assert_eq!(all[999], 998_001);
//!     Ok(())
//! }
//! ```
//!
//! Written with [`GVector::put`], a barrier and [`GVector::at`] instead, the same program is correct without any
//! behaviour: each access to an element on another machine is then a message there and one back.
//!
//! # What orders what
//!
//! [`World::barrier`], [reductions and their kin](World::all_reduce), construction, `fill`, `gather_to`, entering a
//! ReadCache, opening a Paged scope and its [`sync`](PagedMut::sync) order all ranks. After a collective scope the
//! next access of the object waits until all ranks have ended the scope: it sees what they did in it, and comes after
//! what they did to other objects before. Entering or refreshing a HaloCache orders a rank and its neighbours with
//! respect to the elements that it shows; entering any other scope orders nothing. A rank that gets a value of a
//! [`GScalar`] comes after the ranks that have changed it, and after what they did before that. An access that is not
//! ordered after a write returns some value that was written there; elements are read and written whole. [Checking
//! mode](Config::check) finds such accesses.
//!
//! # Guides
//!
//! [Which behaviour do I want?](guide::which_behaviour), [for MPI users](guide::for_mpi_users), [for users of Global
//! Arrays, Chapel, OpenSHMEM, UPC++ and Lamellar](guide::for_pgas_users).
//!
//! # Feature flags
//!
//! | feature | what it adds |
//! |---|---|
//! | `mpi` | `mpirun` as launcher, and MPI for long transfers; building needs an MPI library |
//! | `ndarray` | `view` and `view_mut` of [scopes](Scope) of matrices; the crate is re-exported |
//! | `rayon` | `par_rows` and `par_rows_mut` of [scopes](Scope) of matrices; the crate is re-exported |
//! | `num-complex` | [sums and products](ops) of complex numbers; the crate is re-exported |
//! | `testing` | for tests of Aurora itself, without any promise |
//!
//! None is on by default.
//!
//! # Where things live
//!
//! The modules of the sources. Public items are re-exported here, most of them also in the [`prelude`].
//!
//! | module | what |
//! |---|---|
//! | `run`, `config`, `world` | starting a job, choosing how, what a rank sees of it; reductions, scans, broadcasts |
//! | `vector` | [`GVector`], [`distmemcpy`], slices |
//! | `scalar` | [`GScalar`] and its scopes |
//! | `map` | [`GMap`], the distributed hash map, and its scopes, with a README of their own |
//! | `behaviour`, [`kinds`] | the scoped behaviours, with a README of their own; their kinds, for generic code |
//! | `distribution`, `element` | who owns what; what may be shared |
//! | [`ops`] | the operations that combine values |
//! | `operation` | the numbers by which ranks name types and operations |
//! | `ids` | the numbers of objects, requests and scopes |
//! | `window` | the part of a vector that a scope is about |
//! | `collective` | what all ranks do together: barriers, and the steps that reductions are made of |
//! | `epoch` | the collective scopes of one object: who has entered what, and when it is settled |
//! | `object` | the contract between the kernel and a shared object |
//! | `kernel` | what a rank's daemon decides: messages, calls, faults, the watch over waiting ranks |
//! | `polls` | ranks that read the same values again and again |
//! | `race` | the race detector: vector times, and the last accesses to each element |
//! | `stats`, `trace` | what a rank has sent, waited for and done when |
//! | `memory` | arrays that are lent, how much of them there may be, and the files with `unsafe` code |
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | node, node peers | ranks that share memory; the other ranks of one's node |
//! | object, part | a shared object; what a rank has of it. The kernel keeps a *frame* around each part |
//! | claim | what a rank does, in words, with the line of the program |
//! | fault | what has ended an object or the job, with the ranks and lines it is about |
//! | scope, opening | from a guard's opening to its end; what a rank has opened |
//! | epoch | the number of a collective scope of one object |
//! | settled | of an epoch: nothing that belongs to it can change this rank's block any more |
//! | window | the part of a vector that a scope is about; `WHOLE` is one |
//! | block | what a rank owns of a vector |
//! | partition | how long the blocks of a vector are |
//! | latch | who may use a shared block at this moment |
//! | gate | where a write waits until no transfer reads the block, and no other rank its place |
//! | at home, moved away | a block lies in its place in shared memory; it does not, as guards show what was there |
//! | node cache, slot | where a node keeps blocks of other nodes, each received once |
//! | announcement | "I have entered this load", with the rank's block if it has changed |
//! | write mark, correction | the last write of a rank that an owner has applied; what a pushed block lacked of those |
//! | batch | buffered writes of one rank to one owner |
//! | view, page | a rank's private copy of a vector in a Paged scope; a piece of it of up to 4 KiB, or one element |
//! | home, holder | the owner of a page's elements; a rank that has a copy of the page |
//! | twin | a copy of a page, made before its rank writes to it |
//! | permit | what the program's thread may do to an object without its kernel |
//! | loan, token | memory that the transport reads or writes at this moment; its number |
//! | park | to keep a request until its time has come |
//! | release, acquire | of a time: what a rank has done comes before what another does next |
//! | shadow | an owner's record of the last accesses to its block, in checking mode |
//! | drop notice | a rank has dropped its handle of an object |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(missing_debug_implementations)]

mod behaviour;
mod collective;
mod config;
mod digest;
mod distribution;
mod element;
mod environment;
mod epoch;
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
mod operation;
pub mod ops;
mod polls;
mod race;
mod run;
mod scalar;
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
pub use behaviour::halo::{Boundary, Halo};
pub use behaviour::{
    Accumulate, BatchedIter, BatchedPairs, BatchedQueue, BatchedReads, Blocks, HaloCache, HaloCacheMut, OwnerComputes,
    OwnerComputesMut, Paged, PagedMut, PutOnly, ReadCache, ReadCacheBlocks, ReadCacheReleaseC, ReleaseAlone, ReleaseC,
    Scope,
};
pub use config::Config;
pub use distribution::{MatrixDim, Partition, Shape};
pub use element::Element;
pub use environment::{ByteSize, Check, LaunchInfo, MAX_RANKS, VARIABLES};
pub use error::{Claim, Error, ErrorKind, ObjectName, Raced, Result, UserError};
pub use kernel::Usage;
pub use map::{
    GMap, Lookup, MapEntries, MapIter, MapIterMut, MapKey, MapOwnerComputes, MapOwnerComputesMut, MapReleaseC, MapValue,
};
pub use memory::{CacheLimit, MemoryLimit, available as available_memory};
pub use ops::Op;
pub use run::run;
pub use scalar::{
    Atomic, GScalar, ReadMostly, ScalarAccumulate, ScalarReadCache, ScalarReleaseC, ScalarScope, ScalarValue,
};
pub use site::Site;
pub use stats::{Cost, Costs, Kind, Stats};
pub use vector::{
    GVector, GlobalRead, GlobalWrite, Slice, SliceMut, Transfer, VectorRange, VectorRangeMut, distmemcpy,
    distmemcpy_many,
};
pub use world::{JobInfo, LineUsage, World};

/// The types and traits of most programs. The operations are in [`ops`]: their names are short, and a program has its
/// own `Min` or `Sum`.
pub mod prelude {
    pub use crate::{
        Accumulate, BatchedReads, Config, Element, Error, GMap, GScalar, GVector, GlobalRead, GlobalWrite, Halo,
        HaloCache, HaloCacheMut, MatrixDim, Op, OwnerComputes, OwnerComputesMut, Paged, PagedMut, Partition, Rank,
        ReadCache, ReadCacheBlocks, ReadCacheReleaseC, ReadMostly, ReleaseAlone, ReleaseC, Result, ScalarAccumulate,
        ScalarReadCache, ScalarReleaseC, Slice, SliceMut, World, distmemcpy, distmemcpy_many, run,
    };
}
