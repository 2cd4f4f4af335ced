//! The inputs and the results of a simulation.

use crate::program::is_speed;
use crate::spelling::number;
use crate::{Instruction, Node, Policy, Product, Program, mix};
use thiserror::Error;

/// The default bound of an instruction's work, in units (S2 section 4: uniform from 0 to 20000; 1000 units are 1 ms at
/// speed 1).
pub(super) const MOST_WORK: u32 = 20_000;
/// The units of work that a transferred block costs its receiver, and also its sender (S2 section 4).
pub(super) const LOAD: f64 = 250.0;

/// The inputs of a simulation in paper mode, as in S2 section 4.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// The program.
    pub program: Product,
    /// The units of work that each node does in a unit of time.
    pub speeds: Vec<f64>,
    /// The policy: it decides which node works on which group.
    pub policy: Policy,
    /// The nodes that receive a block when one node asks for it.
    pub transfers: Transfers,
    /// The cost of instructions.
    pub cost: Cost,
    /// The units of work that a transferred block costs its receiver, and also its sender.
    pub load: f64,
    /// The seed of the policy's random choices.
    pub seed: u64,
}

/// The cost of instructions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cost {
    /// The same for all instructions, in units of work.
    Fixed(f64),
    /// Drawn for each instruction.
    Drawn(Work),
}

impl Cost {
    /// Returns the cost of an instruction of a program.
    #[inline]
    pub fn of(&self, program: &Product, instruction: Instruction) -> f64 {
        match self {
            Cost::Fixed(units) => *units,
            Cost::Drawn(work) => work.of(program, instruction),
        }
    }

    /// Returns the mean cost of an instruction, in units of work.
    pub fn mean(&self) -> f64 {
        match self {
            Cost::Fixed(units) => *units,
            Cost::Drawn(work) => f64::from(work.below) / 2.0,
        }
    }

    pub(super) fn check(self) -> Result<(), SettingError> {
        if let Cost::Fixed(units) = self { SettingError::check_cost("an instruction", units) } else { Ok(()) }
    }
}

/// The nodes that receive a block when one node asks for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Transfers {
    /// Only the node that asks.
    Unicast,
    /// All nodes of the asking node's grid row for a block that rows share; all nodes of its grid column for a block
    /// that columns share.
    Multicast,
}

/// The speeds of the nodes of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Speeds {
    /// All 1.
    Homogeneous,
    /// 3 for nodes with odd numbers, 1 for the others.
    Mixed,
}

impl Speeds {
    /// Returns the speeds of a cluster of `nodes` nodes.
    pub fn of(self, nodes: u32) -> Vec<f64> {
        let speed = |node: u32| if self == Speeds::Mixed && node % 2 == 1 { 3.0 } else { 1.0 };
        (0..nodes).map(speed).collect()
    }
}

/// The cost of each instruction, in units: drawn uniformly from 0 to a bound, and the same for every policy.
///
/// With seed 0 instruction 0 of group 0 costs nothing, because [`mix`](crate::mix) makes 0 of 0.
///
/// ```
/// use aurora_super::{Instruction, Product, sim::Work};
/// let (work, product) = (Work { below: 20_000, seed: 0 }, Product::square(2).unwrap());
/// assert_eq!(work.of(&product, Instruction { group: 0, k: 0 }), 0.0);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work {
    /// The bound: all costs are below it.
    pub below: u32,
    /// Equal seeds give equal work.
    pub seed: u64,
}

