//! The command line.

use crate::bench::arguments::BenchCommand;
use crate::check::CheckArguments;
use crate::cholesky::CholeskyArguments;
use crate::farm::FarmArguments;
use crate::implementation::Implementations;
use crate::run::RunArguments;
use crate::simulate::arguments::SimulateArguments;
use crate::sor::SorArguments;
use crate::sparse_mm::SparseMmArguments;
use crate::values::{bytes_or_none, number, weight};
use aurora_apps::clock::Pace;
use aurora_apps::diffusion::Diffusion;
use aurora_apps::histogram::Histogram;
use aurora_apps::indexgather::IndexGather;
use aurora_apps::mm2::{Kernel, Mm2};
use aurora_apps::psrs::{Input, Psrs};
use aurora_apps::report::label::Label;
use aurora_apps::tsp::{MOST_CITIES, Named, Source, Tsp};
use aurora_apps::wordcount::WordCount;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

/// Aurora: distributed shared data for parallel programs on clusters, in Rust. This command starts and checks programs
/// that use it, runs applications that are verified and measured, and compares them with MPI.
#[derive(Parser, Debug)]
#[command(name = "aurora", version, propagate_version = true, arg_required_else_help = true)]
pub struct Arguments {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Two-stage matrix multiplication: P <- Q x R, then R <- Q x P
    Mm2(Mm2Arguments),
    /// Parallel sorting by regular sampling
    Psrs(PsrsArguments),
    /// Counting in a distributed table: many small updates
    Histogram(HistogramArguments),
    /// Counting words in a distributed map
    Wordcount(WordCountArguments),
    /// Random reads of a distributed table
    Indexgather(IndexGatherArguments),
    /// Heat that spreads over a plate, step by step
    Diffusion(DiffusionArguments),
    /// Red-black successive over-relaxation of a matrix
    Sor(SorArguments),
    /// C = A x B of sparse matrices in blocks, as a super-program
    SparseMm(SparseMmArguments),
    /// A = L x L^T of a symmetric matrix in tiles, as a super-program
    Cholesky(CholeskyArguments),
    /// Farm of sleeping units on ranks of different speeds, as a super-program, with its simulation
    Farm(FarmArguments),
    /// The shortest round trip through all cities, by branch and bound
    Tsp(TspArguments),
    /// Measure one operation between ranks, also by MPI
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Show the job: launcher, ranks, nodes, routes, sockets
    Info(WorldArguments),
    /// Start a program on ranks: on this machine, by mpirun, or by srun. The exit code is that of the program. It is
    /// 127 if there is no such program, and 126 if it cannot be executed
    Run(RunArguments),
    /// Run a program under the race detector. The exit code is 0 if there is no race. It is 1 if there is a race or a
    /// possible race, if the program fails, or if nothing was checked
    Check(CheckArguments),
    /// Print a completion script for a shell
    Completions(CompletionsArguments),
    /// Make one page of charts and tables from the output of `--json`
    Report(ReportArguments),
    /// Recompute a table of measured runs on machines of different speeds, and predict other configurations
    Model(ModelArguments),
    /// Simulate super-programs: compare policies of scheduling on clusters of several sizes
    Simulate(SimulateArguments),
}

#[derive(Args, Debug)]
pub struct Mm2Arguments {
    /// Rows and columns of the matrices
    #[arg(long, value_name = "N", default_value_t = 704, value_parser = number::<u32>(1..=u32::MAX.into()))]
    pub size: u32,
    /// Inner loop of the multiplication
    #[arg(long, value_enum, default_value_t)]
    pub kernel: KernelName,
    #[command(flatten)]
    pub phases: PhaseArguments,
    #[command(flatten)]
    pub weights: WeightArguments,
    #[command(flatten)]
    pub implementations: Implementations,
    #[command(flatten)]
    pub repetitions: Repetitions,
    #[command(flatten)]
    pub world: WorldArguments,
}

