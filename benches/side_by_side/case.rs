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
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Those of a group are shown together.
    pub group: &'static str,
    /// How large; empty where there is no size to choose.
    pub size: &'static str,
    /// What an iteration does.
    pub work: Work,
}

/// What an iteration does.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// An operation.
    Operation(Operation),
    /// A load, together with one full read of it by every rank.
    WithRead(Operation),
    /// Something in a scope of Aurora's.
    Scope(Scope),
    /// A program with so many rows of a matrix, or keys.
    Program(Program, usize),
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
#[derive(Clone, Copy, Debug)]
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
        case("read_cache", "64KiB-and-read", Work::WithRead(load(64 << 10))),
        operation("read_cache", "4MiB", load(4 << 20)),
        case("read_cache", "4MiB-and-read", Work::WithRead(load(4 << 20))),
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
        case("mm2", "704x704", Work::Program(Program("mm2"), 704)),
        case("psrs", "1M-keys", Work::Program(Program("psrs"), 1_000_000)),
    ];
    let local = Access::ALL.map(|access| operation("local", access.name(), Operation::Local { access: Some(access) }));
    cases.extend(local);
    cases.push(case("local", "gather-open", Work::Scope(Scope::GatherOpen)));
    cases
}

/// All cases by all who can carry them out on so many ranks, side by side.
pub fn variants(ranks: usize) -> Vec<Variant> {
    let of = |case: Case| case.implementations(ranks).into_iter().map(move |by| Variant { case, by, ranks });
    cases().into_iter().flat_map(of).collect()
}

impl Case {
    fn implementations(self, ranks: usize) -> Vec<Implementation> {
        let offer: &dyn Offer = match &self.work {
            Work::Operation(operation) | Work::WithRead(operation) => operation,
            Work::Program(program, _) => program,
            Work::Scope(_) => return vec![Implementation::Aurora],
        };
        // A program element by element takes minutes; one rank alone is measured with every repetition of the others.
        let is_slow = |by: &Implementation| matches!(by, Implementation::Naive | Implementation::Sequential);
        let is_meant = |by: &Implementation| !is_slow(by) && offer.least_ranks(*by) <= ranks;
        offer.implementations().iter().copied().filter(is_meant).collect()
    }

    /// What an iteration on `ranks` ranks has to do with, if it is more than one thing.
    pub fn amount(self, ranks: usize) -> Option<Amount> {
        Some(match self.work {
            Work::Operation(Operation::Updates { updates: places, .. } | Operation::Reads { reads: places, .. }) => {
                Amount::Elements(places * ranks)
            }
            Work::Operation(load @ (Operation::ReadCache { .. } | Operation::Exchange { .. }))
            | Work::WithRead(load) => Amount::Bytes(load.bytes()),
            Work::Scope(Scope::GatherRead | Scope::GatherIter) => Amount::Elements(PLACES * ranks),
            Work::Scope(Scope::PutInOrder) => Amount::Elements(TABLE),
            Work::Program(Program("psrs"), keys) => Amount::Elements(keys),
            Work::Operation(_) | Work::Scope(_) | Work::Program(..) => return None,
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
        assert_eq!(BTreeSet::from_iter(&ids).len(), ids.len(), "{ids:?}");
        // What would be two words of a line between the driver and its job.
        assert!(ids.iter().all(|id| !id.contains(char::is_whitespace)), "{ids:?}");
    }

    #[test]
    fn cases_of_a_group_stand_together_and_aurora_comes_first_with_others_beside_it() {
        for case in cases() {
            let by = case.implementations(2);
            assert_eq!(by[0], Implementation::Aurora, "{case:?}");
            let alone = case.group == "local" || matches!(case.work, Work::Scope(_));
            assert_eq!(by.iter().any(|by| by.is_mpi()), !alone, "{case:?}");
            assert!(!by.contains(&Implementation::Naive), "{case:?}");
        }
        let mut groups: Vec<_> = cases().iter().map(|case| case.group).collect();
        groups.dedup();
        let all = ["read_cache", "exchange", "get_put", "updates", "reads", "barrier", "all_reduce", "mm2", "psrs"];
        assert_eq!(groups, [&all[..], &["local"]].concat());
    }

    #[test]
    fn one_rank_has_nobody_to_ask() {
        let ids = ids(1);
        assert!(ids.contains(&"read_cache/4MiB/1ranks/aurora".to_string()));
        assert!(!ids.iter().any(|id| id.starts_with("get_put/")), "{ids:?}");
    }

    #[test]
    fn all_ranks_places_count() {
        let amount = |group| cases().iter().find(|case| case.group == group).and_then(|case| case.amount(3));
        assert_eq!(amount("updates"), Some(Amount::Elements(3_000_000)));
        assert_eq!(
            (amount("exchange"), amount("psrs")),
            (Some(Amount::Bytes(64 << 10)), Some(Amount::Elements(1_000_000)))
        );
    }
}
