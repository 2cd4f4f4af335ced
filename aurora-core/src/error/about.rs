//! What the service asks of an error: which line it is about, and whether it is the end of an object.

use super::{Claim, Error};
use crate::Site;
use aurora_net::Rank;

impl Error {
    /// The line of the user's program that this is about, if there is one.
    pub(crate) fn site(&self) -> Option<&Site> {
        match self {
            Error::Mismatch { first, .. } | Error::Conflict { first, .. } => Some(&first.site),
            Error::Unflushed { reader, .. } => Some(&reader.site),
            Error::Leaked { opened, .. } | Error::Poisoned { opened, .. } => Some(opened),
            Error::Deadlock { waits } => waits.first().map(|claim| &claim.site),
            Error::RankLeft { waiting, .. } | Error::Timeout { waiting, .. } => Some(&waiting.site),
            Error::IndexOutside { site, .. }
            | Error::Denied { site, .. }
            | Error::RangeOutside { site, .. }
            | Error::NotShown { site, .. }
            | Error::LengthsDiffer { site, .. }
            | Error::NoSuchRank { site, .. }
            | Error::ZeroSized { site, .. }
            | Error::TooLarge { site, .. }
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
            | Error::Start(_) => None,
        }
    }

    /// Whether it is the end of the object that it is about: every use of it says so from then on.
    pub(crate) fn is_of_an_object(&self) -> bool {
        matches!(self, Error::Mismatch { .. } | Error::Leaked { .. } | Error::Poisoned { .. } | Error::Conflict { .. })
    }

    /// The same as its reader is told, who alone knows its line.
    pub(crate) fn read_by(mut self, me: Rank, action: &str, site: &Site) -> Self {
        if let Error::Unflushed { reader, .. } = &mut self
            && reader.rank == me
        {
            **reader = Claim { rank: me, action: format!("reads it by `{action}`"), site: site.clone() };
        }
        self
    }
}
