//! What ranks say to each other of a scalar: the headers of transfers.

use crate::element::OpId;
use crate::epoch::Opening;
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::object::{Cx, How};
use crate::stats::Kind;
use aurora_net::{Payload, Rank};
use serde::{Deserialize, Serialize};

/// A message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    /// To the home: "I have come to this scope", one that shows something.
    Come { epoch: Epoch, opening: Opening },
    /// To the home: "My part of this scope has ended, and I made so many offers in it." Payload: what it contributes,
    /// if it does.
    Part { epoch: Epoch, opening: Opening, offers: u64, contributes: bool },
    /// From the home: "All have ended this scope."
    Over { epoch: Epoch },
    /// From the home: all have come to this scope, and this is the value, numbered in a ReadMostly; in it are so many
    /// of your offers.
    Spread { epoch: Epoch, number: u64, answered: u64 },
    /// To the home: so many values of this ReadMostly have come.
    Seen { epoch: Epoch, seen: u64 },
    /// To the home, in a ReadMostly: an operand that nobody waits for, applied in the order of `seq`.
    Offer { epoch: Epoch, seq: u64, op: OpId },
}

impl Message {
    /// Sends it, on the account of a line of the program.
    pub(crate) fn send(&self, reason: &Reason, to: Rank, payload: Payload, cx: &mut Cx<'_>) {
        cx.send(to, self, payload, How { kind: Kind::Scalar, lazy: false, reason: Some(reason) });
    }
}

/// What can be done to a scalar at its home.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum ScalarRequest {
    /// Reply: the value.
    Load,
    /// Payload: the new value. Reply: the old one.
    Swap,
    /// Payload: the operand. Reply: the old value.
    Fetch(OpId),
    /// Payload: length of the expected value as u32, the expected and the new value. Reply: the old value, changed if
    /// it was the expected one.
    CompareExchange,
}

/// A request of a rank that has entered `epoch` scopes of the scalar; inside a ReadMostly, `after` so many offers of
/// the same rank.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) epoch: Epoch,
    pub(crate) request: ScalarRequest,
    pub(crate) after: Option<u64>,
}
