//! The command line of `aurora simulate`.

use super::nodes::Counts;
use super::own::OwnArguments;
use super::policies::Policies;
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
    #[arg(long, value_name = "LIST")]
    pub policy: Option<Policies>,
    /// Model of the machine
    #[arg(long, value_enum, default_value_t)]
    pub mode: ModeName,
    /// Speeds of the nodes: `homogeneous`, `1:3` (nodes with odd numbers are 3 times as fast; there is no other ratio),
    /// or a file with one speed on each line, from 0.000001 to 1000000. `#` begins a comment, and empty lines are
    /// skipped. Node n stands in row n / columns of a grid. Rows and columns get blocks in proportion to the sums of
    /// their speeds, so a slow node among fast nodes gets more than its share: sort the list, or take tail or ect
    #[arg(long, value_name = "SPEEDS", default_value = "homogeneous")]
    pub speeds: Source,
    /// Receivers of a block that one node requests
    #[arg(long, value_enum, default_value_t)]
    pub transfers: TransfersName,
    /// The program multiplies two matrices of N x N blocks, by N x N x N instructions; N is 1024 at most
    #[arg(long, value_name = "N", default_value_t = 32, allow_negative_numbers = true)]
    #[arg(value_parser = number::<u32>(1..=1024))]
    pub blocks: u32,
    /// Number of repetitions, at most 1000000, each with other work. Means are shown
    #[arg(long, value_name = "N", default_value_t = 16, allow_negative_numbers = true)]
    #[arg(value_parser = number::<u32>(1..=1_000_000))]
    pub reps: u32,
    /// Seed of the first repetition. Each further repetition takes the next number
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    #[arg(value_parser = number::<u64>(0..))]
    pub seed: u64,
    /// Cost of a block for its sender, and the same for its receiver, in units (1000 units = 1 ms of a node of speed 1)
    #[arg(long, value_name = "UNITS", default_value_t = 250.0, value_parser = load, allow_negative_numbers = true)]
    pub load: f64,
    /// Largest cost of an instruction, in units. Costs are drawn evenly from 0 on
    #[arg(long, value_name = "UNITS", default_value_t = 20_000, allow_negative_numbers = true)]
    #[arg(value_parser = number::<u32>(1..=u32::MAX.into()))]
    pub work: u32,
    #[command(flatten)]
    pub own: OwnArguments,
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

/// Reads a cost that is small enough to be added to instructions' costs without losing these.
pub fn load(text: &str) -> Result<f64, &'static str> {
    let load = text.parse().ok().filter(|load| (0.0..=1e9).contains(load));
    load.ok_or("a number of units from 0 to 1000000000")
}
