//! The memory that all ranks request at the same moment. Each rank of a node alone would see the same memory free. So
//! a [`Demand`] travels with a barrier: after it all ranks know the requests to each pool and decide alike.

use super::available::Pool;
use crate::error::MemoryLimit;
use crate::{Error, ObjectName, Site};
use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bytes that ranks request, by the pools that they draw from.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub(crate) struct Demand(BTreeMap<u64, Asked>);

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Asked {
    limit: MemoryLimit,
    available: usize,
    by: BTreeMap<Rank, usize>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Shortage {
    pub(crate) asked: usize,
    /// All bytes requested from the pool at that moment, by this rank and others.
    pub(crate) together: usize,
    pub(crate) available: usize,
    pub(crate) limit: MemoryLimit,
}

impl Demand {
    pub(crate) fn new(rank: Rank, bytes: usize, pools: Vec<Pool>) -> Self {
        let asked =
            |Pool { id, limit, available }| (id, Asked { limit, available, by: BTreeMap::from([(rank, bytes)]) });
        Demand(pools.into_iter().filter(|_| bytes > 0).map(asked).collect())
    }

    /// Adds the requests of other ranks. Requests may be added several times, in any order.
    pub(crate) fn merge(&mut self, other: Demand) {
        for (id, theirs) in other.0 {
            match self.0.get_mut(&id) {
                None => drop(self.0.insert(id, theirs)),
                Some(mine) => {
                    mine.available = mine.available.min(theirs.available);
                    mine.limit = mine.limit.clone().min(theirs.limit);
                    mine.by.extend(theirs.by);
                }
            }
        }
    }

    /// The pool that lacks most, and the rank that requests most of it.
    pub(crate) fn shortage(&self) -> Option<(Rank, Shortage)> {
        let missing = |asked: &Asked| asked.together().checked_sub(asked.available).filter(|missing| *missing > 0);
        let pool = self.0.values().filter(|asked| missing(asked).is_some()).max_by_key(|asked| missing(asked))?;
        let (rank, asked) = pool.by.iter().max_by_key(|(rank, bytes)| (**bytes, std::cmp::Reverse(**rank)))?;
        let Asked { limit, available, .. } = pool.clone();
        Some((*rank, Shortage { asked: *asked, together: pool.together(), available, limit }))
    }
}

impl Asked {
    fn together(&self) -> usize {
        self.by.values().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }
}

impl Shortage {
    pub(crate) fn error(self, rank: Rank, purpose: &str, object: ObjectName, site: &Site) -> Error {
        let Shortage { asked, together, available, limit } = self;
        let (purpose, object, site) = (purpose.into(), Box::new(object), site.clone());
        Error::OutOfMemory { rank, purpose, object, asked, together, available, limit, site }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pool(id: u64, available: usize) -> Pool {
        Pool { id, limit: MemoryLimit::ControlGroup(format!("/{id}")), available }
    }

    fn joined(demands: &[Demand]) -> Demand {
        let mut all = Demand::default();
        demands.iter().for_each(|demand| all.merge(demand.clone()));
        all
    }

    #[test]
    fn each_of_them_would_fit_alone() {
        let demand = |rank: usize| Demand::new(Rank::new(rank), 40, vec![pool(1, 100)]);
        assert_eq!(joined(&[demand(0), demand(1)]).shortage(), None);
        let (rank, shortage) = joined(&[demand(0), demand(1), demand(2)]).shortage().expect("120 of 100");
        assert_eq!((rank.index(), shortage.asked, shortage.together, shortage.available), (0, 40, 120, 100));
    }

    #[test]
    fn ranks_of_other_nodes_do_not_count() {
        let demand = |rank: usize| Demand::new(Rank::new(rank), 90, vec![pool(rank as u64, 100)]);
        assert_eq!(joined(&[demand(0), demand(1), demand(2)]).shortage(), None);
    }

    #[test]
    fn tasks_have_groups_of_their_own_inside_of_one_of_the_job() {
        let demand =
            |rank: usize, bytes| Demand::new(Rank::new(rank), bytes, vec![pool(rank as u64 + 10, 60), pool(1, 100)]);
        assert_eq!(joined(&[demand(0, 50), demand(1, 50)]).shortage(), None);
        let shortage = |a, b| joined(&[demand(0, a), demand(1, b)]).shortage().map(|(rank, s)| (rank.index(), s.limit));
        assert_eq!(shortage(10, 70), Some((1, MemoryLimit::ControlGroup("/11".into()))));
        assert_eq!(shortage(50, 55), Some((1, MemoryLimit::ControlGroup("/1".into()))));
        assert_eq!(shortage(0, 61), Some((1, MemoryLimit::ControlGroup("/11".into()))));
    }

    proptest! {
        /// As a barrier merges them: sets that overlap, in an order that differs from rank to rank.
        #[test]
        fn all_come_to_the_same_verdict(
            asks in prop::collection::vec((0usize..100, 0u64..3, 0usize..200), 1..12),
            order in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
        ) {
            let demands: Vec<_> = asks
                .iter()
                .enumerate()
                .map(|(rank, (bytes, id, available))| Demand::new(Rank::new(rank), *bytes, vec![pool(*id, *available)]))
                .collect();
            let again = order.iter().map(|index| demands[index.index(demands.len())].clone());
            let mixed: Vec<_> = again.chain(demands.iter().cloned()).collect();
            prop_assert_eq!(joined(&mixed), joined(&demands));
        }
    }
}
