//! Distributed shared data for SPMD programs: declare vectors and scalars that lie over all ranks of a job, write loops
//! as if the data were local, and add one scoped behaviour per object and phase to make them fast.

mod behaviour;
mod collective;
mod config;
mod distribution;
mod element;
mod error;
mod global;
mod memory;
mod message;
mod notice;
mod run;
mod service;
mod site;
mod world;

pub use aurora_net::bootstrap::Launcher;
pub use aurora_net::{Rank, Route, Traffic};
pub use behaviour::{
    OwnerComputes, OwnerComputesMut, PutOnly, ReadCache, ReleaseAlone, ReleaseC, Scope,
};
pub use config::{Config, VARIABLES};
pub use distribution::{MatrixDim, Shape};
pub use element::{Add, Element, Max, Min, Op, Or};
pub use error::{Claim, Error, ObjectName, Result};
pub use global::{
    Atomic, GScalar, GVector, GlobalRead, GlobalWrite, ScalarValue, Transfer, VectorRange,
    VectorRangeMut, distmemcpy, distmemcpy_many,
};
pub use run::run;
pub use service::Usage;
pub use site::Site;
pub use world::{About, LineUsage, World};

/// What a program imports.
pub mod prelude {
    pub use crate::{
        Add, Config, Element, Error, GScalar, GVector, GlobalRead, GlobalWrite, MatrixDim, Max,
        Min, Op, Or, OwnerComputes, OwnerComputesMut, Rank, ReadCache, ReleaseAlone, ReleaseC,
        Result, World, distmemcpy, distmemcpy_many, run,
    };
}
