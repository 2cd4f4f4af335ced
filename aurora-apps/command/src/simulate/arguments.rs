//! The command line of `aurora simulate`.

use super::matrix::MatrixArguments;
use super::nodes::Counts;
use super::own::OwnArguments;
use super::policies::Policies;
use super::search::GoalArguments;
use super::speeds::Source;
use aurora_apps::report::label::Label;
use aurora_apps::values::number;
use aurora_super::sim::Transfers;
use clap::{Args, ValueEnum};

#[derive(Args, Debug)]
pub struct SimulateArguments {
    /// Numbers of nodes, at most 65536. `2,4,..,64` doubles like the numbers before `..`; `8,16,24,..,64` rises
    /// in equal steps [default: 2,4,..,64, or the nodes of the file of `--speeds`]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub nodes: Option<Counts>,
    /// Policies: syn, S, R, SR, SS (of the papers), tail, ect (of Aurora), or `all` [default: all; for a case the
    /// versions of the paper]
    ///
    /// S (static): each node computes its own part of the result. syn (synchronous): as S, in steps: in a step each
    /// node runs one instruction, and all wait for the slowest. R (random): a free node takes any block of the result.
    /// SR, SS (smart, with a random or a static seed): it takes a block in a row and a column in which it has worked;
    /// its first block is random (SR) or of its own part (SS). tail: as S, and a node that has completed its part joins
    /// unfinished blocks. ect (earliest completion time): as tail, and a slow node leaves the last instructions to
    /// faster nodes
    #[arg(long, value_name = "LIST")]
    pub policy: Option<Policies>,
    /// Model of the machine
    #[arg(long, value_enum, default_value_t)]
    pub mode: ModeName,
    /// Speeds of the nodes: `homogeneous` (all 1), a ratio such as `1:3` (nodes 0, 2, .. have speed 1, nodes 1, 3, ..
    /// speed 3) or `1:2:4`, or a file with one speed on each line, from 0.000001 to 1000000. May be repeated: the
    /// clusters are compared with the first
    ///
    /// In a file, `#` begins a comment, and empty lines are skipped. Node n stands in row n / columns of a grid. Rows
    /// and columns get blocks in proportion to the sums of their speeds, so a slow node among fast nodes gets more than
    /// its share: sort the list, or take tail or ect
    #[arg(long, value_name = "SPEEDS", default_value = "homogeneous", allow_hyphen_values = true)]
    pub speeds: Vec<Source>,
    /// Receivers of a block that one node requests
    #[arg(long, value_enum, default_value_t)]
    pub transfers: TransfersName,
    /// The program multiplies two matrices of N x N blocks, by N x N x N instructions; N is 1024 at most
    #[arg(long, value_name = "N", default_value_t = 32, allow_negative_numbers = true)]
    #[arg(value_parser = number::<u32>(1..=1024))]
    pub blocks: u32,
    /// Number of repetitions, at most 1000000, each with other random numbers. Means are shown. If nothing is drawn,
    /// all would be equal, so there is one
    #[arg(long, value_name = "N", default_value_t = 16, allow_negative_numbers = true)]
    #[arg(value_parser = number::<u32>(1..=1_000_000))]
    pub reps: u32,
    /// Seed of the first repetition. Each further repetition takes the next number
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    #[arg(value_parser = number::<u64>(0..))]
    pub seed: u64,
    /// Work of a block for its sender, and the same for its receiver, in units (1000 units = 1 ms of a node of speed
    /// 1). In paper mode it follows from `--bandwidth`, if that is given [default: 250]
    #[arg(long, value_name = "UNITS", value_parser = load, allow_negative_numbers = true)]
    pub load: Option<f64>,
    /// Largest cost of an instruction, in units. Costs are drawn evenly from 0 on
    #[arg(long, value_name = "UNITS", default_value_t = 20_000, allow_negative_numbers = true)]
    #[arg(value_parser = number::<u32>(1..=u32::MAX.into()))]
    pub work: u32,
    /// Mean time of an instruction on a node of speed 1, in milliseconds to 0.0005, in place of `--work`: costs are
    /// drawn evenly from 0 to twice this time
    #[arg(long, value_name = "MS", value_parser = milliseconds, allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["work", "case"])]
    pub instruction: Option<f64>,
    /// Costs of instructions [default: drawn; equal for a case of the paper on data representation]
    #[arg(long, value_enum)]
    pub costs: Option<CostsName>,
    #[command(flatten)]
    pub matrix: MatrixArguments,
    #[command(flatten)]
    pub own: OwnArguments,
    #[command(flatten)]
    pub goal: GoalArguments,
    /// Show also the standard deviation, the minimum and the maximum of the repetitions
    #[arg(long, conflicts_with_all = ["json", "within", "efficient"])]
    pub spread: bool,
    /// Print one JSON object on each line, for each policy and number of nodes, with times in units (1000 units = 1 ms)
    #[arg(long)]
    pub json: bool,
    /// Fact about the run for the JSON objects. May be repeated
    #[arg(long = "label", value_name = "KEY=VALUE", requires = "json")]
    pub labels: Vec<Label>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ModeName {
    /// As in the paper: a node requests an instruction, loads the blocks that it lacks, and computes
    #[default]
    Paper,
    /// Nodes request blocks ahead, blocks share links, and the dispatcher takes time
    Own,
}

impl ModeName {
    /// The value on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ModeName::Paper => "paper",
            ModeName::Own => "own",
        }
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum CostsName {
    /// Evenly, from 0 to twice the mean, for each instruction
    Drawn,
    /// All have the mean
    Equal,
}

impl CostsName {
    /// The value on the command line.
    pub fn name(self) -> &'static str {
        match self {
            CostsName::Drawn => "drawn",
            CostsName::Equal => "equal",
        }
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum TransfersName {
    /// The node that requests it
    #[default]
    Unicast,
    /// All nodes of its grid row or grid column
    Multicast,
}

impl TransfersName {
    /// The value on the command line.
    pub fn name(self) -> &'static str {
        match self {
            TransfersName::Unicast => "unicast",
            TransfersName::Multicast => "multicast",
        }
    }
}

impl From<TransfersName> for Transfers {
    fn from(name: TransfersName) -> Self {
        match name {
            TransfersName::Unicast => Transfers::Unicast,
            TransfersName::Multicast => Transfers::Multicast,
        }
    }
}

/// Reads the mean time of an instruction.
fn milliseconds(text: &str) -> Result<f64, &'static str> {
    let milliseconds = text.parse().ok().filter(|time| (0.001..=1e6).contains(time));
    milliseconds.ok_or("a number of milliseconds from 0.001 to 1000000")
}

/// Reads a cost that is small enough to be added to instructions' costs without losing these.
pub fn load(text: &str) -> Result<f64, &'static str> {
    let load = text.parse().ok().filter(|load| (0.0..=1e9).contains(load));
    load.ok_or("a number of units from 0 to 1000000000")
}
