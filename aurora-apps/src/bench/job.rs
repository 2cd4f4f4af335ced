//! What can be asked for: an operation, and implementations of it to compare.

use crate::implementation::{Implementation, Offer};
use std::time::Duration;

/// An element as large as a line of a cache.
pub type Line = [u64; 8];

/// An operation between ranks. Every rank must ask for the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Every rank gets all of a vector.
    ReadCache {
        /// Its size.
        bytes: usize,
        /// How much after the others the last rank begins.
        late: Option<Duration>,
    },
    /// Every rank has a range of 32-bit keys for each, and gets those for itself from all.
    Exchange {
        /// How many keys all ranks have together.
        keys: usize,
    },
    /// Every other rank's bytes reach rank 0.
    Gather {
        /// So many from each.
        bytes: usize,
        /// Who acts.
        by: By,
    },
    /// Rank 0 reads 8 bytes of rank 1's.
    Get {
        /// The work of rank 1 meanwhile.
        target: Target,
    },
    /// Rank 0 writes 8 bytes of rank 1's, and knows that they are there.
    Put {
        /// The work of rank 1 meanwhile.
        target: Target,
    },
    /// Rank 0 adds 1 to a counter of rank 1's.
    FetchAdd {
        /// Instead, all ranks take tasks by a counter of rank 0's.
        tasks: bool,
    },
    /// All ranks add to a scalar, and read what that comes to.
    ScalarSum,
    /// Every rank accesses elements of its own, one after the other.
    Local {
        /// In one way, or in all in turns.
        access: Option<Access>,
    },
    /// All ranks wait for each other.
    Barrier,
    /// Every rank has the sums of what all ranks have.
    AllReduce {
        /// 64-bit values of each rank.
        values: usize,
    },
    /// Bytes go from rank 0 to rank 1.
    Stream {
        /// How many.
        bytes: usize,
    },
    /// Rank 0 copies a block of rank 1's to memory of its own.
    Copy {
        /// How many bytes.
        bytes: usize,
        /// The work of rank 1 meanwhile.
        target: Target,
        /// In one way, or in all in turns.
        way: Option<Way>,
    },
    /// Every rank adds 1 to random elements of a table that lies over all ranks.
    Updates {
        /// Its 64-bit elements.
        table: usize,
        /// How many updates each rank makes.
        updates: usize,
    },
    /// Every rank reads random elements of a table that lies over all ranks.
    Reads {
        /// Its 64-bit elements.
        table: usize,
        /// How many each rank reads.
        reads: usize,
        /// How many at once.
        batch: usize,
    },
    /// Every rank touches memory for the first time.
    FirstTouch {
        /// How much.
        bytes: usize,
        /// Of one kind, or of all in turns.
        memory: Option<Fresh>,
    },
}

/// A kind of fresh memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fresh {
    /// Anonymous memory.
    Anonymous,
    /// Anonymous memory for which huge pages are advised.
    HugePages,
    /// A mapping of a memfd.
    Memfd,
    /// What the first ReadCache of a vector takes.
    FirstReadCache,
    /// None: a later ReadCache of a vector, to compare.
    SecondReadCache,
}

impl Fresh {
    /// All of them.
    pub const ALL: [Fresh; 5] =
        [Fresh::Anonymous, Fresh::HugePages, Fresh::Memfd, Fresh::FirstReadCache, Fresh::SecondReadCache];

    /// Its name in a report.
    pub fn name(self) -> &'static str {
        ["anonymous", "huge-pages", "memfd", "first-read-cache", "second-read-cache"][self as usize]
    }
}

/// A way to access an element of one's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// `at` of 8 bytes.
    At8,
    /// `at` of 64 bytes.
    At64,
    /// `put` of 8 bytes.
    Put8,
    /// `at` of 8 bytes inside an OwnerComputes.
    GuardAt,
    /// An index into an OwnerComputes.
    GuardIndex,
    /// Opening and closing an OwnerComputes, with one index into it.
    GuardOpen,
    /// An index into a slice: what there is to compare with.
    Slice,
}

impl Access {
    /// All of them.
    pub const ALL: [Access; 7] = [
        Access::At8,
        Access::At64,
        Access::Put8,
        Access::GuardAt,
        Access::GuardIndex,
        Access::GuardOpen,
        Access::Slice,
    ];

