//! The record of one epoch: this rank's opening, and the messages that have arrived from other ranks.

use crate::epoch::{Disagreement, Opening, Rule};
use crate::race::Time;
use aurora_net::Rank;
use serde::{Deserialize, Serialize};

/// The data about a rank's block in its announcement of a load.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(crate) struct Announced {
    /// The block's version. Unless the receiver has this version, the block is sent.
    pub(crate) version: u64,
    /// The block lies in memory that its node shares, and is not sent to its node peers.
    pub(crate) at_home: bool,
    /// The number of other ranks' writes that the block contains.
    pub(crate) writes: u64,
    /// The rank's write marks, by owners.
    pub(crate) marks: Vec<(u32, u64)>,
    /// There are too many write marks for the announcement; they travel in a list of their own.
    pub(crate) list_follows: bool,
    /// Checking mode: the time that the rank releases.
    pub(crate) time: Option<Time>,
}

/// The messages that have arrived from one rank for one epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrival {
    pub(crate) opening: Option<Opening>,
    /// The rank has announced its load, ended its scope of writes, or sent its edge on entry of a halo.
    pub(crate) complete: bool,
    /// Load: its announcement; with a correction, the number of writes is that of the correction.
    pub(crate) said: Announced,
    /// Load: its block comes with its announcement, and has a place here.
    pub(crate) coming: bool,
    /// Load: the transfer of its announcement is complete.
    pub(crate) arrived: bool,
    /// Load: its block came with its announcement. Scalar: the rank has entered the scope.
    pub(crate) came: bool,
    /// Load: its correction, applied when the load completes: the new version, and a batch.
    pub(crate) correction: Option<(u64, Vec<u8>)>,
    /// Load: the list of its write marks has arrived.
    pub(crate) list_came: bool,
    /// Scopes of writes: batches that it says it has sent to this rank.
    pub(crate) batches: u64,
    /// Scopes of writes: batches of it that this rank has applied.
    pub(crate) applied: u64,
}

impl Arrival {
    pub(crate) fn final_version(&self) -> u64 {
        self.correction.as_ref().map_or(self.said.version, |(version, _)| *version)
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
    /// Fails with the first rank whose opening differs.
    pub(super) fn all_agree_with(&self, opening: &Opening) -> Result<(), Disagreement> {
        let openings =
            self.from.iter().enumerate().filter_map(|(rank, arrival)| Some((rank, arrival.opening.as_ref()?)));
        let other = openings.into_iter().find(|(_, theirs)| !theirs.agrees_with(opening));
        other.map_or(Ok(()), |(rank, theirs)| Err((Rank::new(rank), Box::new(theirs.clone()))))
    }

    pub(super) fn is_in_order(&self) -> bool {
        self.mine.as_ref().is_some_and(|mine| mine.rule == Rule::EndedInOrder)
    }

    /// Load: true if a rank's block, with its correction, contains all earlier writes. Call it once all ranks have
    /// announced the load.
    pub(crate) fn is_final(&self, rank: Rank) -> bool {
        self.from[rank.index()].said.writes >= self.marks[rank.index()]
    }
}
