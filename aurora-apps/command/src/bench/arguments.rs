//! The command line of `aurora bench`.

use super::check_cost::CheckCostArguments;
use crate::arguments::WorldArguments;
use aurora_apps::bench::{By, Job, Operation, Target};
use aurora_apps::implementation::Implementation;
use aurora_apps::job::IMPLEMENTATIONS;
use aurora_apps::values::{bytes_or_none, number};
use clap::{Args, Subcommand};
use std::time::Duration;

#[derive(Subcommand, Debug)]
pub enum BenchCommand {
    #[command(flatten)]
    Operation(OperationCommand),
    /// Run each application with and without AURORA_CHECK=1, and show the cost of the race detector. A race is an error
    CheckCost(CheckCostArguments),
}

#[derive(Subcommand, Debug)]
pub enum OperationCommand {
    /// Each rank receives the whole of a vector (an allgather)
    ReadCache {
        /// Size of the whole vector, such as 1000000, 10M or 2GiB [default: 704 x 704 32-bit numbers]
        #[arg(long, value_name = "B", default_value_t = 704 * 704 * 4, hide_default_value = true, value_parser = bytes)]
        bytes: usize,
        /// Delay of the last rank in milliseconds. Times count from its start
        #[arg(long, value_name = "MS", value_parser = number::<u32>(1..=60_000))]
        late_rank_ms: Option<u32>,
        #[command(flatten)]
        common: CommonArguments,
    },
    /// Each rank receives a range of keys from each rank (an all-to-all)
    Exchange {
        /// Number of 32-bit keys of all ranks together
        #[arg(long, value_name = "N", default_value_t = 8_000_000, value_parser = number::<usize>(1..))]
        keys: usize,
        #[command(flatten)]
        common: CommonArguments,
    },
    /// Rank 0 receives the bytes of all other ranks
    Gather {
        /// Bytes of each other rank
        #[arg(long, value_name = "B", default_value_t = 1 << 20, value_parser = bytes)]
        bytes: usize,
        /// In Aurora, ranks write into the memory of rank 0 (the default)
        #[arg(long)]
        push: bool,
        /// In Aurora, rank 0 reads the memory of all ranks
        #[arg(long, conflicts_with = "push")]
        pull: bool,
        #[command(flatten)]
        common: CommonArguments,
    },
    /// Rank 0 reads 8 bytes on rank 1
    Get(RemoteArguments),
    /// Rank 0 writes 8 bytes on rank 1
    Put(RemoteArguments),
    /// Rank 0 adds 1 to a counter on rank 1; or all ranks take tasks by a counter
    FetchAdd {
        /// All ranks take 3000 tasks of 10 us, one by one, by a counter on rank 0
        #[arg(long)]
        tasks: bool,
        #[command(flatten)]
        common: CommonArguments,
    },
    /// All ranks add to a GScalar, and read the sum
    ScalarSum(CommonArguments),
    /// Each rank accesses its own elements in several ways
    Local(CommonArguments),
    /// All ranks wait for each other
    Barrier(CommonArguments),
    /// Each rank receives the sums of the values of all ranks
    AllReduce {
        /// Bytes of 64-bit values of each rank, a multiple of 8
        #[arg(long, value_name = "B", default_value_t = 8, value_parser = words)]
        bytes: usize,
        #[command(flatten)]
        common: CommonArguments,
    },
    /// Rank 0 sends bytes to rank 1
    Stream {
        /// Number of bytes
        #[arg(long, value_name = "B", default_value_t = 64 << 20, value_parser = bytes)]
        bytes: usize,
        #[command(flatten)]
        common: CommonArguments,
    },
    /// Rank 0 copies a block of rank 1 to its own memory, in several ways
    Copy {
        /// Number of bytes
        #[arg(long, value_name = "B", default_value_t = 1 << 20, value_parser = bytes)]
        bytes: usize,
        /// State of rank 1 during the copy
        #[arg(long, value_enum, default_value_t)]
        target: Target,
        #[command(flatten)]
        common: CommonArguments,
    },
    /// Each rank adds 1 to random elements of a shared table
    Updates {
        /// Number of 64-bit elements of the table
        #[arg(long, value_name = "T", default_value_t = 1_000_000, value_parser = number::<usize>(1..))]
        table: usize,
        /// Updates of each rank
        #[arg(long, value_name = "N", default_value_t = MANY, value_parser = number::<usize>(1..=MOST_PLACES))]
        updates: usize,
        #[command(flatten)]
        common: CommonArguments,
    },
    /// Each rank reads random elements of a shared table
    Reads {
        /// Number of 64-bit elements of the table
        #[arg(long, value_name = "T", default_value_t = 1_000_000, value_parser = number::<usize>(1..))]
        table: usize,
        /// Number of elements that each rank reads
        #[arg(long, value_name = "N", default_value_t = MANY, value_parser = number::<usize>(1..=MOST_PLACES))]
        reads: usize,
        /// Number of elements in one call; with mpi-alltoallv at most 65536 [default: 65536, or all]
        #[arg(long, value_name = "N", value_parser = number::<usize>(1..=1 << 24))]
        batch: Option<usize>,
        #[command(flatten)]
        common: CommonArguments,
    },
    /// Each rank touches fresh memory of several kinds
    FirstTouch {
        /// Bytes that each rank touches
        #[arg(long, value_name = "B", default_value_t = 64 << 20, value_parser = bytes)]
        bytes: usize,
        #[command(flatten)]
        common: CommonArguments,
    },
}

