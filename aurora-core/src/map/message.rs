//! The messages and requests about a map: headers of transfers.

use super::entries::Place;
use crate::epoch::Opening;
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::object::{Cx, How};
use crate::ops::OpId;
use crate::race::{Origin, Time};
use crate::stats::Kind;
use crate::window::Window;
use aurora_net::{Payload, Rank};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Message {
    /// Buffered writes of a scope, to be applied in the order of `seq`. Payload: a batch; `hashes` is the sum of its
    /// keys' hashes. Checking mode: `notes` is true for a batch of notes.
    Batch { epoch: Epoch, seq: u64, opening: Opening, hashes: u64, notes: bool },
    /// The sender has applied a batch: there is room for another.
    BatchDone,
    /// The sender's scope has ended, with `batches` to this receiver. Payload: the last of them, or none; `hashes` as
    /// above. Checking mode: the time that the sender releases.
    End { epoch: Epoch, opening: Opening, batches: u64, hashes: u64, time: Option<Time> },
}

impl Message {
    /// Decodes a header; `None` if it cannot be about a map.
    pub(super) fn decode(header: &[u8]) -> Option<Self> {
        let message: Message = postcard::from_bytes(header).ok()?;
        message.opening().is_none_or(fits).then_some(message)
    }

    fn opening(&self) -> Option<&Opening> {
        match self {
            Message::Batch { opening, .. } | Message::End { opening, .. } => Some(opening),
            Message::BatchDone => None,
        }
    }

    /// Sends the message, counted for the program's line that `reason` names. Only `End` wakes a rank that does not
    /// wait.
    pub(super) fn send(&self, reason: Option<&Reason>, to: Rank, payload: impl Into<Payload>, cx: &mut Cx<'_>) {
        let lazy = !matches!(self, Message::End { .. });
        cx.send(to, self, payload, How { kind: Kind::Flush, lazy, reason });
    }
}

/// True if an opening can be an opening of a map: scopes of maps are about the whole map.
pub(super) fn fits(opening: &Opening) -> bool {
    opening.window == Window::WHOLE
}

/// A one-sided request, and the last scope that its sender has entered before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) epoch: Epoch,
    pub(super) request: Request,
    /// Checking mode: the origin of the access.
    pub(super) origin: Option<Box<Origin>>,
}

/// A one-sided request to an owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// The values of `keys` keys, which are the payload. The answer is about the first keys, as many as the owner looks
    /// up in one step: for each a byte that is 1 if the map contains the key, and then the value.
    Get { keys: u32 },
    /// As `Get`, without the values.
    Contains { keys: u32 },
    /// Payload: a key and its new value. The answer is the old value, as for `Get`.
    Insert,
    /// Payload: a key. The answer is its value, as for `Get`.
    Remove,
    /// Payload: a key and an operand. The answer is empty.
    Update(OpId),
    /// Entries from a place on. The answer is the place behind the last of them, their number, and each with its key
    /// and value. None: there are no more.
    Scan { from: Place },
}

impl Request {
    pub(super) fn writes(self) -> bool {
        matches!(self, Request::Insert | Request::Remove | Request::Update(_))
    }
}
