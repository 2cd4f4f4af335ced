//! The messages of the protocol of pages.

use super::protocol::Paging;
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::object::{Cx, How};
use crate::vector::protocol::Numbered;
use aurora_net::{Payload, Rank};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum PagesMessage {
    /// Elements of the receiver's block that the sender has changed before sync number `sync`. Payload: a batch.
    Flush { epoch: Epoch, sync: u64 },
    /// Elements of the sender's block that have changed before sync number `sync`, in pages that the receiver holds.
    /// The last of several parts names their number, the others 0. Payload: a batch for the sender's block, or nothing.
    Push { epoch: Epoch, sync: u64, parts: u32 },
}

impl PagesMessage {
    /// A rank needs changes of pages only once it is in the same sync, so the message wakes only a rank that waits.
    pub(super) fn send(&self, reason: &Reason, to: Rank, payload: Payload, cx: &mut Cx<'_>) {
        Paging::send(to, self, payload, How::default().on(reason).lazy(), cx);
    }
}
