//! Messages between the ranks of a super-program.

use crate::dispatch::{Order, Part, Report};
use crate::{BlockId, Node};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The header of a message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum Message {
    /// To the dispatcher.
    Report(InOrder<Report>),
    /// From the dispatcher.
    Order(InOrder<ToNode>),
    /// A rank asks for a block, to read it or to become its host.
    Fetch(BlockId),
    /// A block; its bytes are the payload.
    Block(BlockId),
    /// A partial result; its bytes are the payload.
    Part(Part),
    /// To the dispatcher: a partial result is merged, in the launch with this number.
    Merged(u64),
}

/// A message of the dispatcher to a rank.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum ToNode {
    /// An order. With a grant comes the digest of its operands.
    Order(Order, u64),
    /// The launch is complete. The payload lists the blocks that have another host than before.
    Complete,
}

/// The blocks that have another host than before a launch, each with its new host.
pub(super) type Moved = Vec<(BlockId, Node)>;

/// A message of a launch. Transfers arrive in any order; these are handled in the order of their serial numbers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct InOrder<M> {
    pub(super) launch: u64,
    pub(super) serial: u64,
    pub(super) message: M,
}

/// Puts messages into the order in which they were sent.
#[derive(Clone, Debug)]
pub(super) struct Inbox<M> {
    next: u64,
    early: BTreeMap<u64, M>,
}

impl<M> Default for Inbox<M> {
    fn default() -> Self {
        Inbox { next: 0, early: BTreeMap::new() }
    }
}

impl<M> Inbox<M> {
    /// A message has arrived. False: one with this number has arrived before.
    #[must_use]
    pub(super) fn put(&mut self, serial: u64, message: M) -> bool {
        serial >= self.next && self.early.insert(serial, message).is_none()
    }

    /// Returns true if no message waits for an earlier one.
    pub(super) fn is_empty(&self) -> bool {
        self.early.is_empty()
    }

    /// The next message, if it has arrived.
    pub(super) fn take(&mut self) -> Option<M> {
        let message = self.early.remove(&self.next)?;
        self.next += 1;
        Some(message)
    }
}
