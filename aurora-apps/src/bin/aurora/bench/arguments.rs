//! The command line of `aurora bench`.

use crate::arguments::WorldArguments;
use crate::implementation::Implementations;
use aurora_apps::bench::{By, Job, Operation, Target};
use clap::{Args, Subcommand, ValueEnum, value_parser};
use std::time::Duration;

#[derive(Subcommand, Debug)]
pub enum BenchCommand {
    /// Every rank gets all of a vector (an allgather)
    ReadCache(ReadCacheArguments),
    /// Every rank gets a range of keys from each (an all-to-all)
    Exchange(ExchangeArguments),
    /// Every other rank's bytes reach rank 0
    Gather(GatherArguments),
    /// Rank 0 reads 8 bytes of rank 1's
    Get(RemoteArguments),
    /// Rank 0 writes 8 bytes of rank 1's
    Put(RemoteArguments),
    /// Rank 0 adds 1 to a counter of rank 1's; or all take tasks by one
    FetchAdd(FetchAddArguments),
    /// All ranks add to a GScalar, and read what that comes to
    ScalarSum(CommonArguments),
    /// Every rank accesses elements of its own in several ways
    Local(CommonArguments),
    /// All ranks wait for each other
    Barrier(CommonArguments),
    /// Every rank has the sums of all ranks' values
    AllReduce(AllReduceArguments),
    /// Bytes go from rank 0 to rank 1
    Stream(StreamArguments),
    /// Every rank adds 1 to random elements of a shared table
    Updates(UpdatesArguments),
    /// Every rank reads random elements of a shared table
    Reads(ReadsArguments),
    /// Every rank touches fresh memory of several kinds
    FirstTouch(FirstTouchArguments),
}

#[derive(Args, Debug)]
pub struct ReadCacheArguments {
    /// Size of the whole vector, such as 1000000, 10M or 2GiB [default: 704 x 704 32-bit numbers]
    #[arg(long, value_name = "B", default_value_t = 704 * 704 * 4, hide_default_value = true, value_parser = bytes)]
    pub bytes: u64,
    /// The last rank begins so many milliseconds after the others; seconds count from there
    #[arg(long, value_name = "MS", value_parser = value_parser!(u32).range(1..=60_000))]
    pub late_rank_ms: Option<u32>,
    #[command(flatten)]
    pub common: CommonArguments,
}

#[derive(Args, Debug)]
pub struct ExchangeArguments {
    /// How many 32-bit keys all ranks have together
    #[arg(long, value_name = "N", default_value_t = 8_000_000, value_parser = value_parser!(u64).range(1..))]
    pub keys: u64,
    #[command(flatten)]
    pub common: CommonArguments,
}

#[derive(Args, Debug)]
pub struct GatherArguments {
    /// How many bytes each of the other ranks has
    #[arg(long, value_name = "B", default_value_t = 1 << 20, value_parser = bytes)]
    pub bytes: u64,
    /// Aurora's senders write into rank 0's memory (the default)
    #[arg(long)]
    pub push: bool,
    /// Aurora's rank 0 reads from all of them
    #[arg(long, conflicts_with = "push")]
    pub pull: bool,
    #[command(flatten)]
    pub common: CommonArguments,
}

#[derive(Args, Debug)]
pub struct RemoteArguments {
    /// What rank 1 does meanwhile
    #[arg(long, value_enum, default_value_t)]
    pub target: TargetName,
    #[command(flatten)]
    pub common: CommonArguments,
}

#[derive(Args, Debug)]
pub struct AllReduceArguments {
    /// How many bytes of 64-bit values each rank has; a multiple of 8
    #[arg(long, value_name = "B", default_value_t = 8, value_parser = words)]
    pub bytes: u64,
    #[command(flatten)]
    pub common: CommonArguments,
}

#[derive(Args, Debug)]
pub struct FetchAddArguments {
    /// All ranks take 3000 tasks of 10 us each, one by one, by a counter of rank 0's
    #[arg(long)]
    pub tasks: bool,
    #[command(flatten)]
    pub common: CommonArguments,
}

#[derive(Args, Debug)]
pub struct StreamArguments {
    /// How many bytes
    #[arg(long, value_name = "B", default_value_t = 64 << 20, value_parser = bytes)]
    pub bytes: u64,
    #[command(flatten)]
    pub common: CommonArguments,
}

#[derive(Args, Debug)]
pub struct UpdatesArguments {
    /// How many 64-bit elements the table has
    #[arg(long, value_name = "T", default_value_t = 1_000_000, value_parser = value_parser!(u64).range(1..))]
    pub table: u64,
    /// How many updates each rank makes
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = value_parser!(u64).range(1..=MOST_PLACES))]
    pub updates: u64,
    #[command(flatten)]
    pub common: CommonArguments,
}

#[derive(Args, Debug)]
pub struct ReadsArguments {
    /// How many 64-bit elements the table has
    #[arg(long, value_name = "T", default_value_t = 1_000_000, value_parser = value_parser!(u64).range(1..))]
    pub table: u64,
    /// How many elements each rank reads
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = value_parser!(u64).range(1..=MOST_PLACES))]
    pub reads: u64,
    /// How many of them at once, by mpi-alltoallv 65536 at most [default: 65536, or all]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1 << 24))]
    pub batch: Option<u32>,
    #[command(flatten)]
    pub common: CommonArguments,
}

