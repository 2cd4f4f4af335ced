//! The dimensions of the matrix.

use aurora_suite::mpi::Flavour;
use std::fmt;

/// How a rank fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    Error,
    Panic,
    Exit0,
    Exit3,
    Kill,
    Stop,
}

impl Fault {
    pub const ALL: [Fault; 6] = [Fault::Error, Fault::Panic, Fault::Exit0, Fault::Exit3, Fault::Kill, Fault::Stop];

    pub fn name(self) -> &'static str {
        match self {
            Fault::Error => "error",
            Fault::Panic => "panic",
            Fault::Exit0 => "exit-0",
            Fault::Exit3 => "exit-3",
            Fault::Kill => "SIGKILL",
            Fault::Stop => "SIGSTOP",
        }
    }
}

/// Where it fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// While the ranks load a ReadCache.
    Load,
    /// Inside a scope that lends its block, which others want to read.
    Scope,
    /// While the others end a ReleaseC that it is still in.
    End,
    /// While all compute, and none calls Aurora.
    Idle,
    /// Inside a scope of pages; then the others fetch pages of its block.
    Fetch,
    /// While the others are in a sync of pages.
    Sync,
    /// Holding a lock of TreadMarks that the others wait for.
    Lock,
}

impl Place {
    pub const ALL: [Place; 7] =
        [Place::Load, Place::Scope, Place::End, Place::Idle, Place::Fetch, Place::Sync, Place::Lock];

    pub fn name(self) -> &'static str {
        match self {
            Place::Load => "load",
            Place::Scope => "scope",
            Place::End => "end",
            Place::Idle => "idle",
            Place::Fetch => "fetch",
            Place::Sync => "sync",
            Place::Lock => "lock",
        }
    }
}

/// Who has started the ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Starter {
    Threads,
    Processes,
    Mpi(Flavour),
}

impl fmt::Display for Starter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Starter::Threads => f.write_str("threads"),
            Starter::Processes => f.write_str("processes"),
            Starter::Mpi(flavour) => flavour.fmt(f),
        }
    }
}

/// Ranks of every job.
pub const RANKS: usize = 3;

/// One cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    pub starter: Starter,
    pub fault: Fault,
    pub place: Place,
    pub rank: usize,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (fault, place) = (self.fault.name(), self.place.name());
        write!(f, "{}/{fault}/{place}/rank-{}", self.starter, self.rank)
    }
}
