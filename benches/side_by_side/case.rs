//! What is measured, by whom, and what each of these is called: `read_cache/4MiB/2ranks/aurora`.

use super::scope::Scope;
use aurora_apps::bench::{Access, Operation, Target};
use aurora_apps::implementation::{Implementation, Offer, Program};

/// Elements of the tables that are updated and read.
pub const TABLE: usize = 1_000_000;

/// What each rank updates or reads in one iteration.
pub const PLACES: usize = 1_000_000;

/// Reads at once.
const BATCH: usize = 65_536;

/// One thing to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// Those of a group are shown together.
    pub group: &'static str,
    /// How large; empty where there is no size to choose.
    pub size: &'static str,
    /// What an iteration does.
    pub work: Work,
}

/// What an iteration does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// An operation.
    Operation(Operation),
    /// A load of so many bytes, together with one full read of them by every rank.
    LoadAndRead(usize),
    /// Something in a scope of Aurora's.
    Scope(Scope),
    /// The two-stage multiplication of matrices with so many rows.
    Mm2(usize),
    /// The sort of so many keys.
    Psrs(usize),
}

/// What an iteration has to do with, for rates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// So many bytes.
    Bytes(usize),
    /// So many places of a table, or keys.
    Elements(usize),
}

/// A case by one implementation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    /// What.
    pub case: Case,
    /// By whom.
    pub by: Implementation,
    /// On how many ranks.
    pub ranks: usize,
}

/// All that is measured, group by group.
pub fn cases() -> Vec<Case> {
    let case = |group, size, work| Case { group, size, work };
    let operation = |group, size, operation| case(group, size, Work::Operation(operation));
    let load = |bytes| Operation::ReadCache { bytes, late: None };
    let mut cases = vec![
        operation("read_cache", "64KiB", load(64 << 10)),
        case("read_cache", "64KiB-and-read", Work::LoadAndRead(64 << 10)),
        operation("read_cache", "4MiB", load(4 << 20)),
        case("read_cache", "4MiB-and-read", Work::LoadAndRead(4 << 20)),
        operation("exchange", "64KiB", Operation::Exchange { keys: 16 << 10 }),
        operation("exchange", "4MiB", Operation::Exchange { keys: 1 << 20 }),
        operation("get_put", "get-8B", Operation::Get { target: Target::Idle }),
        operation("get_put", "put-8B", Operation::Put { target: Target::Idle }),
        operation("updates", "1M-elements", Operation::Updates { table: TABLE, updates: PLACES }),
        case("updates", "1M-elements-in-order", Work::Scope(Scope::PutInOrder)),
        operation("reads", "1M-elements", Operation::Reads { table: TABLE, reads: PLACES, batch: BATCH }),
        case("reads", "1M-elements-gather-read", Work::Scope(Scope::GatherRead)),
        case("reads", "1M-elements-gather-iter", Work::Scope(Scope::GatherIter)),
        operation("barrier", "", Operation::Barrier),
        operation("all_reduce", "8B", Operation::AllReduce { values: 1 }),
        operation("all_reduce", "1MiB", Operation::AllReduce { values: 1 << 17 }),
        case("mm2", "704x704", Work::Mm2(704)),
        case("psrs", "1M-keys", Work::Psrs(1_000_000)),
    ];
    let local = Access::ALL.map(|access| operation("local", access.name(), Operation::Local { access: Some(access) }));
    cases.extend(local);
    cases.push(case("local", "gather-open", Work::Scope(Scope::GatherOpen)));
    cases
}

/// All cases by all who can carry them out on so many ranks, side by side.
pub fn variants(ranks: usize) -> Vec<Variant> {
    let of = |case: Case| case.implementations().into_iter().map(move |by| Variant { case, by, ranks });
    let has_enough = |variant: &Variant| variant.case.least_ranks(variant.by) <= ranks;
    cases().into_iter().flat_map(of).filter(has_enough).collect()
}

impl Case {
    fn implementations(self) -> Vec<Implementation> {
        let offered = match self.work {
            Work::Operation(operation) => operation.implementations(),
            Work::LoadAndRead(bytes) => Operation::ReadCache { bytes, late: None }.implementations(),
            Work::Scope(_) => &[Implementation::Aurora],
            Work::Mm2(_) => Program("mm2").implementations(),
            Work::Psrs(_) => Program("psrs").implementations(),
        };
        // A program element by element takes minutes; one rank alone is measured with every repetition of the others.
        let beside = |by: &Implementation| !matches!(by, Implementation::Naive | Implementation::Sequential);
        offered.iter().copied().filter(beside).collect()
    }

