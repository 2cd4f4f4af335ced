//! Messages between the ranks of a super-program.

use crate::BlockId;
use crate::dispatch::{Order, Report};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The header of a message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum Message {
    /// To the dispatcher.
    Report(InOrder<Report>),
    /// From the dispatcher. With a grant comes the digest of its operands.
    Order(InOrder<(Order, u64)>),
    /// A rank asks for a block.
    Fetch(BlockId),
    /// A block; its bytes are the payload.
    Block(BlockId),
    /// From the dispatcher: the launch with this number is complete.
    Complete(u64),
}

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
