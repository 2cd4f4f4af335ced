//! The protocols of a scalar's scopes.

use crate::scope::{Opening, Rule};
use crate::{Kind, Site};

/// The behaviours of a scalar, as errors call them.
pub(super) const READ_CACHE: &str = "ReadCache";
pub(super) const READ_MOSTLY: &str = "ReadMostly";
pub(super) const RELEASE: &str = "ReleaseC";
pub(super) const ACCUMULATE: &str = "Accumulate";

/// The protocol of a scope: a number in its opening.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Protocol {
    ReadCache = 1,
    ReadMostly,
    ReleaseC,
    Accumulate,
}

impl Protocol {
    pub(super) fn name(self) -> &'static str {
        match self {
            Protocol::ReadCache => READ_CACHE,
            Protocol::ReadMostly => READ_MOSTLY,
            Protocol::ReleaseC => RELEASE,
            Protocol::Accumulate => ACCUMULATE,
        }
    }

    /// The opening of a scope: a ReadCache is complete once all ranks have entered it, any other once all have ended
    /// it.
    pub(super) fn opening(self, site: &Site) -> Opening {
        let rule = if self == Protocol::ReadCache { Rule::Announced } else { Rule::Ended };
        Opening::new(self.name(), Kind::Scalar, rule, site).by(self as u8)
    }

    pub(super) fn is_of(self, opening: &Opening) -> bool {
        opening.protocol == self as u8
    }

    pub(super) fn of(opening: &Opening) -> Option<Self> {
        let all = [Protocol::ReadCache, Protocol::ReadMostly, Protocol::ReleaseC, Protocol::Accumulate];
        all.into_iter().find(|protocol| protocol.is_of(opening))
    }
}
