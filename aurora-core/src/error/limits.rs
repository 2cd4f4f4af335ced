//! The limits of memory, as errors name them.

use super::{Error, ObjectName, memory};
use crate::Site;
use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The pool whose memory is exhausted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum MemoryLimit {
    /// The memory of the machine.
    Machine,
    /// The memory that a control group allows: its directory, as the rank sees it.
    ControlGroup(String),
    /// The address space of the rank's process, which `ulimit -v` (`RLIMIT_AS`) limits.
    AddressSpace,
}

impl MemoryLimit {
    /// A way to do without the memory that is missing.
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            MemoryLimit::Machine | MemoryLimit::ControlGroup(_) => "use more machines, fewer ranks, or less data",
            MemoryLimit::AddressSpace => "raise that limit before the program starts, use more ranks, or less data",
        }
    }
}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryLimit::Machine => f.write_str("its machine"),
            MemoryLimit::ControlGroup(dir) => write!(f, "its control group {dir}"),
            MemoryLimit::AddressSpace => f.write_str("the address space of its process (`ulimit -v`)"),
        }
    }
}

/// The limit of a copy of a vector on one rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum CacheLimit {
    /// This many bytes, by `AURORA_CACHE_LIMIT` or [`Config::cache_limit`](crate::Config::cache_limit).
    Set(usize),
    /// The default: half of the memory that was free, which was this many bytes.
    HalfOf(usize),
}

impl CacheLimit {
    /// The error of a copy of `asked` bytes.
    pub(crate) fn error(self, rank: Rank, (purpose, asked): (&str, usize), object: ObjectName, site: &Site) -> Error {
        let (purpose, object, site) = (purpose.into(), Box::new(object), site.clone());
        Error::CacheLimit { rank, purpose, object, asked, limit: self, site }
    }
}

impl fmt::Display for CacheLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            CacheLimit::Set(limit) => write!(f, "more than the {} of AURORA_CACHE_LIMIT", memory(limit)),
            CacheLimit::HalfOf(free) => {
                write!(
                    f,
                    "more than half of the {} that are free there (AURORA_CACHE_LIMIT sets another limit)",
                    memory(free)
                )
            }
        }
    }
}
