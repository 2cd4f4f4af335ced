//! The cases to measure, their implementations, and their ids: `read_cache/4MiB/2ranks/aurora`.

use super::scope::Scope;
use aurora_apps::bench::{Access, Operation, Target};
use aurora_apps::implementation::{Implementation, Offer, Program};

/// The number of elements of the tables that are updated and read.
pub const TABLE: usize = 1_000_000;

/// The number of elements that each rank updates or reads in one iteration.
pub const PLACES: usize = 1_000_000;

/// The number of elements in one call of a read.
const BATCH: usize = 65_536;

/// The work of one iteration.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// An operation.
    Operation(Operation),
    /// A load, together with one full read of it by every rank.
    WithRead(Operation),
    /// An action in a scope of Aurora.
    Scope(Scope),
    /// A program with this number of rows of a matrix, or of keys.
    Program(Program, usize),
}

/// The amount of data of one iteration, for rates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// A number of bytes.
    Bytes(usize),
    /// A number of elements of a table, or of keys.
    Elements(usize),
}

/// A case to measure, by one implementation.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The group. The variants of a group are shown together.
    pub group: &'static str,
    /// The name within the group: `4MiB/2ranks/aurora`.
    pub name: String,
    /// The work of one iteration.
    pub work: Work,
    /// The implementation.
    pub by: Implementation,
}

impl Variant {
    /// The id: `read_cache/4MiB/2ranks/aurora`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.group, self.name)
    }
}

/// All cases, group by group: the group, the size, the work of one iteration.
fn cases() -> Vec<(&'static str, &'static str, Work)> {
    let operation = |group, size, operation| (group, size, Work::Operation(operation));
    let load = |bytes| Operation::ReadCache { bytes, late: None };
    let mut cases = vec![
        operation("read_cache", "64KiB", load(64 << 10)),
        ("read_cache", "64KiB-and-read", Work::WithRead(load(64 << 10))),
        operation("read_cache", "4MiB", load(4 << 20)),
        ("read_cache", "4MiB-and-read", Work::WithRead(load(4 << 20))),
        operation("exchange", "64KiB", Operation::Exchange { keys: 16 << 10 }),
        operation("exchange", "4MiB", Operation::Exchange { keys: 1 << 20 }),
        operation("get_put", "get-8B", Operation::Get { target: Target::Idle }),
        operation("get_put", "put-8B", Operation::Put { target: Target::Idle }),
        operation("updates", "1M-elements", Operation::Updates { table: TABLE, updates: PLACES }),
        ("updates", "1M-elements-in-order", Work::Scope(Scope::PutInOrder)),
        operation("reads", "1M-elements", Operation::Reads { table: TABLE, reads: PLACES, batch: BATCH }),
        ("reads", "1M-elements-batched-read", Work::Scope(Scope::BatchedRead)),
        ("reads", "1M-elements-batched-iter", Work::Scope(Scope::BatchedIter)),
        operation("barrier", "", Operation::Barrier),
        operation("all_reduce", "8B", Operation::AllReduce { values: 1 }),
        operation("all_reduce", "1MiB", Operation::AllReduce { values: 1 << 17 }),
        ("mm2", "704x704", Work::Program(Program("mm2"), 704)),
        ("psrs", "1M-keys", Work::Program(Program("psrs"), 1_000_000)),
    ];
    let local = Access::ALL.map(|access| operation("local", access.name(), Operation::Local { access: Some(access) }));
    cases.extend(local);
    cases.push(("local", "batched-open", Work::Scope(Scope::BatchedOpen)));
    cases
}

/// All cases by all implementations that run on `ranks` ranks, side by side. `route`: the route that the user has
/// requested for Aurora. It is a part of the names, since its figures differ from those of Aurora's own choice.
pub fn variants(ranks: usize, route: Option<&str>) -> Vec<Variant> {
    let mut variants = Vec::new();
    for (group, size, work) in cases() {
        for by in work.implementations(ranks) {
            let size = if size.is_empty() { String::new() } else { format!("{size}/") };
            let route = route.filter(|_| by.is_ours()).map_or(String::new(), |route| format!("-{route}"));
            variants.push(Variant { group, name: format!("{size}{ranks}ranks/{}{route}", by.name()), work, by });
        }
    }
    variants
}

