//! The messages about a scalar: headers of transfers.

use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::object::{Cx, How};
use crate::ops::OpId;
use crate::race::Time;
use crate::scope::Opening;
use aurora_net::{Payload, Rank};
use serde::{Deserialize, Serialize};

/// In checking mode a `time` is the release of the sender, or of all ranks together ([`ordering`](super::ordering)).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    /// To the home: the sender has entered this scope, which shows a value.
    Come { epoch: Epoch, opening: Opening, time: Option<Time> },
    /// To the home: the sender has ended this scope, with `offers` offers in it. Payload: its contribution, if any.
    Part { epoch: Epoch, opening: Opening, offers: u64, contributes: bool, time: Option<Time> },
    /// From the home: all ranks have ended this scope.
    Over { epoch: Epoch, time: Option<Time> },
    /// From the home: all ranks have entered this scope. Payload: the value; in a ReadMostly it has a number, and
    /// contains `answered` of the receiver's offers.
    Spread { epoch: Epoch, number: u64, answered: u64, time: Option<Time> },
    /// To the home: the sender has received `seen` values of this ReadMostly.
    Seen { epoch: Epoch, seen: u64 },
    /// To the home, in a ReadMostly: an operand, applied in the order of `seq` and not answered.
    Offer { epoch: Epoch, seq: u64, op: OpId },
}

impl Message {
    /// Sends it, counted for the program's line that `reason` names.
    pub(crate) fn send(&self, reason: &Reason, to: Rank, payload: Payload, cx: &mut Cx<'_>) {
        cx.send(to, self, payload, How::default().on(reason));
    }
}

/// An operation on a scalar at its home.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum ScalarRequest {
    /// Reply: the value.
    Load,
    /// Payload: the new value. Reply: the old one.
    Swap,
    /// Payload: the operand. Reply: the old value.
    Fetch(OpId),
    /// Payload: length of the expected value as u32, the expected and the new value. Reply: the old value; it was
    /// replaced if it equals the expected one.
    CompareExchange,
}

/// A request of a rank that has entered `epoch` scopes of the scalar; in a ReadMostly, after `after` of its offers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) epoch: Epoch,
    pub(crate) request: ScalarRequest,
    pub(crate) after: Option<u64>,
    pub(crate) time: Option<Time>,
}
