//! The dimensions of the matrix.

use aurora_suite::mpi::Flavour;
use std::fmt;

/// The way in which a rank fails.
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

/// The place where it fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// While the ranks load a ReadCache.
    Load,
    /// Inside a scope that lends its block, which other ranks want to read.
    Scope,
    /// While the other ranks end a ReleaseC that it has not ended.
    End,
    /// While all ranks compute, and none calls Aurora.
    Idle,
    /// Inside a scope of pages. The other ranks then fetch pages of its block.
    Fetch,
    /// While the other ranks are in a sync of pages.
    Sync,
    /// While it holds a lock of TreadMarks for which the other ranks wait.
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

/// The way in which the ranks are started.
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

/// The number of ranks of every job.
pub const RANKS: usize = 3;

/// A cell of the matrix.
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
