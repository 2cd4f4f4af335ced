//! The messages of the load protocol, and their effects.

use super::arrival::Announced;
use crate::ids::Epoch;
use crate::object::{Cx, Malformed, Place};
use crate::scope::Opening;
use crate::vector::machine::Vector;
use aurora_net::{Rank, Received};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum LoadMessage {
    /// The announcement: the sender has entered a load. Payload: its block, if the receiver needs this version.
    Enter { epoch: Epoch, opening: Opening, said: Announced },
    /// The write marks for which the announcement had no room. Payload: pairs of owner and number.
    Made { epoch: Epoch },
    /// A correction: the changes of late writes in a block that had already been pushed. Payload: a batch.
    Correct { epoch: Epoch, version: u64, writes: u64 },
    /// Blocks that the sender has installed in the node cache for this load. Payload: pairs of owner and version.
    Installed { epoch: Epoch },
    /// A block of another node, for a node peer that loads into a copy of its own. Payload: the block.
    Forward { epoch: Epoch, owner: Rank, version: u64 },
}

impl LoadMessage {
    pub(crate) fn opening(&self) -> Option<&Opening> {
        match self {
            LoadMessage::Enter { opening, .. } => Some(opening),
            _ => None,
        }
    }
}

impl Vector {
    /// The place for the payload of a message. An announcement is kept, to be recorded before its block is complete.
    pub(crate) fn place_load(&mut self, from: Rank, message: LoadMessage, len: usize, cx: &Cx<'_>) -> Place {
        match message {
            LoadMessage::Enter { epoch, opening, said } => {
                let placement = self.place_block(from, (epoch, opening.window), len, cx);
                let coming = matches!(placement, Place::At(_));
                // Nothing can be sent at this moment.
                self.load.pending.push((from, (epoch, opening), (said, coming)));
                placement
            }
            LoadMessage::Forward { epoch, owner, .. } => self.place_forward(from, (epoch, owner), len, cx),
            _ => Place::Buffer,
        }
    }

    pub(crate) fn deliver_load(
        &mut self,
        from: Rank,
        message: LoadMessage,
        payload: Received,
        cx: &mut Cx<'_>,
    ) -> Result<(), Malformed> {
        match message {
            LoadMessage::Enter { epoch, opening, said } => {
                self.note_announcement(from, (epoch, &opening), (said, false), cx);
                self.arrived(from, (epoch, &opening), payload, cx);
            }
            LoadMessage::Made { epoch } => {
                let marks = postcard::from_bytes::<Vec<(u32, u64)>>(payload.bytes()).map_err(|_| Malformed)?;
                if cx.is_sound() && !self.list_came(from, epoch, &marks) {
                    return Err(Malformed);
                }
            }
            LoadMessage::Correct { epoch, version, writes } => {
                let correction = (version, payload.into_vec());
                if cx.is_sound() && !self.corrected(from, epoch, correction, writes) {
                    return Err(Malformed);
                }
            }
            LoadMessage::Installed { epoch } => self.installed(from, epoch, payload.bytes(), cx),
            LoadMessage::Forward { epoch, owner, version } => {
                self.forwarded(from, (epoch, owner), version, payload, cx);
            }
        }
        self.scopes.has_changed = true;
        Ok(())
    }
}