#[derive(Args, Debug)]
pub struct PsrsArguments {
    /// Number of 32-bit keys, such as 8000000, 8M (millions), 8Mi (8 x 2^20) or 8e6
    #[arg(long, value_name = "N", default_value_t = 8_000_000, value_parser = number::<u64>(0..))]
    pub keys: u64,
    /// Distribution of the keys
    #[arg(long, value_enum, default_value_t)]
    pub input: InputName,
    #[command(flatten)]
    pub phases: PhaseArguments,
    #[command(flatten)]
    pub implementations: Implementations,
    #[command(flatten)]
    pub repetitions: Repetitions,
    #[command(flatten)]
    pub world: WorldArguments,
}

#[derive(Args, Debug)]
pub struct HistogramArguments {
    /// Number of counters
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = number::<u64>(0..))]
    pub table: u64,
    /// Updates of each rank
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = number::<u32>(0..=u32::MAX.into()))]
    pub updates: u32,
    #[command(flatten)]
    pub implementations: Implementations,
    #[command(flatten)]
    pub repetitions: Repetitions,
    #[command(flatten)]
    pub world: WorldArguments,
}

#[derive(Args, Debug)]
pub struct WordCountArguments {
    /// Bytes of text of all ranks together
    #[arg(long, value_name = "B", default_value_t = 10_000_000, value_parser = bytes_or_none)]
    pub bytes: u64,
    /// Limit of the number of different words
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = number::<u64>(0..))]
    pub words: u64,
    #[command(flatten)]
    pub implementations: Implementations,
    #[command(flatten)]
    pub repetitions: Repetitions,
    #[command(flatten)]
    pub world: WorldArguments,
}

#[derive(Args, Debug)]
pub struct IndexGatherArguments {
    /// Number of 64-bit elements of the table
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = number::<u64>(1..))]
    pub table: u64,
    /// Number of elements that each rank reads
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = number::<u64>(0..))]
    pub reads: u64,
    #[command(flatten)]
    pub implementations: Implementations,
    #[command(flatten)]
    pub repetitions: Repetitions,
    #[command(flatten)]
    pub world: WorldArguments,
}

#[derive(Args, Debug)]
pub struct DiffusionArguments {
    /// Rows of the plate
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = number::<u32>(1..=u32::MAX.into()))]
    pub rows: u32,
    /// Cells of a row
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = number::<u32>(1..=u32::MAX.into()))]
    pub cols: u32,
    /// Steps of a repetition
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = number::<u32>(0..=u32::MAX.into()))]
    pub steps: u32,
    #[command(flatten)]
    pub weights: WeightArguments,
    #[command(flatten)]
    pub implementations: Implementations,
    #[command(flatten)]
    pub repetitions: Repetitions,
    #[command(flatten)]
    pub world: WorldArguments,
}

#[derive(Args, Debug)]
pub struct TspArguments {
    /// Instance of TSPLIB
    #[arg(long, value_enum, default_value_t, conflicts_with_all = ["cities", "file"])]
    pub instance: InstanceName,
    /// Random cities in place of an instance: their number
    #[arg(long, value_name = "N", conflicts_with = "file", value_parser = number::<u8>(1..=MOST_CITIES as u64))]
    pub cities: Option<u8>,
    /// A file of TSPLIB in place of an instance: EUC_2D, GEO, or EXPLICIT as LOWER_DIAG_ROW or FULL_MATRIX
    #[arg(long, value_name = "X.tsp")]
    pub file: Option<PathBuf>,
    /// Parts of the search that a rank takes at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = number::<u32>(1..=u32::MAX.into()))]
    pub chunk: u32,
    #[command(flatten)]
    pub implementations: Implementations,
    #[command(flatten)]
    pub repetitions: Repetitions,
    #[command(flatten)]
    pub world: WorldArguments,
}

