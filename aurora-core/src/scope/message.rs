//! The messages about scopes of writes, and their effects.

use super::{Due, Opening, Served, Then, Work, work};
use crate::Kind;
use crate::ids::Epoch;
use crate::object::{Cx, Malformed};
use crate::race::Time;
use aurora_net::{Rank, Received};
use serde::{Deserialize, Serialize};

/// A message about scopes, with an object's part `B` of a batch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum ScopeMessage<B> {
    /// Buffered writes of a scope, to be applied in the order of `seq`. Payload: the writes.
    Batch { epoch: Epoch, seq: u64, opening: Opening, batch: B },
    /// The sender has applied a batch: there is room for another.
    BatchDone,
    /// The sender's scope has ended, with `batches` to this receiver. Payload: the writes of the last of them, if it
    /// travels with this message. Checking mode: the time that the sender releases.
    End { epoch: Epoch, opening: Opening, batches: u64, last: Option<B>, time: Option<Time> },
    /// The sender has entered this scope.
    Come { epoch: Epoch },
}

impl<B> ScopeMessage<B> {
    pub(crate) fn opening(&self) -> Option<&Opening> {
        match self {
            ScopeMessage::Batch { opening, .. } | ScopeMessage::End { opening, .. } => Some(opening),
            ScopeMessage::BatchDone | ScopeMessage::Come { .. } => None,
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.opening().map_or(Kind::Flush, |opening| opening.kind)
    }
}

/// A message about scopes has arrived.
pub(crate) fn deliver<S: Served>(
    object: &mut S,
    from: Rank,
    message: ScopeMessage<S::Batch>,
    payload: Received,
    cx: &mut Cx<'_>,
) -> Result<(), Malformed> {
    if message.opening().is_some_and(|opening| !object.fits(opening)) {
        return Err(Malformed);
    }
    match message {
        ScopeMessage::Batch { epoch, seq, opening, batch } => {
            object.scopes_mut().opened(from, epoch, &opening, cx);
            let what = object.batch(from, &opening, batch)?;
            let batch = Work { from, due: Due::Within { epoch, seq }, then: Then::Acknowledge, what };
            work(object, batch, payload, cx);
        }
        ScopeMessage::BatchDone => object.scopes_mut().has_room(from),
        ScopeMessage::End { epoch, opening, batches, last, time } => {
            let scopes = object.scopes_mut();
            scopes.opened(from, epoch, &opening, cx);
            scopes.released(epoch, opening.window, time.as_ref());
            if cx.is_sound() {
                let arrival = &mut scopes.ledger.record(epoch).from[from.index()];
                (arrival.complete, arrival.batches) = (true, batches);
            }
            if let Some(last) = last {
                let seq = batches.checked_sub(1).ok_or(Malformed)?;
                let what = object.batch(from, &opening, last)?;
                let last = Work { from, due: Due::Within { epoch, seq }, then: Then::Nothing, what };
                work(object, last, payload, cx);
            }
        }
        // Later messages of the sender may have arrived before, and the scope may be `settled` here.
        ScopeMessage::Come { epoch } => object.scopes_mut().ledger.has_entered(from, epoch),
    }
    object.scopes_mut().has_changed = true;
    Ok(())
}
