//! The questions of a program about an error: its kind, line, rank and object.

use super::{Error, ObjectName};
use crate::Site;
use aurora_net::Rank;

/// The subject of an [`Error`], for programs that act on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Ranks do not fit together: they make different collective calls, wait in a circle, hold a scope too long, leave
    /// early, or access one element in no order. The program has to change.
    Order,
    /// An argument is outside of what the call or the object admits; also a type that cannot travel.
    Argument,
    /// More memory than there is, or than is allowed.
    Memory,
    /// A scope or an operation has panicked, and the object is unusable.
    Poisoned,
    /// A rank died, cannot be reached, has failed, or does not come in time.
    JobLost,
    /// A setting of the program or of the environment.
    Setting,
    /// The job could not be started.
    Start,
    /// A shared object of the program or of another library.
    Object,
    /// An error of the program.
    User,
}

impl Error {
    /// Its subject. The error of another rank reaches this one as [`JobFailed`](Error::JobFailed), unless it is
    /// the same for all ranks. So the kind of one rank's error differs from rank to rank; of ranks that are threads,
    /// `run` returns that of the rank that has failed.
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

    /// Whether a rank is gone, has failed or does not come: [`ErrorKind::JobLost`]. The text says why, if it is known.
    pub fn is_job_lost(&self) -> bool {
        self.kind() == ErrorKind::JobLost
    }

    /// The line of the program that it is about; of an error between two ranks, that of the lower rank.
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

    /// The rank that it is about, if it is about one: the one that holds the scope, has panicked, has left, is silent,
    /// has failed, or has too little memory.
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

    /// The shared object that it is about, if it names one.
    pub fn object(&self) -> Option<&ObjectName> {
        match self {
            Error::Leaked { object, .. }
            | Error::Poisoned { object, .. }
            | Error::RangeOutside { object, .. }
            | Error::UnknownOp { object, .. }
            | Error::Object { object, .. } => Some(object),
            Error::Race { object, .. }
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
