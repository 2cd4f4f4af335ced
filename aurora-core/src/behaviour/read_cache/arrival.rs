//! The messages of other ranks for a load.

use super::cache::LOADS;
use crate::ids::Epoch;
use crate::race::Time;
use crate::scope::{Ledger, Record};
use crate::vector::machine::Vector;
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

/// The messages that have arrived from one rank for one load. The rank's part is complete once its announcement and
/// its list of write marks are here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loading {
    /// Its announcement. With a correction, the number of writes is that of the correction.
    pub(crate) said: Announced,
    pub(super) is_announced: bool,
    /// The list of its write marks has arrived.
    list_came: bool,
    /// Its block comes with its announcement, and has a place here.
    pub(super) coming: bool,
    /// The transfer of its announcement is complete.
    pub(super) arrived: bool,
    /// Its block came with its announcement.
    pub(super) came: bool,
    /// Its correction, applied when the load completes: the new version, and a batch.
    pub(super) correction: Option<(u64, Vec<u8>)>,
    /// The highest write mark of this rank's block, of any rank.
    marked: u64,
}

impl Loading {
    /// The rank has announced, by a barrier of its node, that its block is at home.
    pub(super) fn arrived_at_home(&mut self) {
        (self.is_announced, self.arrived, self.said.at_home) = (true, true, true);
    }

    pub(super) fn final_version(&self) -> u64 {
        self.correction.as_ref().map_or(self.said.version, |(version, _)| *version)
    }
}

impl Record<Loading> {
    /// Notes a rank's write marks, by owners.
    pub(super) fn merge_marks(&mut self, marks: &[(u32, u64)]) {
        for (owner, mark) in marks {
            if let Some(arrival) = self.from.get_mut(*owner as usize) {
                arrival.kept.marked = arrival.kept.marked.max(*mark);
            }
        }
    }

    /// Records the announcement of a rank. `coming`: its block follows, and has a place here.
    pub(super) fn announced(&mut self, rank: Rank, said: Announced, coming: bool) {
        self.merge_marks(&said.marks);
        let arrival = &mut self.from[rank.index()];
        arrival.complete = said.list_follows == arrival.kept.list_came;
        let loading = &mut arrival.kept;
        (loading.is_announced, loading.coming) = (true, coming);
        let writes = if loading.correction.is_some() { loading.said.writes } else { said.writes };
        loading.said = Announced { writes, ..said };
    }

    /// Records the list of a rank's write marks. False: malformed.
    fn list_came(&mut self, rank: Rank, marks: &[(u32, u64)]) -> bool {
        self.merge_marks(marks);
        let arrival = &mut self.from[rank.index()];
        let loading = &mut arrival.kept;
        let is_expected = !loading.list_came && (!loading.is_announced || loading.said.list_follows);
        loading.list_came = true;
        arrival.complete = loading.is_announced;
        is_expected
    }

    /// True if a rank's block, with its correction, contains all earlier writes. Call it once all ranks have announced
    /// the load.
    pub(super) fn is_final(&self, rank: Rank) -> bool {
        let loading = &self.from[rank.index()].kept;
        loading.said.writes >= loading.marked
    }
}

impl Ledger<Loading> {
    /// The ranks whose blocks have not arrived, or lack earlier writes.
    pub(crate) fn incomplete_blocks(&self, epoch: Epoch) -> impl Iterator<Item = Rank> + '_ {
        let record = self.find(epoch);
        self.others().filter(move |rank| {
            record.is_none_or(|record| !record.from[rank.index()].kept.arrived || !record.is_final(*rank))
        })
    }

    /// The number of loads for which the list of a rank's write marks is here before its announcement.
    fn lists_ahead(&self, of: Rank) -> usize {
        let loading = self.records().map(|record| &record.from[of.index()].kept);
        loading.filter(|loading| loading.list_came && !loading.is_announced).count()
    }
}

impl Vector {
    /// Records the list of a rank's write marks, which may arrive before or after its announcement. False: malformed.
    pub(super) fn list_came(&mut self, from: Rank, epoch: Epoch, marks: &[(u32, u64)]) -> bool {
        let ledger = &mut self.scopes.ledger;
        if ledger.is_settled(epoch) {
            // This rank has opened a different scope: the announcement will report the mismatch.
            return true;
        }
        if ledger.find(epoch).is_none() && ledger.lists_ahead(from) >= LOADS {
            return false;
        }
        ledger.record(epoch).list_came(from, marks)
    }

    /// The number of writes to this rank's block that some rank has announced for a load.
    pub(crate) fn load_marks(&self, epoch: Epoch) -> u64 {
        let ledger = &self.scopes.ledger;
        ledger.find(epoch).map_or(0, |record| record.from[ledger.me().index()].kept.marked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ledger of rank 0 of two, which has mentioned epoch 1.
    fn ledger() -> Ledger<Loading> {
        let mut ledger = Ledger::new(Rank::new(0), 2);
        ledger.record(1);
        ledger
    }

    #[test]
    fn of_the_marks_of_several_ranks_the_highest_counts() {
        let mut ledger = ledger();
        let record = ledger.record(1);
        record.merge_marks(&[(1, 7), (0, 2)]);
        record.merge_marks(&[(1, 5), (9, 1)]);
        assert_eq!([0, 1].map(|rank| record.from[rank].kept.marked), [2, 7]);
        assert!(!record.is_final(Rank::new(1)));
        record.announced(Rank::new(1), Announced { writes: 7, ..Announced::default() }, false);
        assert!(record.is_final(Rank::new(1)));
    }

    #[test]
    fn a_part_is_complete_with_its_list_in_either_order() {
        let (other, said) = (Rank::new(1), |list_follows| Announced { list_follows, ..Announced::default() });
        let is_complete = |ledger: &Ledger<Loading>| ledger.find(1).expect("mentioned").from[1].complete;
        let mut ledger = ledger();
        ledger.record(1).announced(other, said(true), false);
        assert!(!is_complete(&ledger));
        assert!(ledger.record(1).list_came(other, &[]) && is_complete(&ledger));
        assert!(!ledger.record(1).list_came(other, &[]), "a second list");
        ledger = self::ledger();
        assert!(ledger.record(1).list_came(other, &[]) && !is_complete(&ledger) && ledger.lists_ahead(other) == 1);
        ledger.record(1).announced(other, said(true), false);
        assert!(is_complete(&ledger) && ledger.lists_ahead(other) == 0);
        ledger = self::ledger();
        ledger.record(1).announced(other, said(false), false);
        assert!(is_complete(&ledger) && !ledger.record(1).list_came(other, &[]), "no list follows");
    }
}