    /// Its name in a report.
    pub fn name(self) -> &'static str {
        ["at-8", "at-64", "put-8", "guard-at", "guard-index", "guard-open", "slice"][self as usize]
    }
}

/// A way to copy a block of another rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// `distmemcpy`.
    Distmemcpy,
    /// `memcpy` out of a ReadCache, which shows the block itself where ranks share memory: the baseline.
    Memcpy,
}

impl Way {
    /// All of them.
    pub const ALL: [Way; 2] = [Way::Distmemcpy, Way::Memcpy];

    /// Its name in a report.
    pub fn name(self) -> &'static str {
        ["distmemcpy", "memcpy"][self as usize]
    }
}

/// Who acts in a gather.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum By {
    /// Each sender writes into rank 0's memory.
    #[default]
    Push,
    /// Rank 0 reads from all of them.
    Pull,
}

/// The work of the target of a get, put or copy, while rank 0 is busy with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Target {
    /// Sleeps.
    #[default]
    Idle,
    /// Computes.
    Computing,
}

impl Operation {
    /// One of each, of no size: for those who ask what there is.
    pub const ALL: [Operation; 15] = [
        Operation::ReadCache { bytes: 0, late: None },
        Operation::Exchange { keys: 0 },
        Operation::Gather { bytes: 0, by: By::Push },
        Operation::Get { target: Target::Idle },
        Operation::Put { target: Target::Idle },
        Operation::FetchAdd { tasks: false },
        Operation::ScalarSum,
        Operation::Local { access: None },
        Operation::Barrier,
        Operation::AllReduce { values: 0 },
        Operation::Stream { bytes: 0 },
        Operation::Copy { bytes: 0, target: Target::Idle, way: None },
        Operation::Updates { table: 0, updates: 0 },
        Operation::Reads { table: 0, reads: 0, batch: 0 },
        Operation::FirstTouch { bytes: 0, memory: None },
    ];

    /// What was chosen beside its size, if it is not the usual.
    pub fn variant(self) -> String {
        match self {
            Operation::ReadCache { late: Some(late), .. } => format!("late-rank-ms={}", late.as_millis()),
            Operation::Gather { by: By::Pull, .. } => "pull".into(),
            Operation::Get { target: Target::Computing }
            | Operation::Put { target: Target::Computing }
            | Operation::Copy { target: Target::Computing, .. } => "target=computing".into(),
            Operation::FetchAdd { tasks: true } => format!("tasks={}", super::contestant::TASKS),
            Operation::Updates { updates, .. } => format!("updates={updates}"),
            Operation::Reads { reads, batch, .. } => format!("reads={reads} batch={batch}"),
            _ => String::new(),
        }
    }

    /// What takes turns in it, each measured by itself.
    pub fn parts(self) -> Vec<Operation> {
        match self {
            Operation::FirstTouch { bytes, memory: None } => {
                Fresh::ALL.iter().map(|&memory| Operation::FirstTouch { bytes, memory: Some(memory) }).collect()
            }
            Operation::Local { access: None } => {
                Access::ALL.iter().map(|&access| Operation::Local { access: Some(access) }).collect()
            }
            Operation::Copy { bytes, target, way: None } => {
                Way::ALL.iter().map(|&way| Operation::Copy { bytes, target, way: Some(way) }).collect()
            }
            _ => vec![self],
        }
    }

    /// The size that is reported: of the whole vector or table; of all keys; from each rank that sends; of a rank's
    /// memory.
    pub fn bytes(self) -> usize {
        self.facts().bytes
    }

    /// Whether it is so short that a repetition has many of it.
    pub fn is_short(self) -> bool {
        self.facts().is_short
    }

