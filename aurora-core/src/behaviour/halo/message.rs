//! What neighbours say to each other about a HaloCache.

use super::geometry::Halo;
use crate::epoch::Opening;
use crate::ids::Epoch;
use serde::{Deserialize, Serialize};

/// My edge for exchange `number` of a HaloCache; payload: the edge.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HaloMessage {
    pub(crate) epoch: Epoch,
    pub(crate) number: u64,
    /// In the exchange at its entry, which is number 0: what is entered, and the halo.
    pub(crate) entry: Option<(Opening, Halo)>,
    /// A mailbox lies behind the payload.
    pub(crate) mailbox: bool,
}
