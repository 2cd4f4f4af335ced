//! Why a job ended early.

use crate::Rank;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::panic::Location;

/// A job's failure, as every rank of it learns it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
pub struct Failure {
    /// Who failed; nobody where the job could not start.
    pub rank: Option<Rank>,
    /// What happened, in words.
    pub cause: String,
    /// Where in the source, as `file:line:column`.
    pub at: Option<String>,
    /// Whether it happened to the rank that reports it; false where that rank only heard of it.
    pub origin: bool,
}

impl Failure {
    /// `rank` failed for `cause`.
    pub fn of(rank: Rank, cause: impl fmt::Display) -> Self {
        Failure { rank: Some(rank), cause: cause.to_string(), at: None, origin: true }
    }

    /// The job could not start for `cause`.
    pub fn start(cause: impl fmt::Display) -> Self {
        Failure { rank: None, cause: cause.to_string(), at: None, origin: true }
    }

    /// With the place in the source that it belongs to.
    #[must_use]
    pub fn at(mut self, location: &Location<'_>) -> Self {
        self.at = Some(location.to_string());
        self
    }

    /// As those see it to whom it did not happen.
    #[must_use]
    pub fn heard(&self) -> Self {
        Failure { origin: false, ..self.clone() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rank {
            Some(rank) => write!(f, "{rank} failed: {}", self.cause)?,
            None => write!(f, "the job cannot start: {}", self.cause)?,
        }
        match &self.at {
            Some(at) => write!(f, " (at {at})"),
            None => Ok(()),
        }
    }
}
