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
        /// What rank 1 does meanwhile.
        target: Target,
    },
    /// Rank 0 writes 8 bytes of rank 1's, and knows that they are there.
    Put {
        /// What rank 1 does meanwhile.
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
        match self {
            Fresh::Anonymous => "anonymous",
            Fresh::HugePages => "huge-pages",
            Fresh::Memfd => "memfd",
            Fresh::FirstReadCache => "first-read-cache",
            Fresh::SecondReadCache => "second-read-cache",
        }
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
        match self {
            Access::At8 => "at-8",
            Access::At64 => "at-64",
            Access::Put8 => "put-8",
            Access::GuardAt => "guard-at",
            Access::GuardIndex => "guard-index",
            Access::GuardOpen => "guard-open",
            Access::Slice => "slice",
        }
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

/// What the target of a get or put does meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Target {
    /// Sleeps.
    #[default]
    Idle,
    /// Computes.
    Computing,
}

impl Operation {
    /// What was chosen beside its size, if it is not the usual.
    pub fn variant(self) -> String {
        match self {
            Operation::ReadCache { late: Some(late), .. } => format!("late-rank-ms={}", late.as_millis()),
            Operation::Gather { by: By::Pull, .. } => "pull".into(),
            Operation::Get { target: Target::Computing } | Operation::Put { target: Target::Computing } => {
                "target=computing".into()
            }
            Operation::FetchAdd { tasks: true } => format!("tasks={}", super::fetch_add::TASKS),
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
            _ => vec![self],
        }
    }

    /// The size that is reported: of the whole vector or table; of all keys; from each rank that sends; of a rank's
    /// memory.
    pub fn bytes(self) -> usize {
        match self {
            Operation::ReadCache { bytes, .. }
            | Operation::Gather { bytes, .. }
            | Operation::Stream { bytes }
            | Operation::FirstTouch { bytes, .. } => bytes,
            Operation::Updates { table, .. } | Operation::Reads { table, .. } => table.saturating_mul(size_of::<u64>()),
            Operation::Exchange { keys } => keys.saturating_mul(size_of::<u32>()),
            Operation::AllReduce { values } => values.saturating_mul(size_of::<u64>()),
            Operation::Local { access: Some(Access::At64) } => size_of::<Line>(),
            Operation::Get { .. }
            | Operation::Put { .. }
            | Operation::FetchAdd { .. }
            | Operation::ScalarSum
            | Operation::Local { .. } => size_of::<u64>(),
            Operation::Barrier => 0,
        }
    }

    /// Whether it is so short that a repetition has many of it.
    pub fn is_short(self) -> bool {
        matches!(
            self,
            Operation::Get { .. }
                | Operation::Put { .. }
                | Operation::FetchAdd { tasks: false }
                | Operation::ScalarSum
                | Operation::Local { .. }
                | Operation::Barrier
                | Operation::AllReduce { .. }
        )
    }
}