impl Work {
    fn implementations(self, ranks: usize) -> Vec<Implementation> {
        let offer: &dyn Offer = match &self {
            Work::Operation(operation) | Work::WithRead(operation) => operation,
            Work::Program(program, _) => program,
            Work::Scope(_) => return vec![Implementation::Aurora],
        };
        // `Naive` takes minutes. `Sequential` is measured with every repetition of the other implementations.
        let is_slow = |by: &Implementation| matches!(by, Implementation::Naive | Implementation::Sequential);
        let is_meant = |by: &Implementation| !is_slow(by) && offer.least_ranks(*by) <= ranks;
        offer.implementations().iter().copied().filter(is_meant).collect()
    }

    /// The amount of data of one iteration on `ranks` ranks; `None` if a rate makes no sense.
    pub fn amount(self, ranks: usize) -> Option<Amount> {
        Some(match self {
            Work::Operation(Operation::Updates { updates: places, .. } | Operation::Reads { reads: places, .. }) => {
                Amount::Elements(places * ranks)
            }
            Work::Operation(load @ (Operation::ReadCache { .. } | Operation::Exchange { .. }))
            | Work::WithRead(load) => Amount::Bytes(load.bytes()),
            Work::Scope(Scope::BatchedRead | Scope::BatchedIter) => Amount::Elements(PLACES * ranks),
            Work::Scope(Scope::PutInOrder) => Amount::Elements(TABLE),
            Work::Program(Program("psrs"), keys) => Amount::Elements(keys),
            Work::Operation(_) | Work::Scope(_) | Work::Program(..) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn ids(ranks: usize, route: Option<&str>) -> Vec<String> {
        variants(ranks, route).iter().map(Variant::id).collect()
    }

    #[test]
    fn an_id_names_its_permutation() {
        let ids = ids(2, None);
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
        // An id is one word of a line between the driver and its job.
        assert!(ids.iter().all(|id| !id.contains(char::is_whitespace)), "{ids:?}");
    }

    #[test]
    fn cases_of_a_group_stand_together_and_aurora_comes_first_with_others_beside_it() {
        for (group, _, work) in cases() {
            let by = work.implementations(2);
            assert_eq!(by[0], Implementation::Aurora, "{work:?}");
            let alone = group == "local" || matches!(work, Work::Scope(_));
            assert_eq!(by.iter().any(|by| by.is_mpi()), !alone, "{work:?}");
            assert!(!by.contains(&Implementation::Naive), "{work:?}");
        }
        let mut groups: Vec<_> = cases().iter().map(|(group, ..)| *group).collect();
        groups.dedup();
        let all = ["read_cache", "exchange", "get_put", "updates", "reads", "barrier", "all_reduce", "mm2", "psrs"];
        assert_eq!(groups, [&all[..], &["local"]].concat());
    }

    #[test]
    fn one_rank_has_nobody_to_ask_and_a_route_is_part_of_the_name_of_what_takes_it() {
        let (alone, by_udp) = (ids(1, None), ids(2, Some("udp")));
        assert!(alone.contains(&"read_cache/4MiB/1ranks/aurora".into()));
        assert!(!alone.iter().any(|id| id.starts_with("get_put/")), "{alone:?}");
        for id in ["barrier/2ranks/aurora-udp", "barrier/2ranks/mpi-collective"] {
            assert!(by_udp.contains(&id.into()), "{by_udp:?}");
        }
    }

    #[test]
    fn all_ranks_places_count() {
        let amount = |of| cases().iter().find(|(group, ..)| *group == of).and_then(|(.., work)| work.amount(3));
        assert_eq!(amount("updates"), Some(Amount::Elements(3_000_000)));
        assert_eq!(
            (amount("exchange"), amount("psrs")),
            (Some(Amount::Bytes(64 << 10)), Some(Amount::Elements(1_000_000)))
        );
    }
}
