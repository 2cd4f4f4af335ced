use crate::Site;
use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A shared object as errors name it: its kind and where it was made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ObjectName {
    /// The kind, type and shape, for example `GVector<i32> of 704 x 704`.
    pub what: String,
    /// The line that made it.
    pub made_at: Site,
}

impl ObjectName {
    /// The name of an object that was made at this line.
    pub fn new(what: impl Into<String>, made_at: Site) -> Self {
        ObjectName { what: what.into(), made_at }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} (made at {})", self.what, self.made_at)
    }
}

/// A call of one rank, as errors quote it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Claim {
    /// The rank.
    pub rank: Rank,
    /// The action, for example `opened a ReadCache of the GVector<i32> of 10 elements`.
    pub action: String,
    /// The line of the call.
    pub site: Site,
}

impl Claim {
    /// An action of a rank at a line.
    pub fn new(rank: Rank, action: impl Into<String>, site: Site) -> Self {
        Claim { rank, action: action.into(), site }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} at {}", self.rank, self.action, self.site)
    }
}
