use super::{Clock, Moment, Time};
use crate::Site;
use serde::{Deserialize, Serialize};

/// The line and the moment of an access, and the time before it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub(crate) line: Site,
    pub(crate) at: Moment,
    pub(crate) time: Time,
}

impl Origin {
    /// The origin of an access at the present moment, in a form that fits a header.
    pub(crate) fn here(line: &Site, order: &Clock) -> Self {
        Origin { line: line.clone().clipped(), at: order.now(), time: order.time() }
    }
}
