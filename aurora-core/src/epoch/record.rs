//! What is known of one epoch: what this rank has opened, and what has come from the others.

use crate::epoch::{Opening, Rule};
use aurora_net::Rank;

/// What has arrived from one rank for one epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrival {
    pub(crate) opening: Option<Opening>,
    /// It has announced its load or ended its scope of writes.
    pub(crate) complete: bool,
    /// Load: the version of its block. It is in place if it differed from the last.
    pub(crate) version: u64,
    /// Load: its block comes with its announcement, and has been let in.
    pub(crate) coming: bool,
    /// Load: everything that its announcement brings is here.
    pub(crate) arrived: bool,
    /// Load: its block came with its announcement.
    pub(crate) came: bool,
    /// Load: its block lies in memory that its node shares: if we are on it, it was not sent.
    pub(crate) at_home: bool,
    /// Load: up to which number its block contains the writes of other ranks.
    pub(crate) writes: u64,
    /// Load: its correction, applied when the load completes: the version it makes, and a batch.
    pub(crate) correction: Option<(u64, Vec<u8>)>,
    /// Load: it made too many writes for its announcement; their list comes by itself.
    pub(crate) list_follows: bool,
    /// Load: that list has come.
    pub(crate) list_came: bool,
    /// Scopes of writes: batches that it says it sent us.
    pub(crate) batches: u64,
    /// Scopes of writes: batches of it that we have applied.
    pub(crate) applied: u64,
}

impl Arrival {
    /// Load: the version of its block when the load is complete.
    pub(crate) fn final_version(&self) -> u64 {
        self.correction.as_ref().map_or(self.version, |(version, _)| *version)
    }
}

/// One epoch.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) mine: Option<Opening>,
    /// Our own part is done: announced, or ended.
    pub(crate) mine_complete: bool,
    pub(crate) from: Vec<Arrival>,
    /// Load: of each owner's block, the highest number of a write before, as announced so far.
    pub(crate) marks: Vec<u64>,
}

impl Record {
    /// Whether what ranks write is applied in the order of their numbers.
    pub(super) fn is_in_order(&self) -> bool {
        self.mine.as_ref().is_some_and(|mine| mine.rule == Rule::EndedInOrder)
    }

    /// Load: once all have announced, whether a rank's block contains all that was written before, as it comes or
    /// with the correction that is here.
    pub(crate) fn is_final(&self, rank: Rank) -> bool {
        self.from[rank.index()].writes >= self.marks[rank.index()]
    }
}