#[derive(Args, Clone, Debug)]
pub struct WeightArguments {
    /// Speeds of the ranks, a number for each: `1,3` gives rank 1 three times as many rows as rank 0 [default: equal
    /// blocks]
    #[arg(long, value_name = "W,W,..", value_delimiter = ',', value_parser = weight, allow_negative_numbers = true)]
    pub weights: Vec<f64>,
}

#[derive(Args, Clone, Copy, Debug)]
pub struct PhaseArguments {
    /// Separate computing and sharing by barriers, for nodes that share cores, such as an emulated cluster
    #[arg(long)]
    pub apart: bool,
}

impl PhaseArguments {
    fn pace(self) -> Pace {
        if self.apart { Pace::Apart } else { Pace::Running }
    }
}

#[derive(Args, Debug)]
pub struct Repetitions {
    /// Number of repetitions, each with new data
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = number::<u32>(1..=1_000_000))]
    pub reps: u32,
    /// Seed of the data [default: a new one each time]
    #[arg(long, value_name = "N", value_parser = number::<u64>(0..))]
    pub seed: Option<u64>,
    /// Damage each result before it is verified
    #[arg(long, hide = true)]
    pub damage: bool,
}

#[derive(Args, Debug)]
pub struct ReportArguments {
    /// Output of `aurora ... --json`, with any number of objects; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// File of the page. An existing file is replaced
    #[arg(long, value_name = "PAGE.html")]
    pub out: PathBuf,
    /// Title of the page [default: made from the runs]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

#[derive(Args, Debug)]
pub struct CompletionsArguments {
    /// Name of the shell: `source <(aurora completions bash)`
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub struct ModelArguments {
    /// Runs of one program, a line each or as JSON: processors of each machine, `seconds`, and if they are known
    /// `speedup` and `efficiency`; `-` is standard input
    pub file: PathBuf,
    /// Configuration to predict, such as `SH=6,CSNT=2`. May be repeated
    #[arg(long, value_name = "CONFIGURATION")]
    pub predict: Vec<String>,
    /// Efficiency to predict with: a measured configuration, a percentage (`77.8%`), or `curve` (the fitted curve)
    /// [default: the nearest measured configuration, and the curve for comparison]
    #[arg(long, value_name = "ORIGIN", requires = "predict")]
    pub from: Option<String>,
    /// Number of equal units, for a program that is a farm. They are scheduled first come, first served, and by
    /// earliest completion time
    #[arg(long, value_name = "UNITS", allow_negative_numbers = true)]
    #[arg(value_parser = number::<u32>(1..=10_000_000))]
    pub farm: Option<u32>,
    /// Time of a unit on a processor of the fastest machine [default: time of the program there / UNITS]
    #[arg(long, value_name = "SECONDS", requires = "farm", allow_negative_numbers = true)]
    pub unit_seconds: Option<f64>,
    /// Use each time as printed, also if its decimal point is found to be in the wrong place
    #[arg(long)]
    pub as_printed: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Clone, Debug)]
pub struct WorldArguments {
    /// Number of ranks; under mpirun its number of processes [default: the cores, at most 4]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=1024))]
    pub ranks: Option<u32>,
    /// Carrier of messages between ranks
    #[arg(long, value_enum, default_value_t)]
    pub route: RouteName,
    /// Print one JSON object as the last line
    #[arg(long)]
    pub json: bool,
    /// Fact about the run for the JSON object and `aurora report`: network, mpi, setting, nodes, kind, or any other
    /// key. May be repeated
    #[arg(long = "label", value_name = "KEY=VALUE", requires = "json")]
    pub labels: Vec<Label>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RouteName {
    /// The best route between each two ranks
    #[default]
    Auto,
    /// Ranks are threads of one process
    Local,
    /// Shared memory of one machine
    Shm,
    /// UDP, also on one machine
    Udp,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default)]
pub enum KernelName {
    /// Tiles in registers and caches
    #[default]
    Tiled,
    /// Inner products, as in the paper
    Dot,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default)]