impl Work {
    /// Returns the cost of an instruction of a program.
    #[inline]
    pub fn of(&self, program: &Product, Instruction { group, k }: Instruction) -> f64 {
        let number = u64::from(group) * u64::from(program.len(group)) + u64::from(k);
        let drawn = mix(mix(self.seed) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (drawn >> 11) as f64 / (1_u64 << 53) as f64 * f64::from(self.below)
    }
}

/// A setting that cannot be simulated.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum SettingError {
    /// There is no node.
    #[error("`speeds` is empty: a cluster has at least one node")]
    NoNodes,
    /// More nodes than a simulation can have.
    #[error("{0} nodes cannot be simulated: use at most 65536")]
    TooManyNodes(u64),
    /// A speed that is not a number above 0 and up to 1e290.
    #[error("node {node} has speed {}: a speed is a number above 0 and up to 1e290", number(*.speed))]
    Speed {
        /// The node with this speed.
        node: Node,
        /// The speed that was given.
        speed: f64,
    },
    /// A cost of a load that is not a number of 0 or more.
    #[error("a load of {} units: give a number of 0 or more", number(*.0))]
    Load(f64),
    /// A time or a cost that is not a number of 0 or more.
    #[error("{what} takes {} units: give a number of 0 or more", number(*.units))]
    Cost {
        /// The name of the time or the cost.
        what: &'static str,
        /// The value that was given, in units.
        units: f64,
    },
    /// A rate of a link that is not above 0.
    #[error("a rate of {} bytes per unit of time: give a number above 0, where 0.125 is 1 Mbit/s", number(*.0))]
    Rate(f64),
    /// A number that is 0 and must be at least 1.
    #[error("`{0}` is 0: set it to 1 or more")]
    None(&'static str),
    /// More running instructions than instructions in flight.
    #[error(
        "{running} instructions run and {in_flight} are in flight: those that run are among them, so set \
         `in_flight` to {running} or more"
    )]
    InFlight {
        /// The maximum number of instructions that run at the same time.
        running: u32,
        /// The maximum number of instructions in flight.
        in_flight: u32,
    },
    /// A budget that is too small for the operands of one instruction.
    #[error("a budget of {0} blocks: an instruction needs 2 blocks at once, so set `budget` to 2 or more")]
    Budget(u32),
    /// An event of a node that does not exist.
    #[error("node {node} is to be {what}, but the last node of {nodes} is node {last}", last = nodes - 1)]
    NoSuchNode {
        /// The event, such as `lost`.
        what: &'static str,
        /// The node.
        node: Node,
        /// The number of nodes.
        nodes: Node,
    },
    /// A factor of a speed that is not a number above 0.
    #[error(
        "node {node} is slowed down by {}: a factor is a number above 0, and 0.5 is half as fast",
        number(*.factor)
    )]
    Factor {
        /// The node whose speed changes.
        node: Node,
        /// The factor that was given.
        factor: f64,
    },
    /// A loss of the dispatcher's node.
    #[error("node 0 is to be lost: it has the dispatcher, and no job goes on without it; lose another node")]
    DispatcherLost,
    /// Two losses of one node.
    #[error("node {0} is to be lost twice: name it once in `losses`, with the earlier time")]
    LostTwice(Node),
    /// A case of a paper for which the paper has no latency.
    #[error("case {case} on {nodes} nodes: the paper has latencies on 2, 4, 6 and 8 nodes only; set the latency")]
    NoLatency {
        /// The name of the case.
        case: &'static str,
        /// The number of nodes that was asked for.
        nodes: u32,
    },
}

impl SettingError {
    pub(super) fn check_cost(what: &'static str, units: f64) -> Result<(), SettingError> {
        let is_cost = units.is_finite() && units >= 0.0;
        if is_cost { Ok(()) } else { Err(SettingError::Cost { what, units }) }
    }

    pub(super) fn check_count(what: &'static str, count: u32) -> Result<(), SettingError> {
        if count > 0 { Ok(()) } else { Err(SettingError::None(what)) }
    }

    /// Checks the speeds of a cluster.
    pub(super) fn check_speeds(speeds: &[f64]) -> Result<(), SettingError> {
        let count = speeds.len() as u64;
        if count == 0 {
            return Err(SettingError::NoNodes);
        }
        if count > 1 << 16 {
            return Err(SettingError::TooManyNodes(count));
        }
        match (0..).zip(speeds).find(|(_, speed)| !is_speed(**speed)) {
            Some((node, speed)) => Err(SettingError::Speed { node, speed: *speed }),
            None => Ok(()),
        }
    }
}

impl Setting {
    /// Creates the setting of S2's simulation with a policy on a cluster: 32 x 32 blocks, unicast, and the costs of S2.
    pub fn new(policy: Policy, speeds: Vec<f64>, seed: u64) -> Self {
        let program = Product::square(32).expect("it has blocks");
        let cost = Cost::Drawn(Work { below: MOST_WORK, seed });
        Setting { program, speeds, policy, transfers: Transfers::Unicast, cost, load: LOAD, seed }
    }

    /// Checks that the setting can be simulated.
    ///
    /// # Errors
    /// [`SettingError`], with the remedy in its text.
    pub fn check(&self) -> Result<(), SettingError> {
        SettingError::check_speeds(&self.speeds)?;
        self.cost.check()?;
        let is_cost = self.load.is_finite() && self.load >= 0.0;
        if is_cost { Ok(()) } else { Err(SettingError::Load(self.load)) }
    }
}

/// The results of a simulation. Shares are fractions of the work that the nodes could have computed until the last
/// instruction has run: `sum(speed) * makespan`. A run that takes no time has an efficiency of 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outcome {
    /// The time at which the last instruction has run and the cost of all blocks is paid, in units of time: 1000 are 1
    /// ms.
    pub makespan: f64,
    /// The share in which nodes had nothing to do.
    pub imbalance: f64,
    /// The share in which nodes sent and received blocks.
    pub communication: f64,
    /// The share in which nodes computed. After a loss it includes instructions that ran again: see
    /// [`OwnOutcome`](super::OwnOutcome).
    pub efficiency: f64,
    /// The number of blocks that nodes have asked other nodes for.
    pub loads: u64,
    /// The number of instructions that have run.
    pub instructions: u64,
}

/// Returns imbalance, communication and efficiency as shares of all work that nodes could have done.
pub(super) fn shares(all: f64, communicated: f64, computed: f64) -> [f64; 3] {
    if all > 0.0 {
        let (communication, efficiency) = (communicated / all, computed / all);
        [1.0 - efficiency - communication, communication, efficiency]
    } else {
        [0.0, 0.0, 1.0]
    }
}