    fn least_ranks(self, by: Implementation) -> usize {
        match self.work {
            Work::Operation(operation) => operation.least_ranks(by),
            Work::LoadAndRead(_) | Work::Scope(_) | Work::Mm2(_) | Work::Psrs(_) => 1,
        }
    }

    /// What an iteration on `ranks` ranks has to do with, if it is more than one thing.
    pub fn amount(self, ranks: usize) -> Option<Amount> {
        Some(match self.work {
            Work::LoadAndRead(bytes) | Work::Operation(Operation::ReadCache { bytes, .. }) => Amount::Bytes(bytes),
            Work::Operation(exchange @ Operation::Exchange { .. }) => Amount::Bytes(exchange.bytes()),
            Work::Operation(Operation::Updates { updates: places, .. } | Operation::Reads { reads: places, .. }) => {
                Amount::Elements(places * ranks)
            }
            Work::Scope(Scope::GatherRead | Scope::GatherIter) => Amount::Elements(PLACES * ranks),
            Work::Scope(Scope::PutInOrder) => Amount::Elements(TABLE),
            Work::Psrs(keys) => Amount::Elements(keys),
            Work::Operation(_) | Work::Scope(_) | Work::Mm2(_) => return None,
        })
    }
}

impl Variant {
    /// What it is called within its group: `4MiB/2ranks/aurora`.
    pub fn name(&self) -> String {
        let Variant { case, by, ranks } = self;
        let size = if case.size.is_empty() { String::new() } else { format!("{}/", case.size) };
        format!("{size}{ranks}ranks/{}", by.name())
    }

    /// What it is called: `read_cache/4MiB/2ranks/aurora`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.case.group, self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn ids(ranks: usize) -> Vec<String> {
        variants(ranks).iter().map(Variant::id).collect()
    }

    #[test]
    fn an_id_names_its_permutation() {
        let ids = ids(2);
        for id in [
            "read_cache/4MiB/2ranks/aurora",
            "read_cache/4MiB/2ranks/mpi-collective",
            "read_cache/4MiB/2ranks/mpi-isend",
            "read_cache/4MiB-and-read/2ranks/aurora",
            "exchange/64KiB/2ranks/mpi-isend",
            "get_put/put-8B/2ranks/mpi-isend",
            "updates/1M-elements/2ranks/mpi-alltoallv",
            "reads/1M-elements/2ranks/aurora",
            "barrier/2ranks/mpi-collective",
            "mm2/704x704/2ranks/mpi-collective",
            "psrs/1M-keys/2ranks/aurora",
            "local/guard-open/2ranks/aurora",
        ] {
            assert!(ids.iter().any(|known| known == id), "{id} is not in {ids:?}");
        }
        let unique: BTreeSet<_> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len(), "{ids:?}");
        // What would be two words of a line between the driver and its job.
        assert!(ids.iter().all(|id| !id.contains(char::is_whitespace)), "{ids:?}");
    }

    #[test]
    fn aurora_comes_first_and_has_others_beside_it() {
        for case in cases() {
            let by = case.implementations();
            assert_eq!(by[0], Implementation::Aurora, "{case:?}");
            let alone = case.group == "local" || matches!(case.work, Work::Scope(_));
            assert_eq!(by.iter().any(|by| by.is_mpi()), !alone, "{case:?}");
            assert!(!by.contains(&Implementation::Naive), "{case:?}");
        }
    }

    #[test]
    fn the_cases_of_a_group_stand_together() {
        let mut groups: Vec<_> = cases().iter().map(|case| case.group).collect();
        groups.dedup();
        let unique: BTreeSet<_> = groups.iter().collect();
        assert_eq!(unique.len(), groups.len(), "{groups:?}");
        for group in ["read_cache", "exchange", "get_put", "updates", "reads", "barrier", "mm2", "psrs"] {
            assert!(groups.contains(&group), "{group}");
        }
    }

    #[test]
    fn one_rank_has_nobody_to_ask() {
        let ids = ids(1);
        assert!(ids.contains(&"read_cache/4MiB/1ranks/aurora".to_string()));
        assert!(!ids.iter().any(|id| id.starts_with("get_put/")), "{ids:?}");
    }

    #[test]
    fn all_ranks_places_count() {
        let updates = cases().into_iter().find(|case| case.group == "updates").expect("a case");
        assert_eq!(updates.amount(3), Some(Amount::Elements(3_000_000)));
        let exchange = cases().into_iter().find(|case| case.group == "exchange").expect("a case");
        assert_eq!(exchange.amount(3), Some(Amount::Bytes(64 << 10)));
    }
}
