//! What is known of one epoch: this rank's opening, and what has arrived from the others.

use crate::epoch::{Opening, Rule};
use aurora_net::Rank;

/// What has arrived from one rank for one epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrival {
    pub(crate) opening: Option<Opening>,
    /// The rank has announced its load, ended its scope of writes, or sent its edge on entry of a halo.
    pub(crate) complete: bool,
    /// Load: the version of its block. Unless the receiver has this version, the block is sent.
    pub(crate) version: u64,
    /// Load: its block comes with its announcement, and has a place here.
    pub(crate) coming: bool,
    /// Load: the transfer of its announcement is complete.
    pub(crate) arrived: bool,
    /// Load: its block came with its announcement. Scalar: the rank has entered the scope.
    pub(crate) came: bool,
    /// Load: its block lies in memory that its node shares, and is not sent to its node peers.
    pub(crate) at_home: bool,
    /// Load: the number of other ranks' writes that its block contains.
    pub(crate) writes: u64,
    /// Load: its correction, applied when the load completes: the new version, and a batch.
    pub(crate) correction: Option<(u64, Vec<u8>)>,
    /// Load: it has too many write marks for its announcement; they come in a list of their own.
    pub(crate) list_follows: bool,
    /// Load: that list has arrived.
    pub(crate) list_came: bool,
    /// Scopes of writes: batches that it says it has sent to this rank.
    pub(crate) batches: u64,
    /// Scopes of writes: batches of it that this rank has applied.
    pub(crate) applied: u64,
}

impl Arrival {
    pub(crate) fn final_version(&self) -> u64 {
        self.correction.as_ref().map_or(self.version, |(version, _)| *version)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) mine: Option<Opening>,
    /// This rank has announced or ended its part.
    pub(crate) mine_complete: bool,
    pub(crate) from: Vec<Arrival>,
    /// Load: for each owner the highest write mark announced so far.
    pub(crate) marks: Vec<u64>,
}

impl Record {
    pub(super) fn is_in_order(&self) -> bool {
        self.mine.as_ref().is_some_and(|mine| mine.rule == Rule::EndedInOrder)
    }

    /// Load: once all ranks have announced, whether a rank's block, with its correction, contains all earlier writes.
    pub(crate) fn is_final(&self, rank: Rank) -> bool {
        self.from[rank.index()].writes >= self.marks[rank.index()]
    }
}
