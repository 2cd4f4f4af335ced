use super::{Clock, Moment, Time};
use crate::Site;
use serde::{Deserialize, Serialize};

/// Where and when a rank accesses something, and what comes before.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub(crate) line: Site,
    pub(crate) at: Moment,
    pub(crate) time: Time,
}

impl Origin {
    /// Of the present, as it fits a header.
    pub(crate) fn here(line: &Site, order: &Clock) -> Self {
        Origin { line: line.clone().clipped(), at: order.now(), time: order.time() }
    }
}
