//! The message of the halo protocol.

use super::geometry::Halo;
use crate::ids::Epoch;
use crate::race::Moment;
use crate::scope::Opening;
use serde::{Deserialize, Serialize};

/// The sender's edge for exchange `number` of a HaloCache. Payload: the edge.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HaloMessage {
    pub(crate) epoch: Epoch,
    pub(crate) number: u64,
    /// In exchange 0, the entry: the opening and the halo.
    pub(crate) entry: Option<(Opening, Halo)>,
    /// A mailbox lies behind the payload.
    pub(crate) mailbox: bool,
    /// Checking mode: the moment of the sender.
    pub(crate) at: Option<Moment>,
}