impl Offer for Operation {
    fn name(&self) -> &'static str {
        match self {
            Operation::ReadCache { .. } => "read-cache",
            Operation::Exchange { .. } => "exchange",
            Operation::Gather { .. } => "gather",
            Operation::Get { .. } => "get",
            Operation::Put { .. } => "put",
            Operation::FetchAdd { .. } => "fetch-add",
            Operation::ScalarSum => "scalar-sum",
            Operation::Local { .. } => "local",
            Operation::Barrier => "barrier",
            Operation::AllReduce { .. } => "all-reduce",
            Operation::Stream { .. } => "stream",
            Operation::Updates { .. } => "updates",
            Operation::Reads { .. } => "reads",
            Operation::FirstTouch { .. } => "first-touch",
        }
    }

    fn implementations(&self) -> &'static [Implementation] {
        use Implementation::{Aurora, MpiAlltoallv, MpiCollective, MpiIsend, Tcp};
        match self {
            Operation::ReadCache { .. } | Operation::Exchange { .. } | Operation::Gather { .. } => {
                &[Aurora, MpiCollective, MpiIsend]
            }
            Operation::Get { .. } | Operation::Put { .. } => &[Aurora, MpiIsend],
            Operation::Barrier | Operation::AllReduce { .. } => &[Aurora, MpiCollective],
            Operation::Stream { .. } => &[Aurora, MpiIsend, Tcp],
            Operation::Updates { .. } | Operation::Reads { .. } => &[Aurora, MpiAlltoallv],
            Operation::FirstTouch { .. }
            | Operation::FetchAdd { .. }
            | Operation::ScalarSum
            | Operation::Local { .. } => &[Aurora],
        }
    }

    fn lack(&self, implementation: Implementation) -> &'static str {
        match (self, implementation) {
            (_, Implementation::Tcp) => "is not what one connection can do",
            (_, Implementation::MpiIsendWhole | Implementation::MpiRing) => {
                "is nothing that is computed with as it comes"
            }
            (_, Implementation::Naive) => "is one operation, without a behaviour to leave out",
            (_, Implementation::Accumulate) => "is not measured that way",
            (_, Implementation::Sequential) => "is between ranks",
            (_, Implementation::Rayon) => "is between ranks, and rayon's threads are of one",
            (Operation::ScalarSum, _) => "is about scopes of a scalar; compare `all-reduce`",
            (Operation::FetchAdd { .. }, _) => "is one-sided, and messages would need a rank that serves them",
            (Operation::FirstTouch { .. } | Operation::Local { .. }, _) => "is about memory, and no messages",
            (Operation::Updates { .. } | Operation::Reads { .. }, _) => {
                "takes batches, which an MPI program makes by hand"
            }
            (_, Implementation::MpiAlltoallv) => "has no random places to make batches for",
            (Operation::Get { .. } | Operation::Put { .. }, _) => "takes two ranks, and MPI's collectives take all",
            (Operation::Stream { .. }, _) => "goes from one rank to one, and MPI's collectives take all",
            _ => "is one of MPI's collectives, and nobody would make it of messages",
        }
    }

    fn least_ranks(&self, _: Implementation) -> usize {
        match self {
            Operation::Gather { .. } | Operation::Stream { .. } | Operation::Get { .. } | Operation::Put { .. } => 2,
            Operation::FetchAdd { tasks: false } => 2,
            _ => 1,
        }
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

    const ALONE: Conditions = Conditions { ranks: Some(1), under_mpirun: false };

    #[test]
    fn what_there_is_not_names_what_there_is() {
        let get = Operation::Get { target: Target::Idle };
        let refusal = get.refusal(Implementation::MpiCollective, ALONE).expect("refused");
        let text = "get takes two ranks, and MPI's collectives take all; allowed here: aurora, mpi-isend";
        assert_eq!(refusal.to_string(), text);
    }

    #[test]
    fn only_what_there_are_kinds_of_has_parts() {
        let touch = Operation::FirstTouch { bytes: 1, memory: None };
        assert_eq!(touch.parts().len(), Fresh::ALL.len());
        let local = Operation::Local { access: None };
        assert_eq!(local.parts().len(), Access::ALL.len());
        assert!(touch.parts().iter().chain(&local.parts()).all(|part| part.parts() == [*part]));
        assert_eq!(Operation::Barrier.parts(), [Operation::Barrier]);
    }

    #[test]
    fn one_rank_has_nobody_to_send_to() {
        let refusal = |operation: Operation| operation.refusal(Implementation::Aurora, ALONE);
        assert_eq!(refusal(Operation::Barrier), None);
        assert!(refusal(Operation::Get { target: Target::Idle }).is_some());
        let too_few = Refusal::TooFewRanks { what: "stream", ranks: 1, needed: 2 };
        assert_eq!(refusal(Operation::Stream { bytes: 1 }), Some(too_few));
    }
}