    fn facts(self) -> Facts {
        use Implementation::{Aurora, MpiAlltoallv, MpiCollective, MpiIsend, Tcp};
        const BULK: &[Implementation] = &[Aurora, MpiCollective, MpiIsend];
        let long = |name, bytes, by| Facts { name, bytes, by, least_ranks: 1, is_short: false };
        let short = |name, bytes, by| Facts { is_short: true, ..long(name, bytes, by) };
        let of_two = |facts| Facts { least_ranks: 2, ..facts };
        let words = |values: usize| values.saturating_mul(size_of::<u64>());
        match self {
            Operation::ReadCache { bytes, .. } => long("read-cache", bytes, BULK),
            Operation::Exchange { keys } => long("exchange", keys.saturating_mul(size_of::<u32>()), BULK),
            Operation::Gather { bytes, .. } => of_two(long("gather", bytes, BULK)),
            Operation::Get { .. } => of_two(short("get", words(1), &[Aurora, MpiIsend])),
            Operation::Put { .. } => of_two(short("put", words(1), &[Aurora, MpiIsend])),
            Operation::FetchAdd { tasks: false } => of_two(short("fetch-add", words(1), &[Aurora])),
            Operation::FetchAdd { tasks: true } => long("fetch-add", words(1), &[Aurora]),
            Operation::ScalarSum => short("scalar-sum", words(1), &[Aurora]),
            Operation::Local { access: Some(Access::At64) } => short("local", size_of::<Line>(), &[Aurora]),
            Operation::Local { .. } => short("local", words(1), &[Aurora]),
            Operation::Barrier => short("barrier", 0, &[Aurora, MpiCollective]),
            Operation::AllReduce { values } => short("all-reduce", words(values), &[Aurora, MpiCollective]),
            Operation::Stream { bytes } => of_two(long("stream", bytes, &[Aurora, MpiIsend, Tcp])),
            Operation::Copy { bytes, .. } => of_two(short("copy", bytes, &[Aurora])),
            Operation::Updates { table, .. } => long("updates", words(table), &[Aurora, MpiAlltoallv]),
            Operation::Reads { table, .. } => long("reads", words(table), &[Aurora, MpiAlltoallv]),
            Operation::FirstTouch { bytes, .. } => long("first-touch", bytes, &[Aurora]),
        }
    }
}

/// What is known of an operation before it runs.
struct Facts {
    name: &'static str,
    bytes: usize,
    /// Who can carry it out.
    by: &'static [Implementation],
    least_ranks: usize,
    is_short: bool,
}

impl Offer for Operation {
    fn name(&self) -> &'static str {
        self.facts().name
    }

    fn implementations(&self) -> &'static [Implementation] {
        self.facts().by
    }

    fn least_ranks(&self, _: Implementation) -> usize {
        self.facts().least_ranks
    }
}

/// What to run. Every rank must ask for the same.
#[derive(Clone, Debug)]
pub struct Job {
    /// Which operation.
    pub operation: Operation,
    /// Who carries it out, in turns.
    pub implementations: Vec<Implementation>,
    /// How often each, each time with new data.
    pub reps: usize,
    /// What the data is made from; `None` draws a new seed.
    pub seed: Option<u64>,
    /// Damages the data at its source, to show that the verification can fail.
    pub damage: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::implementation::{Conditions, Refusal};

    fn refusal(operation: Operation, by: Implementation) -> Option<Refusal> {
        operation.refusal(by, Conditions { ranks: Some(1), under_mpirun: false })
    }

    #[test]
    fn what_there_is_not_names_what_there_is_and_one_rank_has_nobody_to_send_to() {
        let get = Operation::Get { target: Target::Idle };
        let text = refusal(get, Implementation::MpiCollective).expect("refused").to_string();
        assert_eq!(text, "get is not written that way; allowed here: aurora, mpi-isend");
        let too_few = Refusal::TooFewRanks { what: "stream", ranks: 1, needed: 2 };
        assert_eq!(refusal(Operation::Stream { bytes: 1 }, Implementation::Aurora), Some(too_few));
        assert!(refusal(get, Implementation::Aurora).is_some());
        assert_eq!(refusal(Operation::Barrier, Implementation::Aurora), None);
    }

    #[test]
    fn only_what_there_are_kinds_of_has_parts() {
        let touch = Operation::FirstTouch { bytes: 1, memory: None };
        let local = Operation::Local { access: None };
        let copy = Operation::Copy { bytes: 1, target: Target::Idle, way: None };
        let all = [(touch, Fresh::ALL.len()), (local, Access::ALL.len()), (copy, Way::ALL.len())];
        for (operation, parts) in all {
            assert_eq!(operation.parts().len(), parts);
            assert!(operation.parts().iter().all(|part| part.parts() == [*part]));
        }
        assert_eq!(Operation::Barrier.parts(), [Operation::Barrier]);
    }
}
