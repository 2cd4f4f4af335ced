//! The reason why a job ended early.

use crate::Rank;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, Write};
use std::panic::Location;

/// The failure of a job, as all its ranks learn it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
pub struct Failure {
    /// The rank that failed; `None` if the job could not start.
    pub rank: Option<Rank>,
    /// The cause, in words.
    pub cause: String,
    /// The source position, as `file:line:column`.
    pub at: Option<String>,
    /// True on the rank that has failed; false on ranks that were only notified.
    pub origin: bool,
    /// The encoded error, for the other ranks, if it is equal on all and names the ranks concerned; else empty.
    pub error: Vec<u8>,
}

impl Failure {
    /// Creates the failure of `rank` because of `cause`.
    pub fn of(rank: Rank, cause: impl fmt::Display) -> Self {
        Failure { rank: Some(rank), cause: cause.to_string(), at: None, origin: true, error: Vec::new() }
    }

    /// Creates the failure of a job that could not start because of `cause`.
    pub fn start(cause: impl fmt::Display) -> Self {
        Failure { rank: None, cause: cause.to_string(), at: None, origin: true, error: Vec::new() }
    }

    /// Adds the source position.
    #[must_use]
    pub fn at(mut self, location: &Location<'_>) -> Self {
        self.at = Some(location.to_string());
        self
    }

    /// Prints why the job ends, in one write: a launcher may insert output of other ranks between two writes.
    pub(super) fn print(&self) {
        // Nothing can be done about a closed stderr.
        let _ = io::stderr().write_all(format!("aurora: {self}\n").as_bytes());
    }

    /// The same failure, as seen by the other ranks.
    #[must_use]
    pub fn heard(&self) -> Self {
        Failure { origin: false, ..self.clone() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rank {
            // The cause names the ranks concerned, which may not include the reporting rank.
            Some(rank) if !self.error.is_empty() => match self.cause.starts_with(&format!("{rank} ")) {
                true => f.write_str(&self.cause)?,
                false => write!(f, "{rank} reports: {}", self.cause)?,
            },
            Some(rank) => write!(f, "{rank} failed: {}", self.cause)?,
            None => write!(f, "the job cannot start: {}", self.cause)?,
        }
        match &self.at {
            Some(at) => write!(f, " (at {at})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reporting_rank_differs_from_the_failed_one() {
        let by_rank_1 = |cause| Failure::of(Rank::new(1), cause);
        assert_eq!(by_rank_1("no such file").to_string(), "rank 1 failed: no such file");
        assert_eq!(by_rank_1("rank 1 has had enough").to_string(), "rank 1 failed: rank 1 has had enough");
        let relayed = Failure { error: vec![7], ..by_rank_1("rank 0 needs 2731 GiB") };
        assert_eq!(relayed.to_string(), "rank 1 reports: rank 0 needs 2731 GiB");
        assert_eq!(Failure { error: vec![7], ..by_rank_1("rank 1 needs 7 GiB") }.to_string(), "rank 1 needs 7 GiB");
    }
}
