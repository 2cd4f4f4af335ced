//! The command line of `aurora simulate`.

use super::nodes::Counts;
use super::own::OwnArguments;
use super::policies::Policies;
use super::speeds::Source;
use crate::values::number;
use aurora_apps::report::label::Label;
use aurora_super::sim::Transfers;
use clap::{Args, ValueEnum};

#[derive(Args, Debug)]
pub struct SimulateArguments {
    /// Numbers of nodes, 65536 at most. `2,4,..,64` doubles, as the numbers before `..` do; `8,16,24,..,64` rises
    /// in equal steps [default: 2,4,..,64, or the nodes of the file of `--speeds`]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub nodes: Option<Counts>,
    /// Who works on what: names out of syn, S, R, SR, SS (the papers'), tail and ect (ours), or `all` [default: all,
    /// and of a case the versions that the paper has tried]
    #[arg(long, value_name = "LIST")]
    pub policy: Option<Policies>,
    /// On which machine
    #[arg(long, value_enum, default_value_t)]
    pub mode: ModeName,
    /// How fast the nodes are: `homogeneous`, `1:3` (nodes with odd numbers 3 times as fast; no other ratio is built
    /// in), or a file with one speed a line, from 0.000001 to 1000000, where `#` begins a comment and empty lines do
    /// not count. Node n stands in row n / columns of a grid; rows and columns get blocks in proportion to the sums of
    /// their speeds, so a slow node beside fast ones gets more than its share: sort the list, or take tail or ect
    #[arg(long, value_name = "SPEEDS", default_value = "homogeneous")]
    pub speeds: Source,
    /// Who receives a block that one node asks for
    #[arg(long, value_enum, default_value_t)]
    pub transfers: TransfersName,
    /// The program multiplies two matrices of N x N blocks, by N x N x N instructions; N is 1024 at most
    #[arg(long, value_name = "N", default_value_t = 32, allow_negative_numbers = true)]
    #[arg(value_parser = number::<u32>(1..=1024))]
    pub blocks: u32,
    /// How often to simulate it, 1000000 times at most, each time with other work; means are shown
    #[arg(long, value_name = "N", default_value_t = 16, allow_negative_numbers = true)]
    #[arg(value_parser = number::<u32>(1..=1_000_000))]
    pub reps: u32,
    /// Seed of the first repetition; the others have those that follow
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    #[arg(value_parser = number::<u64>(0..))]
    pub seed: u64,
    /// What a block costs who receives it, and as much who sends it, in units: 1000 are 1 ms of a node of speed 1
    #[arg(long, value_name = "UNITS", default_value_t = 250.0, value_parser = load, allow_negative_numbers = true)]
    pub load: f64,
    /// What an instruction costs at most, in units; its work is drawn evenly from 0 on
    #[arg(long, value_name = "UNITS", default_value_t = 20_000, allow_negative_numbers = true)]
    #[arg(value_parser = number::<u32>(1..=u32::MAX.into()))]
    pub work: u32,
    #[command(flatten)]
    pub own: OwnArguments,
    /// Print one JSON object a line, for each policy and number of nodes; times in units, 1000 a millisecond
    #[arg(long)]
    pub json: bool,
    /// What the JSON objects are to say about the run, several times if need be
    #[arg(long = "label", value_name = "KEY=VALUE", requires = "json")]
    pub labels: Vec<Label>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ModeName {
    /// That of the paper: a node asks for an instruction, loads the blocks that it lacks, computes, and asks again
    #[default]
    Paper,
    /// Blocks are asked for ahead and share links, and the dispatcher takes time
    Own,
}

impl ModeName {
    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            ModeName::Paper => "paper",
            ModeName::Own => "own",
        }
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum TransfersName {
    /// That node
    #[default]
    Unicast,
    /// All nodes of its grid row or grid column
    Multicast,
}

impl TransfersName {
    /// As the command line has it.
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

/// Costs that add up without losing those of instructions.
pub fn load(text: &str) -> Result<f64, &'static str> {
    let load = text.parse().ok().filter(|load| (0.0..=1e9).contains(load));
    load.ok_or("a number of units from 0 to 1000000000")
}
