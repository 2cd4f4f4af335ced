//! The jobs of a bench: an operation, and implementations of it to compare.

use crate::implementation::{Implementation, Offer};
use clap::ValueEnum;
use std::time::Duration;

/// An element as large as a cache line.
pub type Line = [u64; 8];

/// An operation between ranks. Every rank must ask for the same operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Every rank gets all of a vector.
    ReadCache {
        /// The size of the vector.
        bytes: usize,
        /// The time by which the last rank begins after the other ranks.
        late: Option<Duration>,
    },
    /// Every rank has a range of 32-bit keys for each rank, and gets its own ranges from all ranks.
    Exchange {
        /// The number of keys of all ranks together.
        keys: usize,
    },
    /// Every other rank's bytes reach rank 0.
    Gather {
        /// The number of bytes from each rank.
        bytes: usize,
        /// The side that acts.
        by: By,
    },
    /// Rank 0 reads 8 bytes of rank 1.
    Get {
        /// The work of rank 1 meanwhile.
        target: Target,
    },
    /// Rank 0 writes 8 bytes of rank 1, and continues when they have arrived.
    Put {
        /// The work of rank 1 meanwhile.
        target: Target,
    },
    /// Rank 0 adds 1 to a counter of rank 1.
    FetchAdd {
        /// If true, all ranks instead take tasks by a counter of rank 0.
        tasks: bool,
    },
    /// All ranks add to a scalar, and read the sum.
    ScalarSum,
    /// Every rank accesses its own elements, one after the other.
    Local {
        /// The way of access; `None` for all of them in turns.
        access: Option<Access>,
    },
    /// All ranks wait for each other.
    Barrier,
    /// Every rank gets the sums of all ranks' values.
    AllReduce {
        /// The number of 64-bit values of each rank.
        values: usize,
    },
    /// Bytes go from rank 0 to rank 1.
    Stream {
        /// The number of bytes.
        bytes: usize,
    },
    /// Rank 0 copies a block of rank 1 to its own memory.
    Copy {
        /// The number of bytes.
        bytes: usize,
        /// The work of rank 1 meanwhile.
        target: Target,
        /// The way of copying; `None` for all of them in turns.
        way: Option<Way>,
    },
    /// Every rank adds 1 to random elements of a table that is distributed over all ranks.
    Updates {
        /// The number of 64-bit elements of the table.
        table: usize,
        /// The number of updates by each rank.
        updates: usize,
    },
    /// Every rank reads random elements of a table that is distributed over all ranks.
    Reads {
        /// The number of 64-bit elements of the table.
        table: usize,
        /// The number of reads by each rank.
        reads: usize,
        /// The number of reads in a batch.
        batch: usize,
    },
    /// Every rank touches memory for the first time.
    FirstTouch {
        /// The number of bytes.
        bytes: usize,
        /// The kind of memory; `None` for all of them in turns.
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
    /// A new vector, of which every rank fills its part.
    Vector,
    /// The memory of the first ReadCache of a vector.
    FirstReadCache,
    /// No fresh memory: a later ReadCache of a vector, for comparison.
    SecondReadCache,
}

impl Fresh {
    /// All variants.
    pub const ALL: [Fresh; 6] = [
        Fresh::Anonymous,
        Fresh::HugePages,
        Fresh::Memfd,
        Fresh::Vector,
        Fresh::FirstReadCache,
        Fresh::SecondReadCache,
    ];

    /// Returns the name in reports.
    pub fn name(self) -> &'static str {
        ["anonymous", "huge-pages", "memfd", "vector", "first-read-cache", "second-read-cache"][self as usize]
    }
}

/// A way in which a rank accesses its own element.
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
    /// An index into a slice: the baseline.
    Slice,
}

impl Access {
    /// All variants.
    pub const ALL: [Access; 7] = [
        Access::At8,
        Access::At64,
        Access::Put8,
        Access::GuardAt,
        Access::GuardIndex,
        Access::GuardOpen,
        Access::Slice,
    ];

    /// Returns the name in reports.
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
    /// All variants.
    pub const ALL: [Way; 2] = [Way::Distmemcpy, Way::Memcpy];

    /// Returns the name in reports.
    pub fn name(self) -> &'static str {
        ["distmemcpy", "memcpy"][self as usize]
    }
}

/// The side that acts in a gather.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum By {
    /// Each sender writes into rank 0's memory.
    #[default]
    Push,
    /// Rank 0 reads from each sender.
    Pull,
}

/// The work of the target of a get, put or copy while rank 0 carries out the operation.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Target {
    /// It sleeps.
    #[default]
    Idle,
    /// It computes.
    Computing,
}

impl Operation {
    /// One of each operation, of size 0, for lists of the operations.
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

    /// Returns the chosen options other than the size, or an empty text if they are the defaults.
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

    /// Returns the parts that take turns in the operation. Each part is measured by itself.
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

    /// Returns the size that is reported: of the whole vector or table, of all keys, of the data from each sending
    /// rank, or of a rank's memory.
    pub fn bytes(self) -> usize {
        self.facts().bytes
    }

    /// Returns whether the operation is so short that a repetition consists of many operations.
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

/// Facts about an operation that are known before it runs.
struct Facts {
    name: &'static str,
    bytes: usize,
    /// The implementations that exist.
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

/// The job of a bench. Every rank must ask for the same job.
#[derive(Clone, Debug)]
pub struct Job {
    /// The operation.
    pub operation: Operation,
    /// The implementations that carry it out, in turns.
    pub implementations: Vec<Implementation>,
    /// The number of repetitions by each implementation. Each repetition has new data.
    pub reps: usize,
    /// The seed of the data; `None` draws a new seed.
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
