//! The messages that the machines of the ranks send to each other.

use super::diff::Diff;
use serde::{Deserialize, Serialize};

/// The number of a page, counted over all arrays.
pub type Page = u32;

/// The number of a rank.
pub type Peer = u16;

/// A vector time: for each rank the number of its intervals that precede a moment.
pub type Time = Vec<u32>;

/// The name of an interval: its rank, and the number of intervals of that rank that precede it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Stamp {
    /// The rank.
    pub rank: Peer,
    /// The number of earlier intervals of the rank.
    pub index: u32,
}

/// The work of a rank between two synchronisations, as other ranks know it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Interval {
    /// The vector time at the end of the interval, which includes the interval itself.
    pub time: Time,
    /// The pages that the rank has written in the interval, in ascending order: the write notices.
    pub pages: Vec<Page>,
}

/// Intervals of one rank that another rank does not know yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct News {
    /// The first of the intervals.
    pub from: Stamp,
    /// The intervals.
    pub intervals: Vec<Interval>,
}

/// A message.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Message {
    /// A rank has arrived at a barrier: to the manager, with the rank's own intervals since the last barrier.
    Arrive {
        /// The intervals that the rank knows.
        time: Time,
        /// The rank's own new intervals.
        news: News,
    },
    /// All ranks have arrived at a barrier: from the manager, with the intervals that the rank lacks.
    Depart {
        /// The intervals.
        news: Vec<News>,
    },
    /// A rank wants a lock: to the manager of the lock.
    Acquire {
        /// The lock.
        lock: u32,
        /// The intervals that the rank knows.
        time: Time,
    },
    /// A rank wants a lock: to the last rank that has requested the lock.
    Forward {
        /// The lock.
        lock: u32,
        /// The rank that wants the lock.
        rank: Peer,
        /// The intervals that the rank knows.
        time: Time,
    },
    /// A rank gets a lock, with the intervals that it lacks.
    Grant {
        /// The lock.
        lock: u32,
        /// The intervals.
        news: Vec<News>,
    },
    /// A rank lacks differences of a page.
    Want {
        /// The page.
        page: Page,
        /// The intervals whose differences the rank lacks.
        stamps: Vec<Stamp>,
    },
    /// The requested differences, in the order of the request.
    Diffs {
        /// The page.
        page: Page,
        /// The differences.
        diffs: Vec<Diff>,
    },
}

impl Message {
    /// The names of the kinds of messages, by their numbers.
    pub const KINDS: [&str; 7] =
        ["arrival", "departure", "acquire", "forwarded acquire", "grant", "diff request", "diffs"];

    /// The number of the message's kind.
    pub fn kind(&self) -> u8 {
        match self {
            Message::Arrive { .. } => 0,
            Message::Depart { .. } => 1,
            Message::Acquire { .. } => 2,
            Message::Forward { .. } => 3,
            Message::Grant { .. } => 4,
            Message::Want { .. } => 5,
            Message::Diffs { .. } => 6,
        }
    }
}

/// A message that makes no sense: another build of the program has sent it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;
