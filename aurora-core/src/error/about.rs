//! What the kernel asks of an error: which line it is about, and whether it has ended an object.

use super::Error;
use crate::Site;
use aurora_net::bootstrap::Failure;

impl Error {
    pub(crate) fn site(&self) -> Option<&Site> {
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

    /// Whether it has ended the object that it is about: every use of the object returns it from then on.
    pub(crate) fn is_of_an_object(&self) -> bool {
        matches!(self, Error::Mismatch { .. } | Error::Leaked { .. } | Error::Poisoned { .. } | Error::Race { .. })
    }

    /// Whether it has the same text for all ranks. A rank that learns it from another's failure returns it itself.
    pub(crate) fn is_told_to_all(&self) -> bool {
        self.is_of_an_object()
            || matches!(self, Error::Deadlock { .. } | Error::RankLeft { .. })
            || matches!(self, Error::OutOfMemory { .. } | Error::CacheLimit { .. })
    }

    /// The failure of another rank, as the error that this rank returns.
    pub(crate) fn heard(failure: Failure) -> Self {
        let error = postcard::from_bytes(&failure.error).ok().filter(Error::is_told_to_all);
        error.unwrap_or(Error::JobFailed { failure })
    }
}
