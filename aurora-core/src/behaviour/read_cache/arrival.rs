//! The messages of other ranks for a load.

use crate::ids::Epoch;
use crate::race::Time;
use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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

/// The messages that have arrived from one rank for one load. The rank's part is complete once its announcement and
/// its list of write marks are here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loading {
    /// Its announcement. With a correction, the number of writes is that of the correction.
    pub(crate) announced: Announced,
    pub(super) is_announced: bool,
    /// The list of its write marks has arrived.
    list_arrived: bool,
    /// Its block comes with its announcement, and has a place here.
    pub(super) coming: bool,
    /// The transfer of its announcement is complete.
    pub(super) arrived: bool,
    /// Its block came with its announcement.
    pub(super) pushed: bool,
    /// Its correction, applied when the load completes: the new version, and a batch.
    pub(super) correction: Option<(u64, Vec<u8>)>,
    /// The highest write mark of this rank's block, of any rank.
    marked: u64,
}

impl Loading {
    /// The rank has announced, by a barrier of its node, that its block is at home.
    pub(super) fn arrived_at_home(&mut self) {
        (self.is_announced, self.arrived, self.announced.at_home) = (true, true, true);
    }

    pub(super) fn final_version(&self) -> u64 {
        self.correction.as_ref().map_or(self.announced.version, |(version, _)| *version)
    }

    /// Records the announcement of a rank. `coming`: its block follows, and has a place here. True: the rank's part is
    /// complete.
    pub(super) fn record(&mut self, announced: Announced, coming: bool) -> bool {
        let is_complete = announced.list_follows == self.list_arrived;
        (self.is_announced, self.coming) = (true, coming);
        let writes = if self.correction.is_some() { self.announced.writes } else { announced.writes };
        self.announced = Announced { writes, ..announced };
        is_complete
    }

    /// Records that the list of the rank's write marks is here. False: malformed.
    pub(super) fn list_arrived(&mut self) -> bool {
        let is_expected = !self.list_arrived && (!self.is_announced || self.announced.list_follows);
        self.list_arrived = true;
        is_expected
    }
}

/// The messages that have arrived for the loads under way, by loads and ranks.
#[derive(Debug)]
pub(crate) struct Arrivals {
    ranks: usize,
    loads: BTreeMap<Epoch, Vec<Loading>>,
}

impl Arrivals {
    pub(super) fn new(ranks: usize) -> Self {
        Arrivals { ranks, loads: BTreeMap::new() }
    }

    pub(super) fn has(&self, epoch: Epoch) -> bool {
        self.loads.contains_key(&epoch)
    }

    pub(super) fn find(&self, epoch: Epoch, rank: Rank) -> Option<&Loading> {
        self.loads.get(&epoch).map(|ranks| &ranks[rank.index()])
    }

    /// The messages of a rank for a load, made on first mention.
    pub(super) fn of(&mut self, epoch: Epoch, rank: Rank) -> &mut Loading {
        &mut self.all(epoch)[rank.index()]
    }

    pub(super) fn all(&mut self, epoch: Epoch) -> &mut [Loading] {
        self.loads.entry(epoch).or_insert_with(|| vec![Loading::default(); self.ranks])
    }

    pub(super) fn forget(&mut self, epoch: Epoch) {
        self.loads.remove(&epoch);
    }

    /// Notes the write marks of a rank, by owners.
    pub(super) fn merge_marks(&mut self, epoch: Epoch, marks: &[(u32, u64)]) {
        let all = self.all(epoch);
        for (owner, mark) in marks {
            if let Some(loading) = all.get_mut(*owner as usize) {
                loading.marked = loading.marked.max(*mark);
            }
        }
    }

    /// True if a rank's block, with its correction, contains all earlier writes. Call it once all ranks have announced
    /// the load.
    pub(super) fn is_final(&self, epoch: Epoch, rank: Rank) -> bool {
        self.find(epoch, rank).is_none_or(|loading| loading.announced.writes >= loading.marked)
    }

    /// The number of writes to a rank's block that some rank has announced.
    pub(super) fn marked(&self, epoch: Epoch, rank: Rank) -> u64 {
        self.find(epoch, rank).map_or(0, |loading| loading.marked)
    }

    /// Those of the other ranks whose blocks have not arrived, or lack earlier writes.
    pub(super) fn incomplete(&self, epoch: Epoch, others: impl Iterator<Item = Rank>) -> Vec<Rank> {
        let here = |rank: &Rank| self.find(epoch, *rank).is_some_and(|loading| loading.arrived);
        others.filter(|rank| !here(rank) || !self.is_final(epoch, *rank)).collect()
    }

    /// The number of loads for which the list of a rank's write marks is here before its announcement.
    pub(super) fn lists_ahead(&self, of: Rank) -> usize {
        let loading = self.loads.values().map(|ranks| &ranks[of.index()]);
        loading.filter(|loading| loading.list_arrived && !loading.is_announced).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other() -> Rank {
        Rank::new(1)
    }

    fn announce(arrivals: &mut Arrivals, announced: Announced) -> bool {
        arrivals.merge_marks(1, &announced.marks);
        arrivals.of(1, other()).record(announced, false)
    }

    #[test]
    fn of_the_marks_of_several_ranks_the_highest_counts() {
        let mut arrivals = Arrivals::new(2);
        arrivals.merge_marks(1, &[(1, 7), (0, 2)]);
        arrivals.merge_marks(1, &[(1, 5), (9, 1)]);
        assert_eq!([0, 1].map(|rank| arrivals.marked(1, Rank::new(rank))), [2, 7]);
        assert!(!arrivals.is_final(1, other()));
        announce(&mut arrivals, Announced { writes: 7, ..Announced::default() });
        assert!(arrivals.is_final(1, other()));
    }

    #[test]
    fn a_part_is_complete_with_its_list_in_either_order() {
        let announced = |list_follows| Announced { list_follows, ..Announced::default() };
        let mut arrivals = Arrivals::new(2);
        assert!(!announce(&mut arrivals, announced(true)));
        assert!(arrivals.of(1, other()).list_arrived() && arrivals.lists_ahead(other()) == 0);
        assert!(!arrivals.of(1, other()).list_arrived(), "a second list");
        arrivals = Arrivals::new(2);
        assert!(arrivals.of(1, other()).list_arrived() && arrivals.lists_ahead(other()) == 1);
        assert!(announce(&mut arrivals, announced(true)) && arrivals.lists_ahead(other()) == 0);
        arrivals = Arrivals::new(2);
        assert!(
            announce(&mut arrivals, announced(false)) && !arrivals.of(1, other()).list_arrived(),
            "no list follows"
        );
    }
}
