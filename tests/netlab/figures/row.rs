//! A row of the table: what is measured where, and what is to be reached.

use aurora_apps::bench::{By, Operation, Target};
use aurora_suite::netlab::Shape;
use std::time::Duration;

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// For `--rows`.
    pub name: &'static str,
    /// In words.
    pub what: &'static str,
    pub stage: Stage,
    pub operation: Operation,
    pub reach: Reach,
}

/// Where it is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Under both MPIs, one rank on each node of an emulated cluster.
    Lab { nodes: usize, shape: Shape },
    /// Two processes of this machine, without MPI, whose IP packets have this size.
    Loopback { mtu: usize },
}

/// What Aurora's median is to be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Reach {
    /// At most so many times the bound.
    Bound(f64),
    /// That, the slowest repetition at most so many times the fastest, and nothing resent.
    Steady(f64, f64),
    /// At most so many microseconds.
    Micros(f64),
    /// No slower than TCP.
    Tcp,
    /// Its CPU time at most that of Open MPI's collective.
    Cpu,
    /// No slower than Open MPI's collective as it comes.
    Collective,
}

impl Stage {
    pub fn ranks(self) -> usize {
        match self {
            Stage::Lab { nodes, .. } => nodes,
            Stage::Loopback { .. } => 2,
        }
    }
}

impl Row {
    /// The seconds that the payload into the busiest node takes at the rate of its link; none for what is too short for
    /// that to matter, or has no such link.
    pub fn bound(&self) -> Option<f64> {
        match (self.stage, self.reach) {
            (Stage::Lab { nodes, shape }, Reach::Bound(_) | Reach::Steady(..)) => {
                Some(8.0 * self.operation.most_into_a_rank(nodes) as f64 / shape.bits_per_second())
            }
            _ => None,
        }
    }

    /// Whether nothing can be under way before the clock starts, so that nobody can beat the bound.
    pub fn starts_together(&self) -> bool {
        !matches!(self.operation, Operation::ReadCache { late: Some(_), .. })
    }

    /// Who is compared, as `aurora bench --impl` calls them; Aurora first.
    pub fn implementations(&self) -> &'static [&'static str] {
        match (self.stage, self.operation) {
            (Stage::Loopback { .. }, _) => &["aurora", "tcp"],
            (Stage::Lab { .. }, Operation::Get { .. } | Operation::Put { .. } | Operation::Stream { .. }) => {
                &["aurora", "mpi-isend"]
            }
            (Stage::Lab { .. }, Operation::Barrier | Operation::AllReduce { .. }) => &["aurora", "mpi-collective"],
            (Stage::Lab { .. }, _) => &["aurora", "mpi-collective", "mpi-isend"],
        }
    }

    /// What follows `aurora bench` for all of them.
    pub fn arguments(&self) -> Vec<String> {
        self.arguments_of(self.implementations())
    }

    /// What follows it for some.
    pub fn arguments_of(&self, implementations: &[&str]) -> Vec<String> {
        let mut words: Vec<String> = match self.operation {
            Operation::ReadCache { bytes, late } => {
                let late = late.map(|late| format!("--late-rank-ms={}", late.as_millis()));
                ["read-cache".into(), format!("--bytes={bytes}")].into_iter().chain(late).collect()
            }
            Operation::Exchange { keys } => vec!["exchange".into(), format!("--keys={keys}")],
            Operation::Gather { bytes, by: By::Push } => vec!["gather".into(), format!("--bytes={bytes}")],
            Operation::Gather { bytes, by: By::Pull } => {
                vec!["gather".into(), format!("--bytes={bytes}"), "--pull".into()]
            }
            Operation::Get { target } => vec!["get".into(), word(target).into()],
            Operation::Put { target } => vec!["put".into(), word(target).into()],
            Operation::ScalarSum => vec!["scalar-sum".into()],
            Operation::FetchAdd { tasks: false } => vec!["fetch-add".into()],
            Operation::FetchAdd { tasks: true } => vec!["fetch-add".into(), "--tasks".into()],
            Operation::Local { .. } => vec!["local".into()],
            Operation::Barrier => vec!["barrier".into()],
            Operation::AllReduce { .. } => {
                vec!["all-reduce".into(), format!("--bytes={}", self.operation.bytes())]
            }
            Operation::Stream { bytes } => {
                // Where shared memory is not the point.
                vec!["stream".into(), format!("--bytes={bytes}"), "--route=udp".into()]
            }
            Operation::Updates { table, updates } => {
                vec!["updates".into(), format!("--table={table}"), format!("--updates={updates}")]
            }
            Operation::Reads { table, reads, batch } => {
                let words = [("table", table), ("reads", reads), ("batch", batch)];
                let words = words.map(|(name, number)| format!("--{name}={number}"));
                ["reads".into()].into_iter().chain(words).collect()
            }
            Operation::FirstTouch { bytes, .. } => vec!["first-touch".into(), format!("--bytes={bytes}")],
        };
        words.push(format!("--impl={}", implementations.join(",")));
        words
    }
}