pub enum InputName {
    /// Random keys
    #[default]
    Uniform,
    /// Sorted keys
    Sorted,
    /// Keys in descending order
    Reverse,
    /// One value
    Equal,
    /// Sixteen values
    Few,
    /// A few values often, many values rarely (Zipf)
    Zipf,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default)]
pub enum InstanceName {
    /// 14 towns in Burma
    Burma14,
    /// 17 cities
    Gr17,
    /// 21 cities
    #[default]
    Gr21,
}

impl Display for RouteName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().expect("none is hidden").get_name())
    }
}

impl Mm2Arguments {
    pub fn job(&self) -> Mm2 {
        Mm2 {
            size: self.size as usize,
            kernel: match self.kernel {
                KernelName::Tiled => Kernel::Tiled,
                KernelName::Dot => Kernel::Dot,
            },
            implementations: self.implementations.list.clone(),
            reps: self.repetitions.reps as usize,
            pace: self.phases.pace(),
            seed: self.repetitions.seed,
            weights: self.weights.weights.clone(),
            damage: self.repetitions.damage,
        }
    }
}

impl PsrsArguments {
    pub fn job(&self) -> Psrs {
        Psrs {
            keys: self.keys as usize,
            input: match self.input {
                InputName::Uniform => Input::Uniform,
                InputName::Sorted => Input::Sorted,
                InputName::Reverse => Input::Reverse,
                InputName::Equal => Input::Equal,
                InputName::Few => Input::Few,
                InputName::Zipf => Input::Zipf,
            },
            implementations: self.implementations.list.clone(),
            reps: self.repetitions.reps as usize,
            pace: self.phases.pace(),
            seed: self.repetitions.seed,
            damage: self.repetitions.damage,
        }
    }
}

impl HistogramArguments {
    pub fn job(&self) -> Histogram {
        Histogram {
            table: self.table as usize,
            updates: self.updates as usize,
            implementations: self.implementations.list.clone(),
            reps: self.repetitions.reps as usize,
            seed: self.repetitions.seed,
            damage: self.repetitions.damage,
        }
    }
}

impl WordCountArguments {
    pub fn job(&self) -> WordCount {
        WordCount {
            bytes: self.bytes as usize,
            words: self.words as usize,
            implementations: self.implementations.list.clone(),
            reps: self.repetitions.reps as usize,
            seed: self.repetitions.seed,
            damage: self.repetitions.damage,
        }
    }
}

impl IndexGatherArguments {
    pub fn job(&self) -> IndexGather {
        IndexGather {
            table: self.table as usize,
            reads: self.reads as usize,
            implementations: self.implementations.list.clone(),
            reps: self.repetitions.reps as usize,
            seed: self.repetitions.seed,
            damage: self.repetitions.damage,
        }
    }
}

impl DiffusionArguments {
    pub fn job(&self) -> Diffusion {
        Diffusion {
            rows: self.rows as usize,
            cols: self.cols as usize,
            steps: self.steps as usize,
            implementations: self.implementations.list.clone(),
            reps: self.repetitions.reps as usize,
            seed: self.repetitions.seed,
            weights: self.weights.weights.clone(),
            damage: self.repetitions.damage,
        }
    }
}

impl TspArguments {
    pub fn job(&self) -> Tsp {
        let named = match self.instance {
            InstanceName::Burma14 => Named::Burma14,
            InstanceName::Gr17 => Named::Gr17,
            InstanceName::Gr21 => Named::Gr21,
        };
        let source = match (&self.file, self.cities) {
            (Some(path), _) => Source::File(path.clone()),
            (None, Some(cities)) => Source::Random(cities.into()),
            (None, None) => Source::Named(named),
        };
        Tsp {
            source,
            chunk: self.chunk.into(),
            implementations: self.implementations.list.clone(),
            reps: self.repetitions.reps as usize,
            seed: self.repetitions.seed,
            damage: self.repetitions.damage,
        }
    }
}
