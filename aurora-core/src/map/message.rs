//! The messages and requests about a map: headers of transfers.

use super::Pending;
use super::entries::Place;
use crate::ops::OpId;
use serde::{Deserialize, Serialize};
use std::vec::IntoIter;

/// A batch of a scope of writes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct MapBatch<K, V> {
    /// The sum of the keys' hashes at the sender, less the hashes here of the keys that are applied already.
    pub(super) hashes: u64,
    /// The bytes of the writes that are applied already.
    #[serde(skip)]
    pub(super) done: usize,
    /// The writes of a rank to its own part.
    #[serde(skip)]
    pub(super) own: Option<IntoIter<Pending<K, V>>>,
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

impl<K, V> MapBatch<K, V> {
    /// Writes of this rank to its own part.
    pub(super) fn own(writes: Vec<Pending<K, V>>) -> Self {
        MapBatch { hashes: 0, done: 0, own: Some(writes.into_iter()) }
    }
}
