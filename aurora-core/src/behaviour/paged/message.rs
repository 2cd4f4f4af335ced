//! The messages of the protocol of pages, and their effects.

use crate::ids::Epoch;
use crate::object::{Cx, Malformed};
use crate::scope::{self, Due, Then, Work};
use crate::vector::machine::{Vector, VectorWork};
use aurora_net::{Rank, Received};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum PagesMessage {
    /// Elements of the receiver's block that the sender has changed before sync number `sync`. Payload: a batch.
    Flush { epoch: Epoch, sync: u64 },
    /// Elements of the sender's block that have changed before sync number `sync`, in pages that the receiver holds.
    /// The last of several parts names their number, the others 0. Payload: a batch for the sender's block, or nothing.
    Push { epoch: Epoch, sync: u64, parts: u32 },
}

impl Vector {
    pub(crate) fn deliver_pages(
        &mut self,
        from: Rank,
        message: PagesMessage,
        payload: Received,
        cx: &mut Cx<'_>,
    ) -> Result<(), Malformed> {
        let (PagesMessage::Flush { epoch, .. } | PagesMessage::Push { epoch, .. }) = message;
        let Some(pages) = self.pages.as_mut().filter(|pages| pages.epoch() == epoch) else {
            // Another rank may have sent the message before it received the report of a fault.
            return if cx.is_sound() { Err(Malformed) } else { Ok(()) };
        };
        match message {
            PagesMessage::Flush { sync, .. } => {
                if !pages.awaits_flush(sync) {
                    return Err(Malformed);
                }
                let work = Work { from, due: Due::Now, then: Then::Nothing, what: VectorWork::Flush { sync } };
                scope::work(self, work, payload, cx);
                self.scopes.has_changed = true;
            }
            PagesMessage::Push { sync, parts, .. } => {
                pages.pushed(from, sync, parts, payload)?;
                cx.progress();
            }
        }
        Ok(())
    }
}