#[derive(Args, Debug)]
pub struct RemoteArguments {
    /// State of rank 1 during the access
    #[arg(long, value_enum, default_value_t)]
    pub target: Target,
    #[command(flatten)]
    pub common: CommonArguments,
}

/// The default number of updates or reads by each rank.
const MANY: usize = 10_000_000;

/// Reads a number of bytes, at least one.
fn bytes(text: &str) -> Result<usize, &'static str> {
    let bytes = bytes_or_none(text).ok().filter(|bytes| *bytes > 0);
    bytes
        .ok_or("a number of bytes from 1 on, also with K, M, G or T (powers of 1024, as KiB, MiB, GiB, TiB), or as 1e6")
}

/// Reads a number of bytes that is a multiple of 8.
fn words(text: &str) -> Result<usize, &'static str> {
    let whole = bytes(text).ok().filter(|bytes| bytes.is_multiple_of(8));
    whole.ok_or("a multiple of 8 bytes, also with K, M, G or T (powers of 1024, as KiB, MiB, GiB, TiB), or as 1e6")
}

/// The maximum number of updates or reads in a repetition. More would take hours.
const MOST_PLACES: u64 = 1_000_000_000_000;

/// The default number of reads in a batch.
const BATCH: usize = 65_536;

#[derive(Args, Debug)]
pub struct CommonArguments {
    /// Number of repetitions, each with new data
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = number::<usize>(1..=1_000_000))]
    pub reps: usize,
    /// Implementation to run. Several, separated by commas, take turns in one job
    #[arg(id = IMPLEMENTATIONS, long = "impl", value_name = "IMPL", value_delimiter = ',')]
    #[arg(value_enum, default_value = "aurora")]
    pub implementations: Vec<Implementation>,
    /// Seed of the data [default: a new one each time]
    #[arg(long, value_name = "N", value_parser = number::<u64>(0..))]
    pub seed: Option<u64>,
    /// Damage the data before it is sent
    #[arg(long, hide = true)]
    pub damage: bool,
    #[command(flatten)]
    pub world: WorldArguments,
}

impl OperationCommand {
    /// Returns the arguments that every operation has.
    pub fn common(&self) -> &CommonArguments {
        match self {
            OperationCommand::Get(RemoteArguments { common, .. })
            | OperationCommand::Put(RemoteArguments { common, .. })
            | OperationCommand::ScalarSum(common)
            | OperationCommand::Local(common)
            | OperationCommand::Barrier(common)
            | OperationCommand::ReadCache { common, .. }
            | OperationCommand::Exchange { common, .. }
            | OperationCommand::Gather { common, .. }
            | OperationCommand::FetchAdd { common, .. }
            | OperationCommand::AllReduce { common, .. }
            | OperationCommand::Stream { common, .. }
            | OperationCommand::Copy { common, .. }
            | OperationCommand::Updates { common, .. }
            | OperationCommand::Reads { common, .. }
            | OperationCommand::FirstTouch { common, .. } => common,
        }
    }

    fn operation(&self) -> Operation {
        let late = |ms: u32| Duration::from_millis(ms.into());
        match *self {
            OperationCommand::ReadCache { bytes, late_rank_ms, .. } => {
                Operation::ReadCache { bytes, late: late_rank_ms.map(late) }
            }
            OperationCommand::Exchange { keys, .. } => Operation::Exchange { keys },
            OperationCommand::Gather { bytes, pull, .. } => {
                Operation::Gather { bytes, by: if pull { By::Pull } else { By::Push } }
            }
            OperationCommand::Get(RemoteArguments { target, .. }) => Operation::Get { target },
            OperationCommand::Put(RemoteArguments { target, .. }) => Operation::Put { target },
            OperationCommand::FetchAdd { tasks, .. } => Operation::FetchAdd { tasks },
            OperationCommand::ScalarSum(_) => Operation::ScalarSum,
            OperationCommand::Local(_) => Operation::Local { access: None },
            OperationCommand::Barrier(_) => Operation::Barrier,
            OperationCommand::AllReduce { bytes, .. } => Operation::AllReduce { values: bytes / size_of::<u64>() },
            OperationCommand::Stream { bytes, .. } => Operation::Stream { bytes },
            OperationCommand::Copy { bytes, target, .. } => Operation::Copy { bytes, target, way: None },
            OperationCommand::Updates { table, updates, .. } => Operation::Updates { table, updates },
            OperationCommand::Reads { table, reads, batch, .. } => {
                Operation::Reads { table, reads, batch: batch.unwrap_or(BATCH.min(reads)) }
            }
            OperationCommand::FirstTouch { bytes, .. } => Operation::FirstTouch { bytes, memory: None },
        }
    }

    /// Returns the job of the arguments.
    pub fn job(&self) -> Job {
        let common = self.common();
        Job {
            operation: self.operation(),
            implementations: common.implementations.clone(),
            reps: common.reps,
            seed: common.seed,
            damage: common.damage,
        }
    }
}
