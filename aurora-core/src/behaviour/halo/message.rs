//! The message of the halo protocol.

use super::geometry::Halo;
use crate::ids::Epoch;
use crate::race::Moment;
use crate::scope::Opening;
use crate::vector::core::VectorCore;
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

impl HaloMessage {
    /// Decodes a header; `None` if it cannot be about this vector.
    pub(super) fn decode(header: &[u8], core: &VectorCore) -> Option<Self> {
        let message: HaloMessage = postcard::from_bytes(header).ok()?;
        let opening = message.entry.as_ref().map(|(opening, _)| opening);
        opening.is_none_or(|opening| opening.window.is_of(core.dist().len())).then_some(message)
    }
}