fn word(target: Target) -> &'static str {
    match target {
        Target::Idle => "--target=idle",
        Target::Computing => "--target=computing",
    }
}

const fn lab(nodes: usize, shape: Shape) -> Stage {
    Stage::Lab { nodes, shape }
}

const fn reduce(bytes: usize) -> Operation {
    Operation::AllReduce { values: bytes / 8 }
}

const fn load(side: usize) -> Operation {
    Operation::ReadCache { bytes: side * side * 4, late: None }
}

/// 155 Mbit/s, MTU 9000, 128 KB queue: the paper's network.
pub const PAPER: Shape = Shape { rate: "155mbit", queue_kb: 128, mtu: 9000, lost_of_thousand: 0 };
pub const SMALL: Shape = Shape { mtu: 1500, ..PAPER };
pub const FAST: Shape = Shape { rate: "1gbit", ..PAPER };

const KEYS: Operation = Operation::Exchange { keys: 8_000_000 };
const LATE: Operation = Operation::ReadCache { bytes: 704 * 704 * 4, late: Some(Duration::from_millis(100)) };

/// All of them.
pub const ROWS: [Row; 21] = [
    row("load-4", "ReadCache of 704 x 704 i32", lab(4, PAPER), load(704), Reach::Steady(1.05, 1.05)),
    row("load-8", "ReadCache of 704 x 704 i32", lab(8, PAPER), load(704), Reach::Steady(1.05, 1.05)),
    row("load-16", "ReadCache of 704 x 704 i32", lab(16, PAPER), load(704), Reach::Steady(1.05, 1.05)),
    row("load-16-cpu", "CPU seconds of the same", lab(16, PAPER), load(704), Reach::Cpu),
    row("load-512", "ReadCache of 512 x 512 i32", lab(16, PAPER), load(512), Reach::Bound(1.08)),
    row("exchange-4", "exchange of 8 M keys", lab(4, PAPER), KEYS, Reach::Bound(1.05)),
    row("exchange-8", "exchange of 8 M keys", lab(8, PAPER), KEYS, Reach::Bound(1.05)),
    row("exchange-16", "exchange of 8 M keys", lab(16, PAPER), KEYS, Reach::Bound(1.05)),
    row("mtu-1500", "MTU 1500, ReadCache of 704 x 704", lab(8, SMALL), load(704), Reach::Bound(1.10)),
    row("gigabit", "1 Gbit/s, ReadCache of 16 MiB", lab(4, FAST), load(2048), Reach::Bound(1.05)),
    row("loss-0.1", "MTU 1500, 0.1 % loss", lab(4, lossy(1)), load(704), Reach::Bound(1.08)),
    row("loss-1", "MTU 1500, 1 % loss", lab(4, lossy(10)), load(704), Reach::Bound(1.15)),
    row("late", "a rank enters 100 ms late; from then", lab(8, PAPER), LATE, Reach::Bound(1.05)),
    row("gather", "15 ranks send 1 MiB each to one", lab(16, PAPER), GATHER, Reach::Bound(1.08)),
    row("gather-pull", "the same, read by the one", lab(16, PAPER), GATHER_PULL, Reach::Bound(1.08)),
    row("get-computing", "1 Gbit/s, `at` of 8 bytes, target computes", lab(2, FAST), COMPUTING, Reach::Micros(25.0)),
    row("get-idle", "1 Gbit/s, `at` of 8 bytes, target idle", lab(2, FAST), IDLE, Reach::Micros(60.0)),
    row("reduce-8", "`all_reduce` of 8 bytes", lab(4, PAPER), reduce(8), Reach::Collective),
    row("reduce-8k", "`all_reduce` of 8 KiB", lab(4, PAPER), reduce(8 << 10), Reach::Collective),
    row("reduce-1m", "`all_reduce` of 1 MiB", lab(4, PAPER), reduce(1 << 20), Reach::Collective),
    row("stream", "64 MiB over loopback, datagrams of 1472 bytes", LOOPBACK, STREAM, Reach::Tcp),
];

const GATHER: Operation = Operation::Gather { bytes: 1 << 20, by: By::Push };
const GATHER_PULL: Operation = Operation::Gather { bytes: 1 << 20, by: By::Pull };
const COMPUTING: Operation = Operation::Get { target: Target::Computing };
const IDLE: Operation = Operation::Get { target: Target::Idle };
const STREAM: Operation = Operation::Stream { bytes: 64 << 20 };
const LOOPBACK: Stage = Stage::Loopback { mtu: 1500 };

const fn lossy(of_thousand: usize) -> Shape {
    Shape { lost_of_thousand: of_thousand, ..SMALL }
}

const fn row(name: &'static str, what: &'static str, stage: Stage, operation: Operation, reach: Reach) -> Row {
    Row { name, what, stage, operation, reach }
}
