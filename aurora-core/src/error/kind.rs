//! The kind, line, rank and object of an error, for programs.

use super::{Error, ObjectName};
use crate::Site;
use aurora_net::Rank;

/// The subject of an [`Error`], for programs that act on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The ranks make different collective calls, wait for each other, hold a guard too long, leave early, or race for
    /// one element. The program has to change.
    Order,
    /// An argument that the call or the object does not admit, or a type or value that cannot be sent.
    Argument,
    /// More memory than the machine has, or than a limit allows.
    Memory,
    /// A scope or an operation panicked, which makes the object unusable.
    Poisoned,
    /// The process of a rank ended, or a rank failed, cannot be reached, or was awaited longer than the limit.
    JobLost,
    /// A setting of the program or of the environment is not valid.
    Setting,
    /// The job could not be started.
    Start,
    /// An error of a shared object of the program or of another library.
    Object,
    /// An error of the program.
    User,
}

impl Error {
    /// The kind of the error. If one rank fails alone, the other ranks get [`JobFailed`](Error::JobFailed), so the kind
    /// differs between ranks. If the ranks are threads, `run` returns the error of the rank that failed.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Mismatch { .. }
            | Error::Leaked { .. }
            | Error::Deadlock { .. }
            | Error::RankLeft { .. }
            | Error::Race { .. }
            | Error::Ended { .. } => ErrorKind::Order,
            Error::Denied { .. }
            | Error::IndexOutside { .. }
            | Error::NotShown { .. }
            | Error::RangeOutside { .. }
            | Error::LengthsDiffer { .. }
            | Error::NoSuchRank { .. }
            | Error::ZeroSized { .. }
            | Error::OneForEachRank { .. }
            | Error::BadWeight { .. }
            | Error::NoWeight { .. }
            | Error::TooLarge { .. }
            | Error::TooManyRows { .. }
            | Error::UnknownOp { .. }
            | Error::SameNumber { .. }
            | Error::Value { .. } => ErrorKind::Argument,
            Error::OutOfMemory { .. } | Error::CacheLimit { .. } => ErrorKind::Memory,
            Error::Poisoned { .. } => ErrorKind::Poisoned,
            Error::PeerLost { .. } | Error::JobFailed { .. } | Error::Timeout { .. } => ErrorKind::JobLost,
            Error::UnknownVariable { .. } | Error::BadSetting { .. } | Error::TraceFile { .. } => ErrorKind::Setting,
            Error::Start(_) => ErrorKind::Start,
            Error::Object { .. } => ErrorKind::Object,
            Error::User { .. } => ErrorKind::User,
        }
    }

    /// True for errors of the kind [`ErrorKind::JobLost`]. The text names the cause, if it is known.
    pub fn is_job_lost(&self) -> bool {
        self.kind() == ErrorKind::JobLost
    }

    /// The line of the program that the error concerns. For an error between two ranks: the line of the lower rank.
    pub fn site(&self) -> Option<&Site> {
        match self {
            Error::Mismatch { first, .. } | Error::Race { first, .. } => Some(&first.site),
            Error::Leaked { opened, .. } | Error::Poisoned { opened, .. } => Some(opened),
            Error::Deadlock { waits } => waits.first().map(|claim| &claim.site),
            Error::RankLeft { waiting, .. } | Error::Timeout { waiting, .. } => Some(&waiting.site),
            Error::IndexOutside { site, .. }
            | Error::Denied { site, .. }
            | Error::RangeOutside { site, .. }
            | Error::NotShown { site, .. }
            | Error::LengthsDiffer { site, .. }
            | Error::NoSuchRank { site, .. }
            | Error::OneForEachRank { site, .. }
            | Error::BadWeight { site, .. }
            | Error::NoWeight { site, .. }
            | Error::ZeroSized { site, .. }
            | Error::TooLarge { site, .. }
            | Error::TooManyRows { site, .. }
            | Error::OutOfMemory { site, .. }
            | Error::CacheLimit { site, .. }
            | Error::UnknownOp { site, .. }
            | Error::SameNumber { site, .. }
            | Error::Value { site, .. }
            | Error::Ended { site } => Some(site),
            Error::User { site, .. } => site.as_ref(),
            Error::PeerLost { .. }
            | Error::JobFailed { .. }
            | Error::UnknownVariable { .. }
            | Error::BadSetting { .. }
            | Error::TraceFile { .. }
            | Error::Object { .. }
            | Error::Start(_) => None,
        }
    }

    /// The rank that the error concerns, if it concerns one: the rank that holds the scope, panicked, left, is silent,
    /// failed, or has too little memory.
    pub fn rank(&self) -> Option<Rank> {
        match self {
            Error::Leaked { rank, .. }
            | Error::Poisoned { rank, .. }
            | Error::RankLeft { left: rank, .. }
            | Error::PeerLost { rank, .. }
            | Error::NoSuchRank { rank, .. }
            | Error::BadWeight { rank, .. }
            | Error::TooLarge { rank, .. }
            | Error::OutOfMemory { rank, .. }
            | Error::CacheLimit { rank, .. }
            | Error::Object { rank, .. } => Some(*rank),
            Error::JobFailed { failure } => failure.rank,
            _ => None,
        }
    }

    /// The shared object that the error names, if any.
    pub fn object(&self) -> Option<&ObjectName> {
        match self {
            Error::Poisoned { object, .. }
            | Error::RangeOutside { object, .. }
            | Error::UnknownOp { object, .. }
            | Error::Object { object, .. } => Some(object),
            Error::Leaked { object, .. }
            | Error::Race { object, .. }
            | Error::Denied { object, .. }
            | Error::IndexOutside { object, .. }
            | Error::NotShown { object, .. }
            | Error::OutOfMemory { object, .. }
            | Error::CacheLimit { object, .. }
            | Error::SameNumber { object, .. } => Some(object),
            _ => None,
        }
    }
}
