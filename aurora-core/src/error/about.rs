//! Constructors for shared objects of other crates, and the kernel's questions about an error.

use super::{Claim, Error, ObjectName};
use crate::Site;
use aurora_net::Rank;
use aurora_net::bootstrap::Failure;

impl Error {
    /// A disagreement of two ranks about a [shared object](crate::object) of your own.
    pub fn mismatch(first: Claim, second: Claim) -> Self {
        Error::Mismatch { first: Box::new(first), second: Box::new(second) }
    }

    /// Adds the line of the call to an error about a value, because an owner does not know it.
    pub(crate) fn at_line(self, site: &Site) -> Self {
        match self {
            Error::Value { value, cause, .. } => Error::Value { value, cause, site: site.clone() },
            other => other,
        }
    }

    /// An error of a [shared object](crate::object) of your own. Programs recognise it by `name`. Its text is the
    /// object, the rank and `cause`: the problem and the cure.
    pub fn of_object(rank: Rank, object: ObjectName, name: impl Into<String>, cause: impl Into<String>) -> Self {
        Error::Object { rank, object, name: name.into(), cause: cause.into() }
    }

    /// A value that a variable or an option cannot have. `expected` describes the possible values, such as `a number
    /// from 1 to 8`.
    pub fn bad_setting(name: impl Into<String>, value: impl Into<String>, expected: impl Into<String>) -> Self {
        Error::BadSetting { name: name.into(), value: value.into(), expected: expected.into() }
    }

    /// True if the error makes its object unusable: every later use of the object returns the error.
    pub(crate) fn is_of_an_object(&self) -> bool {
        matches!(self, Error::Mismatch { .. } | Error::Leaked { .. } | Error::Poisoned { .. } | Error::Race { .. })
    }

    /// True if the text is equal for all ranks. A rank that receives such an error of another rank returns it itself.
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
