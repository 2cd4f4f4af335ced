//! The messages of the protocol of buffered writes, and their effects.

use crate::epoch::Opening;
use crate::ids::Epoch;
use crate::object::{Cx, Malformed};
use crate::ops::OpId;
use crate::race::Time;
use crate::stats::Kind;
use crate::vector::machine::{Parked, Vector, Work};
use aurora_net::{Rank, Received};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum FlushMessage {
    /// Buffered writes of a scope, to be applied in the order of `seq`. Payload: a batch.
    Batch { epoch: Epoch, seq: u64, opening: Opening, op: Option<OpId> },
    /// The sender has applied a batch: there is room for another.
    BatchDone,
    /// The sender's scope has ended, with `batches` to this receiver. Payload: the last of them, with `op`, or none.
    /// `time`, in checking mode: the vector time that the sender releases. `partial`: the last batch is the sender's
    /// partial copy in the node's shared memory, with the operation of the scope.
    End { epoch: Epoch, opening: Opening, batches: u64, op: Option<OpId>, partial: bool, time: Option<Time> },
    /// The sender has entered this scope.
    Come { epoch: Epoch },
}

impl FlushMessage {
    pub(crate) fn opening(&self) -> Option<&Opening> {
        match self {
            FlushMessage::Batch { opening, .. } | FlushMessage::End { opening, .. } => Some(opening),
            FlushMessage::BatchDone | FlushMessage::Come { .. } => None,
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.opening().map_or(Kind::Flush, |opening| opening.kind)
    }

    /// True if the message wakes a rank only if it waits: batches and their acknowledgements.
    pub(crate) fn is_lazy(&self) -> bool {
        matches!(self, FlushMessage::Batch { .. } | FlushMessage::BatchDone)
    }
}

impl Vector {
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
            FlushMessage::End { epoch, opening, batches, op, partial, time } => {
                self.opened(from, epoch, &opening, cx);
                self.released(epoch, opening.window, time.as_ref());
                if cx.is_sound() {
                    let arrival = &mut self.ledger.record(epoch).from[from.index()];
                    arrival.complete = true;
                    arrival.batches = batches;
                }
                if partial || !payload.bytes().is_empty() {
                    let seq = batches.checked_sub(1).ok_or(Malformed)?;
                    let work = match opening.op.filter(|_| partial) {
                        Some(op) if self.may_fold(from, opening.window) => Work::Partial { epoch, seq, op, folded: 0 },
                        _ if partial => return Err(Malformed),
                        _ => Work::Batch { epoch, seq, op, acknowledge: false },
                    };
                    self.work(Parked { from, work, payload }, cx);
                }
                self.has_changed = true;
            }
            // Later messages of the sender may have arrived before, and the scope may be completed here.
            FlushMessage::Come { epoch } => self.ledger.has_entered(from, epoch),
        }
        Ok(())
    }
}
