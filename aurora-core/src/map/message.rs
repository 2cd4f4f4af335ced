//! The messages and requests about a map: headers of transfers.

use super::entries::Place;
use crate::ids::Epoch;
use crate::ops::OpId;
use crate::race::Origin;
use serde::{Deserialize, Serialize};

/// A batch of a scope of writes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum MapBatch {
    /// Writes, and the sum of their keys' hashes.
    Writes { hashes: u64 },
    /// Checking mode: notes of the writes in the next batches.
    Notes,
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
