//! The command line.

use crate::bench::arguments::BenchCommand;
use crate::check::CheckArguments;
use crate::farm::FarmArguments;
use crate::run::RunArguments;
use crate::simulate::arguments::SimulateArguments;
use aurora_apps::cholesky::Cholesky;
use aurora_apps::diffusion::Diffusion;
use aurora_apps::histogram::Histogram;
use aurora_apps::indexgather::IndexGather;
use aurora_apps::job::Job;
use aurora_apps::mm2::Mm2;
use aurora_apps::psrs::Psrs;
use aurora_apps::report::label::Label;
use aurora_apps::sor::Sor;
use aurora_apps::sparse_mm::SparseMm;
use aurora_apps::tsp::Tsp;
use aurora_apps::values::number;
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
    Mm2(MeasuredArguments<Mm2>),
    /// Parallel sorting by regular sampling
    Psrs(MeasuredArguments<Psrs>),
    /// Counting in a distributed table: many small updates
    Histogram(MeasuredArguments<Histogram>),
    /// Counting words in a distributed map
    Wordcount(MeasuredArguments<WordCount>),
    /// Random reads of a distributed table
    Indexgather(MeasuredArguments<IndexGather>),
    /// Heat that spreads over a plate, step by step
    Diffusion(MeasuredArguments<Diffusion>),
    /// Red-black successive over-relaxation of a matrix
    Sor(MeasuredArguments<Sor>),
    /// C = A x B of sparse matrices in blocks, as a super-program
    SparseMm(MeasuredArguments<SparseMm>),
    /// A = L x L^T of a symmetric matrix in tiles, as a super-program
    Cholesky(MeasuredArguments<Cholesky>),
    /// Farm of sleeping units on ranks of different speeds, as a super-program, with its simulation
    Farm(FarmArguments),
    /// The shortest round trip through all cities, by branch and bound
    Tsp(MeasuredArguments<Tsp>),
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
    Simulate(Box<SimulateArguments>),
}

/// A program, and the ranks that run it.
#[derive(Args, Debug)]
pub struct MeasuredArguments<P: Args> {
    #[command(flatten)]
    pub job: Job<P>,
    #[command(flatten)]
    pub world: WorldArguments,
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

impl Display for RouteName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().expect("none is hidden").get_name())
    }
}
