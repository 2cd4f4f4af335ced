//! What ranks say to each other about a collective scope of writes, and what this rank does when it hears it.

use crate::element::OpId;
use crate::epoch::Opening;
use crate::ids::Epoch;
use crate::object::{Cx, Malformed};
use crate::stats::Kind;
use crate::vector::machine::{Parked, Vector, Work};
use aurora_net::{Rank, Received};
use serde::{Deserialize, Serialize};

/// A message of the protocol of buffered writes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum FlushMessage {
    /// Buffered writes of a scope, to be applied in the order of `seq`; payload: a batch.
    Batch { epoch: Epoch, seq: u64, opening: Opening, op: Option<OpId> },
    /// A batch has been applied: there is room for another.
    BatchDone,
    /// "My scope has ended, and I sent you so many batches in it." Payload: the last of them, with operation `op`, or
    /// nothing.
    End { epoch: Epoch, opening: Opening, batches: u64, op: Option<OpId> },
    /// "I have come as far as this scope."
    Come { epoch: Epoch },
}

impl FlushMessage {
    /// The opening that it brings.
    pub(crate) fn opening(&self) -> Option<&Opening> {
        match self {
            FlushMessage::Batch { opening, .. } | FlushMessage::End { opening, .. } => Some(opening),
            FlushMessage::BatchDone | FlushMessage::Come { .. } => None,
        }
    }

    /// What it is counted under.
    pub(crate) fn kind(&self) -> Kind {
        self.opening().map_or(Kind::Flush, |opening| opening.kind)
    }

    /// Whether no rank is woken for it: for a batch before its sender waits for room, for the word that there is some.
    pub(crate) fn is_lazy(&self) -> bool {
        matches!(self, FlushMessage::Batch { .. } | FlushMessage::BatchDone)
    }
}

impl Vector {
    /// A message is whole.
    pub(crate) fn deliver_flush(
        &mut self,
        from: Rank,
        message: FlushMessage,
        payload: Received,
        cx: &mut Cx<'_>,
    ) -> Result<(), Malformed> {
        match message {
            FlushMessage::Batch { epoch, seq, opening, op } => {
                self.opened(from, epoch, &opening, cx);
                let work = Work::Batch { epoch, seq, op, acknowledge: true };
                self.work(Parked { from, work, payload }, cx);
                self.has_changed = true;
            }
            FlushMessage::BatchDone => self.flush.has_room(from),
            FlushMessage::End { epoch, opening, batches, op } => {
                self.opened(from, epoch, &opening, cx);
                if cx.is_sound() {
                    let arrival = &mut self.ledger.record(epoch).from[from.index()];
                    arrival.complete = true;
                    arrival.batches = batches;
                }
                if !payload.bytes().is_empty() {
                    let seq = batches.checked_sub(1).ok_or(Malformed)?;
                    let work = Work::Batch { epoch, seq, op, acknowledge: false };
                    self.work(Parked { from, work, payload }, cx);
                }
                self.has_changed = true;
            }
            // What it has sent later may have been here before, and that scope may be over.
            FlushMessage::Come { epoch } => self.ledger.has_entered(from, epoch),
        }
        Ok(())
    }
}