/// As `AURORA_CACHE_LIMIT` takes them.
fn bytes(text: &str) -> Result<u64, &'static str> {
    let bytes = aurora_core::bytes(text).filter(|bytes| *bytes > 0);
    bytes.map(|bytes| bytes as u64).ok_or("1.. bytes, alone or with K, M, G or T (also as KiB, MiB, GiB, TiB)")
}

/// The same, of whole 64-bit values.
fn words(text: &str) -> Result<u64, &'static str> {
    let whole = bytes(text).ok().filter(|bytes| bytes.is_multiple_of(8));
    whole.ok_or("a multiple of 8 bytes, alone or with K, M, G or T (also as KiB, MiB, GiB, TiB)")
}

/// More updates or reads of one repetition would take hours.
const MOST_PLACES: u64 = 1_000_000_000_000;

/// Reads in a batch.
const BATCH: u64 = 65_536;

#[derive(Args, Debug)]
pub struct FirstTouchArguments {
    /// How many bytes each rank touches
    #[arg(long, value_name = "B", default_value_t = 64 << 20, value_parser = bytes)]
    pub bytes: u64,
    #[command(flatten)]
    pub common: CommonArguments,
}

#[derive(Args, Debug)]
pub struct CommonArguments {
    /// How often to repeat it, each time with new data
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub reps: u32,
    #[command(flatten)]
    pub implementations: Implementations,
    /// Seed of the data [default: a new one each time]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Damage the data before it is sent
    #[arg(long, hide = true)]
    pub damage: bool,
    #[command(flatten)]
    pub world: WorldArguments,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TargetName {
    /// It sleeps
    #[default]
    Idle,
    /// It computes
    Computing,
}

impl From<TargetName> for Target {
    fn from(name: TargetName) -> Self {
        match name {
            TargetName::Idle => Target::Idle,
            TargetName::Computing => Target::Computing,
        }
    }
}

impl BenchCommand {
    /// What every operation has.
    pub fn common(&self) -> &CommonArguments {
        match self {
            BenchCommand::ReadCache(arguments) => &arguments.common,
            BenchCommand::Exchange(arguments) => &arguments.common,
            BenchCommand::Gather(arguments) => &arguments.common,
            BenchCommand::Get(arguments) | BenchCommand::Put(arguments) => &arguments.common,
            BenchCommand::FetchAdd(arguments) => &arguments.common,
            BenchCommand::ScalarSum(common) | BenchCommand::Local(common) | BenchCommand::Barrier(common) => common,
            BenchCommand::AllReduce(arguments) => &arguments.common,
            BenchCommand::Stream(arguments) => &arguments.common,
            BenchCommand::Updates(arguments) => &arguments.common,
            BenchCommand::Reads(arguments) => &arguments.common,
            BenchCommand::FirstTouch(arguments) => &arguments.common,
        }
    }

    fn operation(&self) -> Operation {
        match self {
            BenchCommand::ReadCache(arguments) => Operation::ReadCache {
                bytes: arguments.bytes as usize,
                late: arguments.late_rank_ms.map(|ms| Duration::from_millis(ms.into())),
            },
            BenchCommand::Exchange(arguments) => Operation::Exchange { keys: arguments.keys as usize },
            BenchCommand::Gather(arguments) => Operation::Gather {
                bytes: arguments.bytes as usize,
                by: if arguments.pull { By::Pull } else { By::Push },
            },
            BenchCommand::Get(arguments) => Operation::Get { target: arguments.target.into() },
            BenchCommand::Put(arguments) => Operation::Put { target: arguments.target.into() },
            BenchCommand::FetchAdd(arguments) => Operation::FetchAdd { tasks: arguments.tasks },
            BenchCommand::ScalarSum(_) => Operation::ScalarSum,
            BenchCommand::Local(_) => Operation::Local { access: None },
            BenchCommand::Barrier(_) => Operation::Barrier,
            BenchCommand::AllReduce(arguments) => {
                Operation::AllReduce { values: arguments.bytes as usize / size_of::<u64>() }
            }
            BenchCommand::Stream(arguments) => Operation::Stream { bytes: arguments.bytes as usize },
            BenchCommand::Updates(arguments) => {
                Operation::Updates { table: arguments.table as usize, updates: arguments.updates as usize }
            }
            BenchCommand::Reads(arguments) => Operation::Reads {
                table: arguments.table as usize,
                reads: arguments.reads as usize,
                batch: arguments.batch.map_or(BATCH.min(arguments.reads), u64::from) as usize,
            },
            BenchCommand::FirstTouch(arguments) => {
                Operation::FirstTouch { bytes: arguments.bytes as usize, memory: None }
            }
        }
    }

    /// What to run.
    pub fn job(&self) -> Job {
        let common = self.common();
        Job {
            operation: self.operation(),
            implementations: common.implementations.list(),
            reps: common.reps as usize,
            seed: common.seed,
            damage: common.damage,
        }
    }
}
